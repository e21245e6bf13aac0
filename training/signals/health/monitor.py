"""What the turns of a step come to, as flat figures: states, reasons, and how often control tokens stand."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from training.render import Tokenizer
from training.rl.core.token_log import TokenTurn
from training.signals.health.structure import Classifier, Reason, State, Stop, Structure

__all__ = ["NUM_TURNS", "structure_figures", "structures_of"]

NUM_TURNS = 8
"""Turns that have figures of their own; all later ones share one."""
_PREFIX = "structure/"


def structures_of(
    ids: Sequence[int], turns: Iterable[TokenTurn], classifier: Classifier, tokenizer: Tokenizer
) -> list[Structure]:
    """Classify each turn of an episode by its tokens, in their order.

    Args:
        ids: All tokens of the episode.
        turns: Where those of the policy stand among them.
        classifier: Of its dialect.
        tokenizer: That of the policy.
    """
    return [
        classifier.of_ids(
            ids[turn.begin : turn.end], tokenizer, Stop.EOS if turn.is_ended else Stop.LENGTH
        )
        for turn in turns
    ]


def structure_figures(
    episodes: Sequence[Sequence[Structure]], classifier: Classifier
) -> dict[str, float]:
    """Add up the turns of episodes; the same for every back end.

    Args:
        episodes: The structures of each one's turns; an episode without a turn is in no figure.
        classifier: By which they were classified.

    Returns:
        Behind ``structure/``: the share of each state among generations; among trajectories those with a
        polluted turn (``trajectories/polluted``) and those that are collapsed in all turns; the shares at
        ``turn/N``, from 0; the number of each reason (``reasons/``); and control tokens of each 1,000 tokens
        (``per_1k/``). Nothing where nobody took a turn.
    """
    played = [turns for turns in episodes if turns]
    if not played:
        return {}
    turns = [turn for each in played for turn in each]
    return {
        f"{_PREFIX}{name}": value
        for part in (
            _shares(turns),
            _of_trajectories(played),
            _by_turn(played),
            _reasons(turns),
            _per_1k(turns, classifier),
        )
        for name, value in part
    }


def _shares(turns: Sequence[Structure], prefix: str = "") -> Iterator[tuple[str, float]]:
    counts = Counter(turn.state for turn in turns)
    for state in State:
        yield f"{prefix}{state}", counts[state] / len(turns)


def _of_trajectories(played: Sequence[Sequence[Structure]]) -> Iterator[tuple[str, float]]:
    polluted = sum(any(turn.state is State.POLLUTED for turn in turns) for turns in played)
    collapsed = sum(all(turn.state is State.COLLAPSED for turn in turns) for turns in played)
    yield "trajectories/polluted", polluted / len(played)
    yield "trajectories/collapsed", collapsed / len(played)


def _by_turn(played: Sequence[Sequence[Structure]]) -> Iterator[tuple[str, float]]:
    by_turn: dict[int, list[Structure]] = {}
    for turns in played:
        for number, turn in enumerate(turns):
            by_turn.setdefault(min(number, NUM_TURNS), []).append(turn)
    for number, turns in sorted(by_turn.items()):
        name = "later" if number == NUM_TURNS else str(number)
        yield from _shares(turns, f"turn/{name}/")


def _reasons(turns: Sequence[Structure]) -> Iterator[tuple[str, float]]:
    counts: Mapping[Reason, int] = Counter(reason for turn in turns for reason in turn.reasons)
    for reason in Reason:
        if counts.get(reason):
            yield f"reasons/{reason}", float(counts[reason])


def _per_1k(turns: Sequence[Structure], classifier: Classifier) -> Iterator[tuple[str, float]]:
    """Tell the tags of calls and the usual end always, others where they stand."""
    num_tokens = sum(turn.num_tokens for turn in turns)
    if not num_tokens:
        return
    counts = Counter[str]()
    for turn in turns:
        counts.update(turn.controls)
    tags = classifier.tags
    usual = filter(None, (tags.opening, tags.closing, *classifier.ends[:1]))
    for tag in dict.fromkeys((*usual, *sorted(counts))):
        yield f"per_1k/{tag}", 1000 * counts[tag] / num_tokens
