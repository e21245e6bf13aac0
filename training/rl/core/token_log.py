"""The tokens of an episode as the policy saw and wrote them."""

from collections.abc import Sequence
from dataclasses import dataclass

from training.rl.core.policy import Sampled

__all__ = ["TokenLog", "TokenTurn"]


@dataclass(frozen=True, slots=True)
class TokenTurn:
    """Where a turn of the policy stands in the log."""

    begin: int
    end: int
    is_ended: bool
    """It ends in an end token, and was not cut."""


class TokenLog:
    """Grows at its end only: nothing in it is ever decoded and encoded again."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.logprobs: list[float] = []
        self.turns: list[TokenTurn] = []

    @property
    def num_prompt(self) -> int:
        """Tokens before the first turn."""
        return self.turns[0].begin if self.turns else len(self.ids)

    def show(self, ids: Sequence[int]) -> None:
        """Append what the policy is shown."""
        self.ids += ids
        self.mask += [False] * len(ids)
        self.logprobs += [0.0] * len(ids)

    def write(self, sampled: Sampled) -> None:
        """Append what the policy wrote."""
        begin = len(self.ids)
        self.ids += sampled.ids
        self.mask += [True] * len(sampled.ids)
        self.logprobs += sampled.logprobs
        self.turns.append(TokenTurn(begin, len(self.ids), sampled.is_ended))
