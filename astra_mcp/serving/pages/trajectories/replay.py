"""An episode run again: its calls in fresh sessions, and what of the results differs.

What a deployed server did is never done again, whoever asks. One replay at a time runs in a process, and none
for longer than its time; what became of the last ones is remembered, so that a page can be loaded again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.compose.episodes import source_of
from astra_mcp.errors import CapacityError, GatewayError, UpstreamError
from astra_mcp.serving.pages.episodes import find_record
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import CutText, Renderer, cut_text
from gateway.episodes.archive import Replay, repeated_servers, replay_record
from gateway.episodes.record import Record, read_record

__all__ = ["ReplayPages"]

_SECONDS = 60.0
_MAX_REMEMBERED = 32
_MAX_SHOWN = 50
"""Calls whose result differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Differing:
    n: int
    tool: str
    recorded: CutText
    replayed: CutText


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of a replay."""

    at: datetime
    compared: int = 0
    skipped: int = 0
    num_differing: int = 0
    differing: Sequence[_Differing] = ()
    fault: str | None = None
    """Why nothing could be compared."""


class ReplayPages:
    """Answers at ``/episodes/ID/replay``."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer
        self._turn = anyio.Lock()
        self._outcomes: dict[str, _Outcome] = {}

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/episodes/{id}/replay", self.show, methods=["GET"])
        yield Route("/episodes/{id}/replay", self.run, methods=["POST"])

    async def show(self, request: Request) -> Response:
        """Show what a replay would do, and what became of the last one."""
        record = await self._record(request)
        return self._renderer.page(
            request,
            "replay",
            id=record.opened.id,
            source=source_of(record),
            servers=repeated_servers(record),
            num_calls=len(record.calls),
            seconds=_SECONDS,
            outcome=self._outcomes.get(record.opened.id),
        )

    async def run(self, request: Request) -> Response:
        """Run an episode again, and lead to what became of it."""
        record = await self._record(request)
        try:
            self._turn.acquire_nowait()
        except anyio.WouldBlock:
            raise CapacityError(
                "another episode is being run again: go back, and send the form again in a moment"
            ) from None
        try:
            outcome = await self._replay(record)
        finally:
            self._turn.release()
        self._outcomes.pop(record.opened.id, None)
        while len(self._outcomes) >= _MAX_REMEMBERED:
            del self._outcomes[next(iter(self._outcomes))]
        self._outcomes[record.opened.id] = outcome
        return self._renderer.go_to(f"/episodes/{record.opened.id}/replay")

    async def _record(self, request: Request) -> Record:
        path = find_record(self._parts.records, request.path_params["id"])
        return await anyio.to_thread.run_sync(read_record, path)

    async def _replay(self, record: Record) -> _Outcome:
        """Run it within its time; the one place where what stops a replay becomes words."""
        catalog = self._parts.catalog
        at = datetime.now(UTC)
        try:
            with anyio.fail_after(_SECONDS):
                for name in repeated_servers(record):
                    await catalog.upstream(name).prepare()
                replay = await replay_record(record, catalog)
        except TimeoutError:
            return _Outcome(at=at, fault=f"it took longer than {_SECONDS:g} s, and was stopped")
        except (GatewayError, UpstreamError) as error:
            return _Outcome(at=at, fault=str(error))
        return _outcome_of(replay, at)


def _outcome_of(replay: Replay, at: datetime) -> _Outcome:
    return _Outcome(
        at=at,
        compared=replay.compared,
        skipped=replay.skipped,
        num_differing=len(replay.divergences),
        differing=[
            _Differing(
                n=each.n,
                tool=each.tool,
                recorded=cut_text(each.recorded.text),
                replayed=cut_text(each.replayed.text),
            )
            for each in replay.divergences[:_MAX_SHOWN]
        ],
    )
