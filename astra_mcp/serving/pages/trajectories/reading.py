"""The page of one trajectory: turn by turn, with its reward, its scores and where each call stands whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.compose.episodes import reward_of, source_of
from astra_mcp.errors import NotAvailableError, UnknownNameError
from astra_mcp.serving.pages.episodes import find_record
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import CutText, Renderer, cut_text
from astra_mcp.serving.pages.trajectories.files import TrajectoryFiles, Written
from astra_mcp.serving.pages.trajectories.turns import (
    index_of_turns,
    turns_of_record,
    turns_of_trajectory,
)
from astra_mcp.trajectory import Message
from gateway.episodes.archive import status_of, time_at
from gateway.episodes.record import Record, read_record
from training.rewards.score import Dimension, DimensionScore, Score

__all__ = ["ReadingPages"]

_TURNS = 500
"""Of one page."""
_DIMENSIONS: Mapping[Dimension, str] = {
    Dimension.QU: "query understanding",
    Dimension.QP: "query planning",
    Dimension.TCU: "understanding of results",
    Dimension.TCP: "planning by results",
    Dimension.TCS: "calls that succeeded",
    Dimension.TC: "conciseness",
    Dimension.FA: "final answer",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionView:
    """What a score says in one dimension."""

    name: str
    title: str
    value: float | None
    why_none: str | None
    said: Sequence[CutText]


class ReadingPages:
    """Answers at ``/episodes/ID/trajectory``."""

    def __init__(self, parts: PageParts, renderer: Renderer, files: TrajectoryFiles) -> None:
        self._parts = parts
        self._renderer = renderer
        self._files = files

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/episodes/{id}/trajectory", self.show, methods=["GET"])
        yield Route("/episodes/{id}/trajectory/line", self.line, methods=["GET"])
        yield Route("/episodes/{id}/messages/{place:int}", self.message, methods=["GET"])

    async def show(self, request: Request) -> Response:
        """Show so many turns, of the trajectory where it is known, else of the record, or lead to one."""
        id_ = request.path_params["id"]
        path = find_record(self._parts.records, id_)
        if request.query_params.get("to"):
            to = max(1, _number(request.query_params["to"]))
            page = (to - 1) // _TURNS * _TURNS
            return self._renderer.go_to(f"/episodes/{id_}/trajectory?from={page}#turn-{to}")
        fault = None
        try:
            written = await self._files.read(id_)
        except NotAvailableError as error:
            written, fault = None, str(error)
        begin = _number(request.query_params.get("from", ""))

        def render() -> Response:
            record = read_record(path)
            values = self._view(id_, record, written, begin // _TURNS * _TURNS)
            return self._renderer.page(request, "trajectory", fault=fault, **values)

        # In a thread, since a page of so many turns takes longer than others may be held up.
        return await anyio.to_thread.run_sync(render)

    def _view(
        self, id_: str, record: Record, written: Written | None, begin: int
    ) -> dict[str, Any]:
        trajectory = None if written is None else written.trajectory
        end = begin + _TURNS
        if trajectory is None:
            turns, num_turns = turns_of_record(record, begin, end)
        else:
            turns, num_turns = turns_of_trajectory(trajectory, record, begin, end)
        address = f"/episodes/{id_}/trajectory?from=%d"
        return {
            "id": id_,
            "opened": record.opened,
            "source": source_of(record),
            "name": record.opened.source.get("name"),
            "status": status_of(record, time_at(self._parts.home)),
            "reward": reward_of(record),
            "num_counted": record.agent_calls,
            "num_solved": len(record.solved),
            "trajectory": trajectory,
            "file": None if written is None else written.name,
            "is_complete": self._files.is_complete,
            "score": None if written is None else written.score,
            "score_fault": None if written is None else written.score_fault,
            "dimensions": [] if written is None else list(_dimensions(written.score)),
            "turns": turns,
            "index": index_of_turns(turns, begin),
            "num_turns": num_turns,
            "begin": begin,
            "before": address % (begin - _TURNS) if begin else None,
            "following": address % end if end < num_turns else None,
        }

    async def line(self, request: Request) -> Response:
        """Hand over the line of the trajectory as its file has it."""
        id_ = request.path_params["id"]
        find_record(self._parts.records, id_)
        line = await self._files.line(id_)
        if line is None:
            raise UnknownNameError("no trajectory of this episode is known here")
        name = f'attachment; filename="trajectory-{id_[:12]}.jsonl"'
        return Response(line, 200, {"Content-Disposition": name}, "application/x-ndjson")

    async def message(self, request: Request) -> Response:
        """Hand over one message, whole."""
        id_: str = request.path_params["id"]
        place: int = request.path_params["place"]
        find_record(self._parts.records, id_)
        written = await self._files.read(id_)
        if written is None or place >= len(written.trajectory.messages):
            raise UnknownNameError(f"no message {place} of this episode is known here")
        found = written.trajectory.messages[place]
        content = await anyio.to_thread.run_sync(_indented, found)
        return Response(content, media_type="application/json")


def _indented(message: Message) -> bytes:
    return orjson.dumps(message.model_dump(mode="json"), option=orjson.OPT_INDENT_2)


def _dimensions(score: Score | None) -> Iterator[DimensionView]:
    if score is None:
        return
    for dimension, title in _DIMENSIONS.items():
        found = score.dimensions.get(dimension, DimensionScore())
        yield DimensionView(
            name=dimension.value,
            title=title,
            value=found.value,
            why_none=found.undefined or found.failed,
            said=[
                cut_text(f"{each.what}: {each.value:g} by {each.by}. {each.reason}", 1000)
                for each in found.assessments
            ],
        )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
