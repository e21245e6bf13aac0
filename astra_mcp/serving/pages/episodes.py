"""What was recorded: a list of episodes, the newest first, and each call by call as its record says."""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import anyio
import anyio.to_thread
import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from astra_mcp.call_record import CallRecord, EpisodeId, EpisodeStatus
from astra_mcp.compose.episodes import reward_of, source_of
from astra_mcp.errors import UnknownNameError
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import CutText, Renderer, cut_text, pretty_json
from astra_mcp.types import Origin, ToolResult
from gateway.episodes.archive import status_of, time_at
from gateway.episodes.record import read_record, record_path
from registry.store.records import EpisodeFilter, Place

__all__ = [
    "CallView",
    "Choice",
    "EpisodePages",
    "IndexEntry",
    "call_view",
    "call_views",
    "find_record",
    "list_view",
]

_PAGE = 50
_HALF_A_DIGIT = 0.0005
"""Of a reward as it is shown, with three decimals: a whole one is 0.9999999, and asked for as 1."""
_ASKED = ("source", "status", "min_reward", "max_reward", "interactive")
"""What a list can be asked for; the rest of an address is of no list."""
_CALLS = 200
"""Calls of one page."""
_CHUNK = 1 << 16
_ID = re.compile(r"[0-9a-f]{32}")
_LONG = 600
"""Characters; a longer text is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A call as a page shows it."""

    call: CallRecord
    words: Sequence[tuple[str, str]]
    """What is to be known of it: a kind for the style, and the words."""
    arguments: CutText
    result: CutText | None
    """None while it runs, or where it was never finished."""
    is_error: bool
    is_long: bool
    """Whether the result is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """A call or a turn in the list of those of a page, which leads to it."""

    number: int
    words: str
    """The tools that were called, else who spoke."""
    is_error: bool
    solved: Sequence[int]


def call_views(calls: Sequence[CallRecord]) -> list[CallView]:
    """Prepare calls for a page."""
    return [
        call_view(
            call,
            pretty_json(call.arguments),
            None if call.result is None else _text_of(call.result),
        )
        for call in calls
    ]


def call_view(call: CallRecord, arguments: str, result: str | None) -> CallView:
    """Prepare a call for a page, with texts in the place of its arguments and its result."""
    return CallView(
        call=call,
        words=list(_words_of(call)),
        arguments=cut_text(arguments),
        result=None if result is None else cut_text(result),
        is_error=call.result is not None and call.result.is_error,
        is_long=result is not None and len(result) > _LONG,
    )


def _text_of(result: ToolResult) -> str:
    """The text of a result; where it holds something else, all of it as JSON."""
    is_text = all(block.get("type") == "text" for block in result.content)
    return result.text if is_text and result.content else pretty_json(list(result.content))


def _words_of(call: CallRecord) -> Iterator[tuple[str, str]]:
    if call.result is None:
        yield "warning", "not finished"
    elif call.result.is_error:
        yield "error", "error"
    if call.solved:
        yield "solved", f"solves {', '.join(map(str, call.solved))}"
    yield from _words_of_maker(call)
    if call.told:
        yield "warning", f"told the answer of {', '.join(map(str, call.told))} itself"
    if call.unmatched is not None:
        yield "warning", f"not all answers were looked for: {call.unmatched}"
    if call.fault is not None:
        yield "error", f"no arguments: {call.fault}"


def _words_of_maker(call: CallRecord) -> Iterator[tuple[str, str]]:
    """Say who is behind a result, where it is not simply the tool."""
    if call.injected is not None:
        yield "warning", f"failed on purpose: {call.injected}"
    elif call.origin not in (None, Origin.TOOL):
        yield "warning", f"origin: {call.origin}"
    if call.is_distractor:
        yield "plain", "distractor"
    if call.emulator is not None:
        yield "plain", f"emulated: {call.emulator}"


def find_record(folder: Path, id_: str) -> Path:
    """Name the file of a record.

    Raises:
        UnknownNameError: There is none.
    """
    path = record_path(folder, EpisodeId(id_))
    if not _ID.fullmatch(id_) or not path.is_file():
        raise UnknownNameError("there is no episode of this id")
    return path


@dataclass(frozen=True, slots=True)
class Choice:
    """Which episodes an address asks for."""

    asked: tuple[tuple[str, str], ...]
    """As the address has it."""
    wanted: EpisodeFilter = field(default_factory=EpisodeFilter)
    fault: str = ""
    """What of it cannot be, in words."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """Read the query of an address."""
        asked = {name: query[name] for name in _ASKED if query.get(name)}
        given = tuple(asked.items())
        rewards: dict[str, float | None] = {}
        for name, by in (("min_reward", -_HALF_A_DIGIT), ("max_reward", _HALF_A_DIGIT)):
            try:
                rewards[name] = float(asked[name]) + by if name in asked else None
            except ValueError:
                return cls(given, fault=f"{name} is a number, not {asked[name]!r}")
        status = asked.get("status")
        if status is not None and status not in list(EpisodeStatus):
            known = ", ".join(EpisodeStatus)
            return cls(given, fault=f"there is no status {status!r}: there are {known}")
        wanted = EpisodeFilter(
            status=status,
            source=asked.get("source"),
            interactive=asked.get("interactive") == "yes",
            min_reward=rewards["min_reward"],
            max_reward=rewards["max_reward"],
        )
        return cls(given, wanted)


async def list_view(
    parts: PageParts, choice: Choice, *, after: Place | None = None
) -> dict[str, Any]:
    """Read what a page of the list shows.

    Args:
        parts: Of the gateway.
        choice: Which episodes, without a fault.
        after: The last one of the page before; None for the first page.

    Raises:
        RegistryError: The index cannot be read now.
    """
    page = await parts.index.page(choice.wanted, after=after, limit=_PAGE)
    following = None
    if page.next is not None:
        at, id_ = page.next
        query = urlencode([*choice.asked, ("after", f"{at.isoformat()}~{id_}")])
        following = f"/episodes?{query}"
    return {
        "rows": page.episodes,
        "is_chosen": bool(choice.asked),
        "newest": f"/episodes?{urlencode(choice.asked)}" if after else None,
        "following": following,
        "is_complete": parts.index.is_loaded.is_set(),
    }


class EpisodePages:
    """Answers at ``/episodes``, but for what is played by hand."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/episodes", self.show_list, methods=["GET"])
        yield Route("/episodes/{id}", self.show_one, methods=["GET"])
        yield Route("/episodes/{id}/record", self.download, methods=["GET"])
        yield Route("/episodes/{id}/calls/{n:int}", self.raw_call, methods=["GET"])

    async def show_list(self, request: Request) -> Response:
        """Show those that fit, the newest first, a page at a time."""
        choice = Choice.of(request.query_params)
        place = _place_in(request.query_params.get("after", ""))
        rows = {} if choice.fault else await list_view(self._parts, choice, after=place)
        return self._renderer.page(
            request,
            "episodes",
            asked=dict(choice.asked),
            fault=choice.fault,
            statuses=[status.value for status in EpisodeStatus],
            live=None if choice.fault or place else f"/live/episodes?{urlencode(choice.asked)}",
            **rows,
        )

    async def show_one(self, request: Request) -> Response:
        """Show one episode, so many calls at a time, or lead to one of its calls."""
        id_ = request.path_params["id"]
        path = find_record(self._parts.records, id_)
        if request.query_params.get("to"):
            to = _number(request.query_params["to"])
            return self._renderer.go_to(f"/episodes/{id_}?from={to // _CALLS * _CALLS}#call-{to}")
        # In a thread: each of so many results may have a mebibyte.
        return await anyio.to_thread.run_sync(self._episode, request, id_, path)

    def _episode(self, request: Request, id_: str, path: Path) -> Response:
        record = read_record(path)
        begin = _number(request.query_params.get("from")) // _CALLS * _CALLS
        shown = record.calls[begin : begin + _CALLS]
        return self._renderer.page(
            request,
            "episode",
            id=id_,
            opened=record.opened,
            source=source_of(record),
            name=record.opened.source.get("name"),
            status=status_of(record, time_at(self._parts.home)),
            reward=reward_of(record),
            failure=record.ended.failure if record.ended else None,
            solved=sorted(record.solved),
            prompt=cut_text(record.opened.prompt or ""),
            num_calls=len(record.calls),
            num_counted=record.agent_calls,
            calls=call_views(shown),
            index=[_entry(call) for call in shown],
            begin=begin,
            before=f"/episodes/{id_}?from={begin - _CALLS}" if begin else None,
            following=f"/episodes/{id_}?from={begin + _CALLS}"
            if begin + _CALLS < len(record.calls)
            else None,
        )

    async def download(self, request: Request) -> Response:
        """Hand over the record as it is."""
        id_ = request.path_params["id"]
        path = find_record(self._parts.records, id_)
        size = (await anyio.Path(path).stat()).st_size
        headers = {
            "Content-Length": str(size),
            "Content-Disposition": f'attachment; filename="episode-{id_[:12]}.jsonl"',
        }
        return StreamingResponse(
            _beginning_of(path, size), headers=headers, media_type="application/x-ndjson"
        )

    async def raw_call(self, request: Request) -> Response:
        """Hand over the arguments and the result of one call, whole."""
        path = find_record(self._parts.records, request.path_params["id"])
        content = await anyio.to_thread.run_sync(_raw_call, path, request.path_params["n"])
        return Response(content, media_type="application/json")


def _entry(call: CallRecord) -> IndexEntry:
    is_error = call.result is not None and call.result.is_error
    words = cut_text(call.shown, 60).shown
    return IndexEntry(number=call.n, words=words, is_error=is_error, solved=call.solved)


def _raw_call(path: Path, n: int) -> bytes:
    for call in read_record(path).calls:
        if call.n == n:
            return orjson.dumps(call.model_dump(mode="json"), option=orjson.OPT_INDENT_2)
    raise UnknownNameError(f"the episode has no call {n}")


async def _beginning_of(path: Path, size: int) -> AsyncGenerator[bytes]:
    """Read as much of a file as there was when its size was told; an open episode writes on."""
    async with await anyio.open_file(path, "rb") as file:
        while size and (chunk := await file.read(min(_CHUNK, size))):
            size -= len(chunk)
            yield chunk


def _place_in(text: str) -> Place | None:
    """Read where a page begins; one that nobody wrote so is the first page."""
    at, _, id_ = text.partition("~")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    if not id_ or moment.tzinfo is None:
        return None
    try:
        return moment.astimezone(UTC), id_
    except OverflowError:  # before the first year, or behind the last one
        return None


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0
