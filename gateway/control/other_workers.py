"""The other workers as the first one sees them: asked for episodes, for their state and for their lists.

Only the first worker has others to ask; every other one is a fleet of itself. Speaks the control plane of
the others as any orchestrator does. Knows nothing of how episodes run.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from astra_mcp.call_record import EpisodeId
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import CapacityError, NoFilesError, TransportError, WorkerError
from gateway.api.client import GatewayClient, RefusedError
from gateway.api.connections import NO_FILES
from gateway.api.settings import FIRST
from gateway.api.wire import EpisodeCreated, EpisodeRequest, EpisodeState, WorkerInfo
from gateway.edge.workers import OwnWorkerInfo

__all__ = ["Fleet", "Slice", "open_fleet"]

ASK_SECONDS = 10.0
"""Deadline of a question that every worker is asked."""
DESCRIBE_SECONDS = 2.0
"""Deadline where the answer is how it is: who probes readiness does not wait for long."""
PING_SECONDS = 0.5
"""A worker that does not answer within so long is starting, stopping or stuck; others take its turn."""
_PING_AGAIN_SECONDS = 1.0
_FULL = "too_many_episodes"

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Neighbouring requests of a batch that one worker opens."""

    worker: int
    first: int
    """Place of the first one in the batch."""
    requests: Sequence[EpisodeRequest]


@dataclass(slots=True)
class _Sibling:
    client: GatewayClient
    heard_at: float = field(default=float("-inf"))


class Fleet:
    """The workers that this process may ask; made by :func:`open_fleet`."""

    def __init__(self, worker_info: OwnWorkerInfo, clients: Mapping[int, GatewayClient]) -> None:
        self.worker_info = worker_info
        self._siblings = {worker: _Sibling(client) for worker, client in clients.items()}
        self._next = 0

    async def turn(self) -> list[int]:
        """Name the workers that answer, the one whose turn it is first."""
        workers = sorted([self.worker_info.index, *self._siblings])
        start, self._next = self._next, (self._next + 1) % len(workers)
        ordered = workers[start:] + workers[:start]
        return [w for w in ordered if w == self.worker_info.index or await self._is_answering(w)]

    async def _is_answering(self, worker: int) -> bool:
        sibling = self._siblings[worker]
        if time.monotonic() - sibling.heard_at < _PING_AGAIN_SECONDS:
            return True
        try:
            with anyio.fail_after(PING_SECONDS):
                await sibling.client.health()
        except (TransportError, TimeoutError):
            return False
        sibling.heard_at = time.monotonic()
        return True

    async def slices(self, requests: Sequence[EpisodeRequest]) -> list[Slice]:
        """Spread a batch evenly, neighbours together; the answers in order are the batch's."""
        workers = await self.turn()
        size, longer = divmod(len(requests), len(workers))
        found: list[Slice] = []
        first = 0
        for place, worker in enumerate(workers):
            end = first + size + (place < longer)
            if end > first:
                found.append(Slice(worker=worker, first=first, requests=requests[first:end]))
            first = end
        return found

    async def create(self, worker: int, request: EpisodeRequest) -> EpisodeCreated:
        """Open an episode at another worker.

        Raises:
            CapacityError: As many as allowed are open there.
            NoFilesError: It can open no more files.
            WorkerError: It does not answer.
            RefusedError: It refuses the request.
        """
        return await self._ask(worker, lambda client: client.create_episode(request))

    async def create_slice(self, part: Slice) -> list[EpisodeCreated]:
        """Open a part of a batch at another worker: all or none. Raises as :meth:`create`."""
        return await self._ask(
            part.worker, lambda client: client.create_episodes(part.requests, first=part.first)
        )

    async def close(self, worker: int, episodes: Sequence[EpisodeId]) -> None:
        """Close episodes of another worker that nobody was told of."""
        for episode in episodes:
            await self.close_one(worker, episode)

    async def close_one(self, worker: int, episode: EpisodeId) -> EpisodeState:
        """Close an episode of another worker. Raises as :meth:`create`."""
        return await self._ask(worker, lambda client: client.close_episode(episode))

    async def _ask(
        self, worker: int, question: Callable[[GatewayClient], Awaitable[Answer]]
    ) -> Answer:
        try:
            answer = await question(self._siblings[worker].client)
        except RefusedError as error:
            if error.code == _FULL:
                raise CapacityError(error.message) from error
            if error.code == NO_FILES:
                raise NoFilesError(error.message) from error
            raise
        except TransportError as error:
            msg = f"worker {worker} does not answer; it is started again if it ended: try again"
            raise WorkerError(msg) from error
        self._siblings[worker].heard_at = time.monotonic()
        return answer

    async def open_episodes(self) -> list[EpisodeState]:
        """List the open episodes of all other workers.

        Raises:
            WorkerError: One of them does not answer: part of the list would be missing.
        """
        lists = await self._of_all(
            lambda worker: self._ask_soon(worker, lambda client: client.open_episodes())
        )
        return [state for states in lists for state in states]

    async def describe_others(self) -> list[WorkerInfo]:
        """Tell where every other worker stands; one that does not answer is not ready."""
        return await self._of_all(self._describe)

    async def metrics_of_others(self, servers: Collection[str] = ()) -> dict[int, bytes | None]:
        """Read every other worker's metrics; None where one does not answer.

        Args:
            servers: See :meth:`GatewayClient.metrics`.
        """

        async def ask(worker: int) -> bytes | None:
            return await self._metrics(worker, servers)

        return dict(zip(self._siblings, await self._of_all(ask), strict=True))

    async def _of_all(self, ask: Callable[[int], Awaitable[Answer]]) -> list[Answer]:
        """Ask every other worker at once."""
        return await map_concurrently(ask, self._siblings, limit=len(self._siblings) or 1)

    async def _metrics(self, worker: int, servers: Collection[str]) -> bytes | None:
        try:
            return await self._ask_soon(worker, lambda client: client.metrics(servers))
        except (WorkerError, RefusedError):
            return None

    async def _describe(self, worker: int) -> WorkerInfo:
        try:
            [found] = await self._ask_soon(
                worker, lambda client: client.workers(), DESCRIBE_SECONDS
            )
        except (WorkerError, RefusedError) as error:
            return WorkerInfo(
                index=worker,
                url=self.worker_info.inner_urls[worker],
                pid=None,
                open_episodes=None,
                missing=(str(error),),
            )
        return found

    async def _ask_soon(
        self,
        worker: int,
        question: Callable[[GatewayClient], Awaitable[Answer]],
        seconds: float = ASK_SECONDS,
    ) -> Answer:
        try:
            with anyio.fail_after(seconds):
                return await self._ask(worker, question)
        except TimeoutError as error:
            raise WorkerError(f"worker {worker} gave no answer within {seconds:g} s") from error


@asynccontextmanager
async def open_fleet(worker_info: OwnWorkerInfo, control_key: str) -> AsyncGenerator[Fleet]:
    """Reach the other workers, by the key that all share, while the context is open; only the first asks."""
    asked = worker_info.others if worker_info.index == FIRST else ()
    async with AsyncExitStack() as stack:
        clients = {
            worker: await stack.enter_async_context(
                GatewayClient(worker_info.inner_urls[worker], control_key)
            )
            for worker in asked
        }
        yield Fleet(worker_info, clients)
