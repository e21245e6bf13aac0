"""From proposals to walks: what was proposed of one server goes on together, once it is all known.

Two pipelines run side by side, the second fed by the first, since a stage sees one item at a time and the
graph needs all proposals of a server.
"""

from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import anyio

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import (
    Given,
    ItemStatus,
    ItemStore,
    NotBegun,
    Outcome,
    Progress,
    Settled,
    Stage,
    StageLimits,
    StoredItem,
    Tally,
    YieldTable,
    run_pipeline,
)
from astra_mcp.synthesis.trajectories.chains.walking import ProposedChains
from astra_mcp.synthesis.trajectories.server import DocumentedServer, ServerItem

__all__ = ["ProposalGathering", "find_chains"]

_WINDOW: Final = 4
"""Servers under way, for each that is worked on at once."""
_INCOMPLETE: Final = (
    "some servers were not walked on, since a proposal of theirs failed or was not begun"
)


@dataclass(slots=True)
class _Awaited:
    """What is known of one server's proposals."""

    item: StoredItem
    pending: set[str] = field(default_factory=set[str])
    """Ids of its proposals that are known and not settled."""
    ids: tuple[str, ...] = ()
    """Of all its proposals, in their order."""
    accepted: dict[str, StoredItem] = field(default_factory=dict[str, StoredItem])
    is_incomplete: bool = False


