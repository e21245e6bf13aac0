"""Runs a list of stages over items: belts between the stages, outcomes in a store, a table at the end.

Every stage has its own workers. A worker hands its outputs on one by one and takes no further item before
the next stage has taken them all, so a later stage is never kept from its work by an earlier one, an item
comes out while others have not begun, and what is held at once depends on the concurrency alone.
"""

from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeVarTuple, cast

import anyio

from astra_mcp.errors import PipelineError
from astra_mcp.llm.outage import Outage
from astra_mcp.llm.turns import ranked
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.pipeline.attempt import (
    Failed,
    Made,
    Rejected,
    Stage,
    StageLimits,
    attempt,
    can_be_kept,
    input_hash,
    is_budget_spent,
    is_model_lost,
    outcome_of,
)
from astra_mcp.pipeline.item import (
    Begun,
    Given,
    Interrupted,
    ItemStatus,
    ItemStore,
    NotBegun,
    Progress,
    Settled,
    StoredItem,
)
from astra_mcp.pipeline.yield_table import Tally, YieldTable

__all__ = ["run_pipeline"]

Args = TypeVarTuple("Args")
_HEAD_START = 16
"""Items that come before an item for each stage behind it: the last would else go their way alone."""
STORE_SECONDS = 120.0
"""Deadline of one look into the store, and of one save, for which a cancelled run waits."""


class _StageQueue:
    """Hands items over; holds none, so who gives waits until each is taken."""

    def __init__(self, leads_to: str) -> None:
        """Make an empty one.

        Args:
            leads_to: What takes the items, for messages.
        """
        self._leads_to = leads_to
        self._ids: set[str] = set()
        self._giving, self._taking = anyio.create_memory_object_stream[StoredItem](0)

    @contextmanager
    def closing(self) -> Generator[Self]:
        """Close both ends when the block is left."""
        with self._giving, self._taking:
            yield self

    def claim(self, items: Iterable[StoredItem]) -> None:
        """Take the ids of items that will be given.

        Raises:
            PipelineError: One of them was claimed before.
        """
        for item in items:
            if item.id in self._ids:
                raise PipelineError(
                    f"two items with the id {item.id!r} go to {self._leads_to}:"
                    " outcomes are found again by the id, so each needs its own"
                )
            self._ids.add(item.id)

    async def give(self, items: Iterable[StoredItem]) -> None:
        """Hand items over; done when all are taken."""
        for item in items:
            await self._giving.send(item)

    def end(self) -> None:
        """Give nothing any more: whoever takes is told that it was all."""
        self._giving.close()

    def __aiter__(self) -> AsyncIterator[StoredItem]:
        """Take items until the end; several may take at once, and each item goes to one of them."""
        return self._taking


async def run_pipeline(
    name: str,
    stages: Sequence[Stage[Any, Any]],
    items: AsyncIterable[StoredItem] | Iterable[StoredItem],
    store: ItemStore,
    *,
    limits: StageLimits | None = None,
    stage_limits: Mapping[str, StageLimits] | None = None,
    hear: Callable[[Progress], None] | None = None,
) -> YieldTable:
    """Take every item through the stages, and go on where an earlier run of this name stopped.

    What is finished or rejected is taken from the store and not computed again, unless its input is another
    one now; what failed is tried again, once. When the budget is spent, or the model of a
    stage takes no call at all, no further item is begun, those in work come to their end, and what earlier
    runs made still flows. A cancelled run keeps every outcome
    that it had: a save under way is completed first.

    Args:
        name: Of the run; outcomes are found again by it. One process runs it at a time.
        stages: In order; each makes the items of the next one.
        items: Read no faster than they are worked on.
        store: Keeps the outcomes.
        limits: Of each stage.
        stage_limits: Of single stages by their names, in place of ``limits``.
        hear: Is told every step. A :class:`~astra_mcp.pipeline.yield_table.Tally` that hears them has the
            table also where the run is cancelled.

    Raises:
        ConfigError: A stage says that the caller has to mend something first.
        PipelineError: Two items of a stage have one id, or the store does not answer.
        ValueError: There are no stages, two of one name, or limits of one that is not there.
        Exception: A mistake in a stage, in the source or in ``hear``, as it was raised; it stops the run.
    """
    names = [stage.name for stage in stages]
    shared, own = limits or StageLimits(), stage_limits or {}
    _check(names, own)
    run = _Run(name, names, store, hear)
    targets = [*(f"the stage {stage!r}" for stage in names), "the end of the pipeline"]
    with ExitStack() as closing:
        belts = [closing.enter_context(_StageQueue(target).closing()) for target in targets]
        closing.enter_context(run.scope)
        async with anyio.create_task_group() as group:
            group.start_soon(run.guard, run.feed, items, belts[0])
            for stage, (before, behind) in zip(stages, pairwise(belts), strict=True):
                station = _StageWorkers(stage, own.get(stage.name, shared), before, behind)
                group.start_soon(run.operate, station)
            group.start_soon(_empty, belts[-1])
    if run.mistake is not None:
        raise run.mistake
    return run.tally.table()


@dataclass(frozen=True, slots=True)
class _StageWorkers:
    """A stage at its place."""

    stage: Stage[Any, Any]
    limits: StageLimits
    before: _StageQueue
    behind: _StageQueue


