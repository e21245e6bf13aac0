"""What a policy is here: tokens in, tokens out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from training.rollout.limits import PlayLimits

__all__ = [
    "PROMPT_TOKENS",
    "RESPONSE_TOKENS",
    "TURNS",
    "Policy",
    "PolicyLimits",
    "Sampled",
    "check_temperature",
]

PROMPT_TOKENS = 25_600
"""Of the first prompt. Source, like the next two: ASTRA sec. 3.2.2."""
RESPONSE_TOKENS = 49_152
"""Of all that follows it: what the policy wrote, and what it was shown in between."""
TURNS = 32
"""Of the policy, and as many of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLimits:
    """How far a policy may go in one episode."""

    turns: int = TURNS
    """Of the policy."""
    user_turns: int = TURNS
    """Of a user who goes on speaking, the first one included."""
    prompt_tokens: int = PROMPT_TOKENS
    """Of the first prompt. An episode with a longer one fails, since the policy is not to blame."""
    response_tokens: int = RESPONSE_TOKENS
    """Of all behind the first prompt, written or shown; a turn begins only where it has room, as in the
    next."""
    context_tokens: int = PROMPT_TOKENS + RESPONSE_TOKENS
    """Of the whole episode: no more than the model can see."""
    turn_tokens: int = 2048
    """Of one turn, its end token included."""
    end_when_solved: bool = False
    """End with the turn in which the last sub-task is solved."""
    seconds: float | None = None
    """Wall time of one episode, waiting for the other players included."""

    @property
    def fault(self) -> str | None:
        """Why no turn could ever be played; None where one could."""
        for what in ("response", "context"):
            most: int = getattr(self, f"{what}_tokens")
            if self.turn_tokens > most:
                return f"turn_tokens is {self.turn_tokens}: it fits no {what} of {most} tokens"
        return None

    @property
    def of_play(self) -> PlayLimits:
        """Those that a rollout keeps; tokens are counted where they are written."""
        return PlayLimits(
            turns=self.turns,
            user_turns=self.user_turns,
            seconds=self.seconds,
            when_solved=self.end_when_solved,
        )


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
            temperature: A finite number; 0 takes the likeliest token each time.
            max_tokens: Of one turn, its end token included.
            seeds: One for each context; decides what is drawn there, whatever else is in the batch.

        Returns:
            The turns, in the order of the contexts.
        """
        ...


def check_temperature(temperature: float) -> None:
    """Refuse what is no temperature.

    Raises:
        ValueError: It is negative, infinite, or no number.
    """
    if not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(f"the temperature is {temperature}: it is a finite number from 0")
