"""What a policy is here: tokens in, tokens out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from training.rollout.limits import PlayLimits

__all__ = ["Policy", "PolicyLimits", "Sampled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLimits:
    """How far a policy may go in one episode."""

    turns: int = 32
    """Of the policy. Source: ASTRA sec. 3.2.2."""
    turn_tokens: int = 2048
    """Of one turn, its end token included."""
    context_tokens: int = 16384
    """Of the whole episode; a turn begins only where it has room."""
    seconds: float | None = None
    """Wall time of one episode, waiting for the other players included."""

    @property
    def of_play(self) -> PlayLimits:
        """Those that a rollout keeps; tokens are counted where they are written."""
        return PlayLimits(turns=self.turns, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a policy wrote for one turn."""

    ids: tuple[int, ...]
    """Its tokens, the end token included where it came to one."""
    logprobs: tuple[float, ...]
    """Of each token, in nats, under the distribution from which it was drawn; greedy: under that of T = 1."""
    is_ended: bool
    """The last token is an end token; otherwise the turn was cut at its limit."""

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.logprobs):
            msg = f"{len(self.ids)} tokens and {len(self.logprobs)} log-probabilities of one turn"
            raise ValueError(msg)


class Policy(Protocol):
    """Writes turns."""

    @property
    def limits(self) -> PolicyLimits:
        """How far it goes where nobody says otherwise: no further than its model can see."""
        ...

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        """Write one turn for each context.

        Args:
            contexts: Token ids, none empty.
            temperature: 0 takes the likeliest token each time.
            max_tokens: Of one turn, its end token included.
            seeds: One for each context; decides what is drawn there, whatever else is in the batch.

        Returns:
            The turns, in the order of the contexts.
        """
        ...