class ProposalGathering:
    """Gives servers to the first pipeline, hears it, and gives what was proposed of each to the second."""

    def __init__(
        self,
        *,
        window: int,
        proposes: str = "propose",
        gates: str = "proposal",
        walks: str = "walk",
        drop: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Begin with nothing.

        Args:
            window: How many servers may be under way, from the first pipeline until the second took them.
            proposes: Name of the stage that makes proposals of servers.
            gates: Name of the stage that judges each.
            walks: Name of the first stage of the second pipeline, for :class:`NotBegun`.
            drop: Told of each server that comes no further in this run.
        """
        self._told_of_drop = drop
        self._proposes, self._gates, self._walks = proposes, gates, walks
        self._room = anyio.Semaphore(window)
        self._servers: dict[str, _Awaited] = {}
        self._server_of: dict[str, str] = {}
        self._ready: deque[StoredItem] = deque()
        self._news = anyio.Event()
        self._is_over = False

    async def feed(self, servers: Iterable[DocumentedServer]) -> AsyncGenerator[StoredItem]:
        """Give servers to the first pipeline, no further ahead than the window."""
        for server in servers:
            await self._room.acquire()
            named = ServerItem(name=server.name, version=server.version)
            item = StoredItem(id=server.name, value=named.model_dump(mode="json"))
            self._servers[item.id] = _Awaited(item)
            yield item

    async def take(self, items: AsyncIterable[StoredItem]) -> AsyncGenerator[StoredItem]:
        """Give servers on to the first pipeline that somebody else holds back."""
        async for item in items:
            await self._room.acquire()
            self._servers[item.id] = _Awaited(item)
            yield item

    def hear(self, event: Progress) -> list[Progress]:
        """Take note of a step of the first pipeline.

        Returns:
            What has to be told beside: that a server of which something failed is not walked on in this run.
        """
        match event:
            case Settled(stage=self._proposes, outcome=outcome):
                self._proposed(outcome)
            case Settled(stage=self._gates, outcome=outcome):
                return self._judged(outcome)
            case NotBegun(stage=self._proposes, item=server):
                self._drop(server)
            case NotBegun(stage=self._gates, item=proposal):
                return self._settle(proposal, is_incomplete=True)
            case _:
                pass
        return []

    def end(self) -> None:
        """The first pipeline has come to its end: nothing is gathered any more."""
        self._is_over = True
        self._news.set()

    async def gathered(self) -> AsyncGenerator[StoredItem]:
        """Give the servers that are ready to the second pipeline, in the order in which they became so."""
        while True:
            while self._ready:
                item = self._ready.popleft()
                self._room.release()
                yield item
            if self._is_over:
                return
            self._news = anyio.Event()
            await self._news.wait()

    def _proposed(self, outcome: Outcome) -> None:
        server = outcome.item
        if outcome.status is not ItemStatus.FINISHED or not outcome.outputs:
            self._drop(server)
            return
        awaited = self._servers[server]
        awaited.ids = tuple(output.id for output in outcome.outputs)
        awaited.pending = set(awaited.ids)
        self._server_of.update(dict.fromkeys(awaited.ids, server))

    def _judged(self, outcome: Outcome) -> list[Progress]:
        for output in outcome.outputs:
            self._servers[self._server_of[outcome.item]].accepted[outcome.item] = output
        return self._settle(outcome.item, is_incomplete=outcome.status is ItemStatus.FAILED)

    def _settle(self, proposal: str, *, is_incomplete: bool) -> list[Progress]:
        server = self._server_of.pop(proposal)
        awaited = self._servers[server]
        awaited.is_incomplete |= is_incomplete
        awaited.pending.discard(proposal)
        if not awaited.pending and awaited.accepted and not awaited.is_incomplete:
            del self._servers[server]
            self._ready.append(_together(awaited))
            self._news.set()
        elif not awaited.pending:
            self._drop(server)
            if awaited.accepted:
                return [Given(server, self._walks), NotBegun(self._walks, server, _INCOMPLETE)]
        return []

    def _drop(self, server: str) -> None:
        del self._servers[server]
        self._room.release()
        self._told_of_drop(server)


def _together(awaited: _Awaited) -> StoredItem:
    named = ServerItem.model_validate(awaited.item.value)
    values = [awaited.accepted[id].value for id in awaited.ids if id in awaited.accepted]
    chains = ProposedChains.model_validate(
        {"server": named.name, "version": named.version, "chains": [v["tools"] for v in values]}
    )
    return StoredItem(id=awaited.item.id, value=chains.model_dump(mode="json"))


async def find_chains(
    run: str,
    servers: Iterable[DocumentedServer],
    proposing: Sequence[Stage[Any, Any]],
    onward: Sequence[Stage[Any, Any]],
    store: ItemStore,
    *,
    limits: StageLimits,
    stage_limits: Mapping[str, StageLimits] | None = None,
    hear: Callable[[Progress], None] | None = None,
) -> YieldTable:
    """Take servers to chains and on: propose, judge proposals, walk, and what comes behind.

    A server goes on as soon as all of its own proposals are settled, whatever the others do. Wire it so::

        documents = {server.name: server for server in servers}
        await find_chains(
            run,
            documents.values(),
            [Proposing(model, name, documents), ProposalGate(documents)],
            [Walking(documents), *checks],  # Walking gives FoundChain
            store,
            limits=StageLimits(concurrency=64),
        )

    A server of which a proposal failed is told as :class:`NotBegun` of the first onward stage: the proposal
    could change the graph, so the next run, which tries it again, comes to what an undisturbed one would.
    One whose proposals were all refused is accounted for by them, and comes no further.

    Args:
        run: Name of the run, by which outcomes are found again.
        servers: Each name once; an item's id is the server's name.
        proposing: The stages that make proposals and judge them.
        onward: The stage that walks, and those behind it.
        store: Keeps outcomes.
        limits: Of each stage.
        stage_limits: Of single stages by their names.
        hear: Told every step of both pipelines. A :class:`Tally` of its own takes the first onward stage as
            one that gathers.

    Raises:
        ConfigError: The caller has to mend something first.
        PipelineError: Two servers have one name, or the store does not answer.
        Exception: A mistake in a stage, in the source or in ``hear``, as it was raised.
    """
    walks = onward[0].name
    proposes, gates = (stage.name for stage in proposing)
    gathering = ProposalGathering(
        window=_WINDOW * limits.concurrency, proposes=proposes, gates=gates, walks=walks
    )
    names = [stage.name for stage in (*proposing, *onward)]
    follows = {before: after for before, after in pairwise(names) if after != walks}
    tally = Tally(names, follows=follows)
    telling = _Telling(gathering, walks, tally, hear)

    async def play(
        stages: Sequence[Stage[Any, Any]],
        items: AsyncGenerator[StoredItem],
        listener: Callable[[Progress], None],
    ) -> None:
        names = {stage.name for stage in stages}
        own = {name: limit for name, limit in (stage_limits or {}).items() if name in names}
        await run_pipeline(
            run, stages, items, store, limits=limits, stage_limits=own, hear=listener
        )

    async def propose() -> None:
        await play(proposing, gathering.feed(servers), telling.hear_first)
        gathering.end()

    async def go_on() -> None:
        await play(onward, gathering.gathered(), telling.hear_second)

    await map_concurrently(_do, (propose, go_on), limit=2)
    return tally.table()


@dataclass(frozen=True, slots=True)
class _Telling:
    """Tells of two pipelines as of one."""

    gathering: ProposalGathering
    walks: str
    tally: Tally
    hear: Callable[[Progress], None] | None

    def hear_first(self, event: Progress) -> None:
        self._tell(event)
        for told in self.gathering.hear(event):
            self._tell(told)

    def hear_second(self, event: Progress) -> None:
        self._tell(Given(event.item, self.walks) if isinstance(event, Given) else event)

    def _tell(self, event: Progress) -> None:
        self.tally.hear(event)
        if self.hear is not None:
            self.hear(event)


async def _do(work: Callable[[], Awaitable[None]]) -> None:
    await work()
