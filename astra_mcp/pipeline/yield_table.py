"""What became of all items, by stage and reason, and what it cost."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    Outcome,
    Progress,
    Settled,
)
from astra_mcp.types import JsonObject

__all__ = ["StageYield", "Tally", "YieldTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageYield:
    """What became of the items of one stage.

    Each that it received is in exactly one of finished, rejected, failed, interrupted, running and not begun.
    """

    stage: str
    received: int
    finished: int
    rejected: Mapping[str, int]
    """By reason."""
    failed: Mapping[str, int]
    """By reason; the next run tries them again."""
    interrupted: int
    """Begun and cut off when the run was stopped at once; nothing of them is kept."""
    running: int
    """In work; 0 when the run has ended."""
    not_begun: int
    """Still to do; after the end, left to the next run."""
    recalled: int
    """How many of the finished and rejected ones an earlier run did."""
    outputs: int
    """Items made, which the next stage receives."""
    usage: Usage
    """What this run used, for failed and interrupted items too."""
    spent: Usage
    """What all runs used for the items that are settled here, failed attempts included."""

    @property
    def num_rejected(self) -> int:
        """Rejected, for any reason."""
        return sum(self.rejected.values())

    @property
    def num_failed(self) -> int:
        """Failed, for any reason."""
        return sum(self.failed.values())

    @property
    def num_settled(self) -> int:
        """Items of which it is known what became of them."""
        return self.finished + self.num_rejected + self.num_failed


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
            "rejected": {r.stage: dict(r.rejected) for r in self.stages if r.rejected},
            "failed": {r.stage: dict(r.failed) for r in self.stages if r.failed},
            "not_begun": {r.stage: r.not_begun for r in self.stages if r.not_begun},
            "stopped": self.stopped or None,
            **self.usage.as_json(),
            "seconds": self.seconds,
            "per_accepted": self._per_accepted(),
            "stages": [_stage_row(row) for row in self.stages],
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

    def __init__(self, stages: Sequence[str]) -> None:
        """Begin at nothing.

        Args:
            stages: Their names, in order.
        """
        self._counts = {name: _Counts() for name in stages}
        self._next = dict(pairwise(stages))
        self._first = stages[0]
        self._stopped = ""
        self._began = time.monotonic()

    def hear(self, event: Progress) -> None:
        """Take one event."""
        match event:
            case Given():
                self._counts[self._first].received += 1
            case Begun(stage=stage):
                self._counts[stage].running += 1
            case Interrupted(stage=stage, usage=usage):
                counts = self._counts[stage]
                counts.running -= 1
                counts.interrupted += 1
                counts.usage += usage
            case Settled():
                self._settle(event)

    def _settle(self, event: Settled) -> None:
        counts, outcome = self._counts[event.stage], event.outcome
        counts.add(outcome)
        counts.usage += event.usage
        if event.is_recalled:
            counts.recalled += 1
        else:
            counts.running -= 1
        following = self._next.get(event.stage)
        if following is not None:
            self._counts[following].received += len(outcome.outputs)
        if outcome.status is ItemStatus.FAILED and outcome.reason == BUDGET:
            self._stopped = outcome.detail

    def row(self, stage: str) -> StageYield:
        """The sums of one stage so far."""
        return self._counts[stage].freeze(stage)

    def table(self) -> YieldTable:
        """The sums so far."""
        return YieldTable(
            stages=tuple(self.row(stage) for stage in self._counts),
            stopped=self._stopped,
            seconds=time.monotonic() - self._began,
        )


@dataclass(slots=True)
class _Counts:
    received: int = 0
    finished: int = 0
    rejected: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])
    interrupted: int = 0
    running: int = 0
    recalled: int = 0
    outputs: int = 0
    usage: Usage = field(default_factory=Usage)
    spent: Usage = field(default_factory=Usage)

    def add(self, outcome: Outcome) -> None:
        match outcome.status:
            case ItemStatus.FINISHED:
                self.finished += 1
            case ItemStatus.REJECTED:
                self.rejected[outcome.reason] += 1
            case ItemStatus.FAILED:
                self.failed[outcome.reason] += 1
        self.outputs += len(outcome.outputs)
        self.spent += outcome.usage

    def freeze(self, stage: str) -> StageYield:
        settled = self.finished + self.rejected.total() + self.failed.total()
        return StageYield(
            stage=stage,
            received=self.received,
            finished=self.finished,
            rejected=dict(sorted(self.rejected.items())),
            failed=dict(sorted(self.failed.items())),
            interrupted=self.interrupted,
            running=self.running,
            not_begun=self.received - settled - self.interrupted - self.running,
            recalled=self.recalled,
            outputs=self.outputs,
            usage=self.usage,
            spent=self.spent,
        )


def _stage_row(row: StageYield) -> JsonObject:
    return {
        "stage": row.stage,
        "in": row.received,
        "finished": row.finished,
        "rejected": row.num_rejected,
        "failed": row.num_failed,
        "interrupted": row.interrupted,
        "not_begun": row.not_begun,
        "recalled": row.recalled,
        "out": row.outputs,
        **row.usage.as_json(),
        "model_seconds": row.usage.seconds,
    }
