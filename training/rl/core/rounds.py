"""Rounds: all players of a table write their turns at once, so that a policy has them in one batch.

A round begins when each player who is still there waits for a turn, so what is in a batch, and in which
order, does not depend on how fast anything is.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from training.rl.core.policy import Policy, Sampled

__all__ = ["Rounds"]


@dataclass(slots=True)
class _Turn:
    """A turn that a player waits for."""

    context: Sequence[int]
    seed: int
    written: anyio.Event
    sampled: Sampled | None = None


class Rounds:
    """The rounds of one table, from the first turn until all players have left."""

    def __init__(
        self, policy: Policy, players: Collection[int], *, temperature: float, max_tokens: int
    ) -> None:
        """Expect the players.

        Args:
            policy: Writes the turns.
            players: Their numbers, which are also the order in a batch.
            temperature: Of each turn, like the next.
            max_tokens: See :meth:`~training.rl.core.policy.Policy.generate`.
        """
        self._policy = policy
        self._present = set(players)
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._waiting: dict[int, _Turn] = {}
        self._changed = anyio.Event()

    async def turn(self, player: int, context: Sequence[int], seed: int) -> Sampled:
        """Wait for the next round, and give what the policy wrote for the player."""
        turn = _Turn(context, seed, anyio.Event())
        self._waiting[player] = turn
        self._changed.set()
        try:
            await turn.written.wait()
        finally:
            self._waiting.pop(player, None)
        if turn.sampled is None:
            raise RuntimeError("a turn was given out before it was written")
        return turn.sampled

    def leave(self, player: int) -> None:
        """Wait for this player no more; leaving twice is allowed."""
        self._present.discard(player)
        self._changed.set()

    async def run(self) -> None:
        """Play round after round until all have left."""
        while self._present:
            await self._changed.wait()
            self._changed = anyio.Event()
            if self._waiting and self._present <= self._waiting.keys():
                await self._play()

    async def _play(self) -> None:
        turns = [turn for _, turn in sorted(self._waiting.items())]
        self._waiting.clear()
        written = await anyio.to_thread.run_sync(self._write, turns)
        for turn, sampled in zip(turns, written, strict=True):
            turn.sampled = sampled
            turn.written.set()

    def _write(self, turns: Sequence[_Turn]) -> list[Sampled]:
        return self._policy.generate(
            [turn.context for turn in turns],
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            seeds=[turn.seed for turn in turns],
        )
