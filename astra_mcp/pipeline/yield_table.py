"""What became of all items, by stage and reason, and what it cost."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add

from astra_mcp.llm.usage import COST_DIGITS, Usage
from astra_mcp.pipeline.attempt import BUDGET
from astra_mcp.pipeline.item import (
    Begun,
    Given,
    Interrupted,
    ItemStatus,
    NotBegun,
    Progress,
    Settled,
)
from astra_mcp.types import JsonObject

__all__ = ["StageYield", "Tally", "YieldTable"]


@dataclass(slots=True)
class StageYield:
    """What became of the items of one stage.

    Each that it received is in exactly one of finished, rejected, failed, interrupted, running and not begun.
    """

    stage: str
    received: int = 0
    finished: int = 0
    rejected: Counter[str] = field(default_factory=Counter[str])
    """By reason."""
    failed: Counter[str] = field(default_factory=Counter[str])
    """By reason; the next run tries them again."""
    interrupted: int = 0
    """Begun and cut off when the run was stopped at once; nothing of them is kept."""
    running: int = 0
    """In work; 0 when the run has ended."""
    recalled: int = 0
    """How many of the finished and rejected ones an earlier run did."""
    outputs: int = 0
    """Items made, which the next stage receives."""
    usage: Usage = field(default_factory=Usage)
    """What this run used, for failed and interrupted items too."""
    spent: Usage = field(default_factory=Usage)
    """What all runs used for the items that are settled here, failed attempts included."""

    @property
    def num_rejected(self) -> int:
        """Rejected, for any reason."""
        return self.rejected.total()

    @property
    def num_failed(self) -> int:
        """Failed, for any reason."""
        return self.failed.total()

    @property
    def num_settled(self) -> int:
        """Items of which it is known what became of them."""
        return self.finished + self.num_rejected + self.num_failed

    @property
    def not_begun(self) -> int:
        """Still to do; after the end, left to the next run."""
        return self.received - self.num_settled - self.interrupted - self.running

    def as_json(self) -> JsonObject:
        """Render the stage's row of what ``synth ... --json`` prints."""
        return {
            "stage": self.stage,
            "in": self.received,
            "finished": self.finished,
            "rejected": self.num_rejected,
            "failed": self.num_failed,
            "interrupted": self.interrupted,
            "not_begun": self.not_begun,
            "recalled": self.recalled,
            "out": self.outputs,
            **self.usage.as_json(),
            "model_seconds": self.usage.seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldTable:
    """What a run made of its items.

    All of it but the times is the same for every concurrency, unless something ended work early.
    """

    stages: tuple[StageYield, ...]
    """In their order."""
    stopped: str = ""
    """Why no further item was begun, such as the budget's own words; empty where all were."""
    seconds: float
    """Time that passed."""

    @property
    def accepted(self) -> int:
        """Items that came out of the last stage."""
        return self.stages[-1].outputs

    @property
    def num_failed(self) -> int:
        """Failed in any stage."""
        return sum(row.num_failed for row in self.stages)

    @property
    def num_not_begun(self) -> int:
        """Left to the next run in any stage."""
        return sum(row.not_begun for row in self.stages)

    @property
    def usage(self) -> Usage:
        """What this run used."""
        return reduce(add, (row.usage for row in self.stages), Usage())

    @property
    def spent(self) -> Usage:
        """What all runs used for the items that are settled."""
        return reduce(add, (row.spent for row in self.stages), Usage())

    def as_json(self) -> JsonObject:
        """Render the object that ``synth ... --json`` prints."""
        return {
            "accepted": self.accepted,
            "rejected": {
                r.stage: dict(sorted(r.rejected.items())) for r in self.stages if r.rejected
            },
            "failed": {r.stage: dict(sorted(r.failed.items())) for r in self.stages if r.failed},
            "not_begun": {r.stage: r.not_begun for r in self.stages if r.not_begun},
            "stopped": self.stopped or None,
            **self.usage.as_json(),
            "seconds": self.seconds,
            "per_accepted": self._per_accepted(),
            "stages": [row.as_json() for row in self.stages],
        }

    def _per_accepted(self) -> JsonObject | None:
        """Share everything spent, what became nothing included, among the accepted items."""
        if not self.accepted:
            return None
        spent = self.spent
        return {
            "model_calls": spent.calls / self.accepted,
            "tokens": spent.tokens / self.accepted,
            "model_seconds": spent.seconds / self.accepted,
            "cost": round(spent.cost / self.accepted, COST_DIGITS),
        }


class Tally:
    """Adds the events of a run up; gives the table at any time, also of a run that was cancelled."""

    def __init__(self, stages: Sequence[str], *, follows: Mapping[str, str] | None = None) -> None:
        """Begin at nothing.

        Args:
            stages: Their names, in order.
            follows: Of a run of several ways: by the name of each stage, which one takes its outputs as they
                are; all others received what they were given (:class:`~astra_mcp.pipeline.item.Given`). None
                where each stage takes what the one before it made.
        """
        self._rows = {name: StageYield(name) for name in stages}
        self._next = dict(pairwise(stages)) if follows is None else dict(follows)
        self._first = stages[0]
        self._stopped = ""
        self._began = time.monotonic()

    def hear(self, event: Progress) -> None:
        """Take one event."""
        match event:
            case Given(stage=stage):
                self._rows[stage or self._first].received += 1
            case Begun(stage=stage):
                self._rows[stage].running += 1
            case Interrupted(stage=stage, usage=usage):
                row = self._rows[stage]
                row.running -= 1
                row.interrupted += 1
                row.usage += usage
            case Settled():
                self._settle(event)
            case NotBegun(reason=reason):  # received, and neither running nor settled
                self._stopped = self._stopped or reason

    def _settle(self, event: Settled) -> None:
        row, outcome = self._rows[event.stage], event.outcome
        match outcome.status:
            case ItemStatus.FINISHED:
                row.finished += 1
            case ItemStatus.REJECTED:
                row.rejected[outcome.reason] += 1
            case ItemStatus.FAILED:
                row.failed[outcome.reason] += 1
                if outcome.reason == BUDGET:
                    self._stopped = outcome.detail
        row.outputs += len(outcome.outputs)
        row.usage += event.usage
        row.spent += outcome.usage
        if event.is_recalled:
            row.recalled += 1
        else:
            row.running -= 1
        following = self._next.get(event.stage)
        if following is not None:
            self._rows[following].received += len(outcome.outputs)

    @property
    def stages(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self._rows)

    def touched(self, event: Progress) -> tuple[str, ...]:
        """The stages whose sums an event changes."""
        match event:
            case Given(stage=stage):
                return (stage or self._first,)
            case Settled(stage=stage):
                following = self._next.get(stage)
                return (stage,) if following is None else (stage, following)
            case _:
                return ()

    def row(self, stage: str) -> StageYield:
        """The sums of one stage so far, which later events do not change."""
        row = self._rows[stage]
        return replace(row, rejected=row.rejected.copy(), failed=row.failed.copy())

    def table(self) -> YieldTable:
        """The sums so far."""
        return YieldTable(
            stages=tuple(self.row(stage) for stage in self._rows),
            stopped=self._stopped,
            seconds=time.monotonic() - self._began,
        )
