"""The other values of one identifying argument, and what each led to."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.environments.acceptance.planned import GoldStep, Observation
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.types import JsonValue

__all__ = ["Case", "Cases", "observe_cases"]

_MIN_KNOWN = 3


@dataclass(frozen=True, slots=True)
class Case:
    """One other value, and what it led to."""

    value: JsonValue
    is_known: bool
    seen: Observation


@dataclass(frozen=True, slots=True)
class Cases:
    """The other values of one argument."""

    rows: Sequence[Case]
    """Known ones, and generated ones where those leave room."""
    made_up: Sequence[Case]
    """Values that nobody names, counted apart."""

    @property
    def known(self) -> list[Case]:
        """Those that a schema or the bundle names."""
        return [c for c in self.rows if c.is_known]

    @property
    def real(self) -> list[Case]:
        """Known values that have a result."""
        return [c for c in self.known if c.seen.is_success]

    @property
    def counted(self) -> Sequence[Case]:
        """Those of which nearly all must lose an answer: known ones, where there are some."""
        return self.known if len(self.known) >= _MIN_KNOWN else self.rows


async def observe_cases(player: Player, step: GoldStep, name: str) -> Cases:
    """Put other values into one argument of a gold call, after the calls before it."""
    found = player.gold_neighbours(step, name)

    async def cases(values: Sequence[JsonValue]) -> list[Case]:
        calls = [step.call.having(name, v) for v in values]
        seen = await player.observe_apart(calls, step.before)
        return [Case(v, False, s) for v, s in zip(values, seen, strict=True)]

    known = [
        Case(v, True, await player.observe(step.call.having(name, v), step.before))
        for v in found.known
    ]
    return Cases([*known, *await cases(found.generated)], await cases(found.made_up))
