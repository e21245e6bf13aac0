"""What a policy is about to write right behind the start of a call, by its probabilities.

A policy on its way to a collapse ends its turn there, or begins the call again. Source: the study of
collapses of tool-use RL, figures 6 and 7.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from training.render import Dialect, ParsedCall, Renderer, Tokenizer

__all__ = ["END_AFTER_START", "MOST_CONTEXTS", "CallProbe"]

MOST_CONTEXTS = 8
"""Prompts that are looked at in a step."""
_JSON, _END, _AGAIN = "json", "end", "start"
_PREFIX = "probe/"
END_AFTER_START = f"{_PREFIX}{_END}"


@dataclass(frozen=True, slots=True)
class CallProbe:
    """What is asked of a policy."""

    suffix: tuple[int, ...]
    """What is put behind a prompt: what is shown at sampling alone, and the start of a call."""
    tokens: tuple[tuple[str, int], ...]
    """Whose probabilities are asked for, by the names of their figures."""

    @classmethod
    def of(cls, renderer: Renderer, tokenizer: Tokenizer) -> "CallProbe | None":
        """Find the start of a call as the dialect writes it; None where it has no calls."""
        written = _written_call(renderer.dialect)
        if written is None:
            return None
        ids, opening = tokenizer.encode(written), renderer.dialect.tags.opening
        start = _start_of(ids, opening if written.startswith(opening) else "", tokenizer)
        asked = [(_JSON, ids[start]), (_END, tokenizer.encode(renderer.end)[0])]
        if opening:
            asked.append((_AGAIN, tokenizer.encode(opening)[0]))
        suffix = (*tokenizer.encode(renderer.sampling_only), *ids[:start])
        return cls(suffix, tuple(asked))

    def contexts(self, prompts: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
        """Give prompts with the start of a call behind them: each once, and the first few."""
        different = dict.fromkeys(map(tuple, prompts))
        return [(*prompt, *self.suffix) for prompt in [*different][:MOST_CONTEXTS]]

    def figures(self, probabilities: Sequence[Sequence[float]]) -> dict[str, float]:
        """Give the mean probability of each token behind ``probe/``: ``json``, ``end`` and ``start``.

        Args:
            probabilities: At T = 1; for each context those of :attr:`tokens`, in their order.
        """
        if not probabilities:
            return {}
        columns = zip(*probabilities, strict=True)
        named = zip(self.tokens, columns, strict=True)
        return {f"{_PREFIX}{name}": fmean(column) for (name, _), column in named}


def _written_call(dialect: Dialect) -> str | None:
    if not dialect.tags.opening:
        return None
    return dialect.write("", [ParsedCall("a", "{}")])


def _start_of(ids: Sequence[int], opening: str, tokenizer: Tokenizer) -> int:
    """Say how many tokens come before the first piece of JSON: the tag, and blanks of their own."""
    at = 0
    while len(tokenizer.decode(ids[:at])) < len(opening):
        at += 1
    while not tokenizer.decode(ids[at : at + 1]).strip():
        at += 1
    return at
