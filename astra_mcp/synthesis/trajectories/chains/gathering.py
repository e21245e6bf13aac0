"""From proposals to walks: what was proposed of one server goes on together, once it is all known.

Two pipelines run side by side, the second fed by the first, since a stage sees one item at a time and the
graph needs all proposals of a server.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import dataclass, field
from typing import Final

import anyio

from astra_mcp.pipeline import (
    Given,
    ItemStatus,
    NotBegun,
    Outcome,
    Progress,
    Settled,
    StoredItem,
)
from astra_mcp.synthesis.trajectories.chains.proposing import ProposalGate, Proposing
from astra_mcp.synthesis.trajectories.chains.walking import ProposedChains, Walking
from astra_mcp.synthesis.trajectories.server import ServerItem

__all__ = ["ProposalGathering"]

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

    def __init__(self, *, window: int, drop: Callable[[str], None]) -> None:
        """Begin with nothing.

        Args:
            window: How many servers may be under way, from the first pipeline until the second took them.
            drop: Told of each server that comes no further in this run.
        """
        self._told_of_drop = drop
        self._room = anyio.Semaphore(window)
        self._servers: dict[str, _Awaited] = {}
        self._server_of: dict[str, str] = {}
        self._ready: deque[StoredItem] = deque()
        self._news = anyio.Event()
        self._is_over = False

    async def take(self, items: AsyncIterable[StoredItem]) -> AsyncGenerator[StoredItem]:
        """Give servers on to the first pipeline, no further ahead than the window."""
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
            case Settled(stage=Proposing.name, outcome=outcome):
                self._proposed(outcome)
            case Settled(stage=ProposalGate.name, outcome=outcome):
                return self._judged(outcome)
            case NotBegun(stage=Proposing.name, item=server):
                self._drop(server)
            case NotBegun(stage=ProposalGate.name, item=proposal):
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
                return [Given(server, Walking.name), NotBegun(Walking.name, server, _INCOMPLETE)]
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