class _Run:
    """What all workers of a run share."""

    def __init__(
        self,
        name: str,
        stages: Sequence[str],
        store: ItemStore,
        hear: Callable[[Progress], None] | None,
    ) -> None:
        self._name = name
        self._store = store
        self._hear = hear
        self._why_none = ""
        """Why no further item is begun; empty where items are."""
        self._outages = {stage: Outage() for stage in stages}
        self._ranks: dict[str, int] = {}
        """By item, the place of what it was made of in the source, and a head start for each stage behind."""
        self.scope = anyio.CancelScope()
        self.tally = Tally(stages)
        self.mistake: Exception | None = None

    async def guard(self, work: Callable[[*Args], Awaitable[None]], *args: *Args) -> None:
        """Do work; what it raises stops everything, and is kept for whoever started the run."""
        try:
            await work(*args)
        except Exception as error:  # noqa: BLE001 - raised by run_pipeline, outside of the group
            self.mistake = self.mistake or error
            self.scope.cancel()

    async def feed(
        self, items: AsyncIterable[StoredItem] | Iterable[StoredItem], belt: _StageQueue
    ) -> None:
        """Give the source's items to the first stage."""
        async with aclosing(_each(items)) as each:
            async for item in each:
                belt.claim([item])
                self._ranks[item.id] = len(self._ranks)
                self._tell(Given(item.id))
                await belt.give([item])
        belt.end()

    async def operate(self, station: _StageWorkers) -> None:
        """Do the work of a stage until nothing comes any more."""
        async with anyio.create_task_group() as workers:
            for _ in range(station.limits.concurrency):
                workers.start_soon(self.guard, self._work, station)
        station.behind.end()

    async def _work(self, station: _StageWorkers) -> None:
        async for item in station.before:
            outputs = await self._settle(station, item)
            rank = self._ranks[item.id] + _HEAD_START
            self._ranks.update(dict.fromkeys((o.id for o in outputs), rank))
            await station.behind.give(outputs)

    async def _settle(self, station: _StageWorkers, item: StoredItem) -> tuple[StoredItem, ...]:
        """Find out what becomes of an item: from the store, else by work, where work may still begin.

        Returns:
            What goes on to the next stage.
        """
        stage = station.stage
        digest = input_hash(stage, item)
        with self._answering_store(shield=False):
            earlier = await self._store.find(self._name, stage.name, item.id)
        before = Usage()
        if earlier is not None and earlier.input_hash == digest:
            # What no stage can take, as an earlier version may have kept it, is made anew.
            if earlier.status is not ItemStatus.FAILED and can_be_kept(earlier.outputs):
                station.behind.claim(earlier.outputs)
                self._tell(Settled(stage.name, earlier, Usage(), is_recalled=True))
                return earlier.outputs
            before = earlier.usage
        if self._why_none:
            self._tell(NotBegun(stage.name, item.id, self._why_none))
            return ()
        return await self._begin(station, item, digest, before)

    async def _begin(
        self, station: _StageWorkers, item: StoredItem, digest: str, before: Usage
    ) -> tuple[StoredItem, ...]:
        """Work on an item and save what became of it; nothing can come between the two."""
        stage = station.stage
        self._tell(Begun(stage.name, item.id))
        with metered() as meter, ranked(self._ranks[item.id]):
            try:
                result = await attempt(stage, item, seconds=station.limits.item_seconds)
                outcome = outcome_of(item, digest, result, before + meter.usage)
                self._why_none = self._why_none or self._reason_to_stop(
                    stage.name, result, meter.usage
                )
                station.behind.claim(outcome.outputs)
                with self._answering_store(shield=True):
                    await self._store.save(self._name, stage.name, outcome)
            except BaseException:
                self._tell(Interrupted(stage.name, item.id, meter.usage))
                raise
        self._tell(Settled(stage.name, outcome, meter.usage, is_recalled=False))
        return outcome.outputs

    def _reason_to_stop(
        self, stage: str, result: Made[Any] | Rejected | Failed, used: Usage
    ) -> str:
        """Say why nothing further should begin after an attempt; empty where there is no reason."""
        is_dead = self._outages[stage].note(is_lost=is_model_lost(result), was_asked=used.calls > 0)
        is_end = is_budget_spent(result) or is_dead
        return result.detail if is_end and isinstance(result, Failed) else ""

    @contextmanager
    def _answering_store(self, *, shield: bool) -> Generator[None]:
        """Bound the time of the store, and say so where it is over."""
        try:
            with anyio.fail_after(STORE_SECONDS, shield=shield):
                yield
        except TimeoutError:
            raise PipelineError(
                f"the store of the pipeline {self._name!r} did not answer within {STORE_SECONDS:g} s:"
                " see whether it is locked or out of reach, and run again; nothing saved is lost"
            ) from None

    def _tell(self, event: Progress) -> None:
        self.tally.hear(event)
        if self._hear is not None:
            self._hear(event)


def _check(names: Sequence[str], limited: Iterable[str]) -> None:
    if not names or len(set(names)) < len(names):
        raise ValueError(f"a pipeline needs stages, each with its own name; not {list(names)}")
    unknown = sorted(set(limited) - set(names))
    if unknown:
        raise ValueError(f"limits of stages that are not there: {', '.join(unknown)}")


async def _each(
    items: AsyncIterable[StoredItem] | Iterable[StoredItem],
) -> AsyncGenerator[StoredItem]:
    """Iterate over either kind, and close a generator however that ends."""
    if isinstance(items, AsyncGenerator):
        async with aclosing(cast("AsyncGenerator[StoredItem]", items)) as each:
            async for item in each:
                yield item
    elif isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def _empty(belt: _StageQueue) -> None:
    """Take what came out of the last stage off the belt: it is saved, and counted."""
    async for _ in belt:
        pass
