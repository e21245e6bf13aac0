"""The records on disk, for people and programs that look back: list, find, replay.

Works on the files alone; a gateway need not run.
"""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from astra_mcp.call_record import CallRecord, EpisodeStatus, FinishedCall
from astra_mcp.concurrency import Pace
from astra_mcp.errors import GatewayError, UnknownNameError, UpstreamError
from astra_mcp.types import CallOutcome, Origin, ToolResult, UpstreamReply, is_failure
from gateway.api.seams import Catalog, UpstreamSession, abilities
from gateway.api.wire import EpisodeRecord, EpisodeState
from gateway.episodes.beginning import open_session
from gateway.episodes.calls import within_limit
from gateway.episodes.record import Record, read_record
from gateway.machine.clock import steady_clock

__all__ = [
    "Divergence",
    "RecordReader",
    "Replay",
    "find_record",
    "not_repeatable",
    "records_folder",
    "repeated_servers",
    "replay_record",
    "status_of",
    "tell_record",
    "time_at",
]

_REPLAY_CALL_SECONDS = 120.0
_LONG_BYTES = 1 << 20
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """A replayed call whose result is not the recorded one."""

    n: int
    tool: str
    recorded: ToolResult
    replayed: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What became of a replay."""

    compared: int
    """Calls that were run again."""
    skipped: int
    """Calls without a comparable result: unknown tools, unfinished, destroyed their sandbox, failures."""
    divergences: tuple[Divergence, ...]


def records_folder(home: Path) -> Path:
    """Name the folder of a home's records; there may be none yet.

    Raises:
        GatewayError: The home is no folder.
    """
    if home.exists() and not home.is_dir():
        raise GatewayError(f"{home} is no folder: set ASTRA_MCP_HOME to one")
    return home / "records"


def find_record(home: Path, prefix: str) -> Record:
    """Read the record whose episode id starts so.

    Raises:
        UnknownNameError: None does, or several do.
    """
    if not prefix.isalnum():
        raise UnknownNameError(f"{prefix!r} is not the beginning of an episode id")
    found = sorted((home / "records").glob(f"{prefix}*.jsonl"))
    if len(found) != 1:
        what = "no episode id starts" if not found else f"{len(found)} episode ids start"
        raise UnknownNameError(f"{what} with {prefix!r}: `astra-mcp episodes list` shows them")
    return read_record(found[0])


def time_at(home: Path) -> datetime:
    """Tell the time by which a home's gateway goes."""
    return datetime.fromtimestamp(steady_clock(home, keep=False)(), UTC)


def status_of(record: Record, at: datetime) -> EpisodeStatus:
    """Tell where an episode stands at a time of its home; one whose time is over has expired."""
    if record.ended is not None:
        return record.ended.status
    limits = record.opened.limits
    idle_until = record.last_at + timedelta(seconds=limits.idle_seconds)
    life_until = record.opened.at + timedelta(seconds=limits.life_seconds)
    is_over = at >= min(idle_until, life_until)
    return EpisodeStatus.EXPIRED if is_over else EpisodeStatus.OPEN


class RecordReader:
    """Reads records in threads, as it takes 70 microseconds for each call; of long ones one at a time.

    What a long record is made of is hundreds of thousands of objects, none of them garbage: to look for that
    while they are made would hold everything up, again and again.
    """

    def __init__(self) -> None:
        self._turn = anyio.Lock()

    async def read(self, path: Path, read: Callable[[Path, Pace], Read]) -> Read:
        """Read a record by a function of its path and of the pace to keep. Raises what that raises."""
        if not _is_long(path):
            return await anyio.to_thread.run_sync(read, path, Pace())
        async with self._turn:
            return await anyio.to_thread.run_sync(_without_looks, read, path)


def _is_long(path: Path) -> bool:
    try:
        return path.stat().st_size > _LONG_BYTES
    except OSError:  # whoever reads it says so
        return False


def _without_looks(read: Callable[[Path, Pace], Read], path: Path) -> Read:
    was_on = gc.isenabled()
    gc.disable()
    try:
        return read(path, Pace())
    finally:
        if was_on:
            gc.freeze()
            gc.enable()


def tell_record(state: EpisodeState, path: Path, pace: Pace | None = None) -> EpisodeRecord:
    """Read what a record says of an episode that stands there.

    Args:
        state: Of the episode.
        path: Of its record.
        pace: Kept in a thread beside which others work.

    Raises:
        RecordError: It cannot be read.
    """
    record = read_record(path, pace)
    return EpisodeRecord.model_construct(  # each part is checked; to check 50,000 calls again takes long
        state=state,
        prompt=record.opened.prompt,
        tools_hash=record.opened.tools_hash,
        servers=record.opened.servers,
        tools=record.opened.tools,
        distractors=record.opened.distractors,
        emulators=record.opened.emulators,
        calls=record.calls,
    )


async def replay_record(record: Record, catalog: Catalog) -> Replay:
    """Run a record's calls again, in fresh sessions, and compare the results.

    A deployed server is not ours to repeat calls at, whoever wrote the record: none is called or reached.

    Raises:
        GatewayError: A server is another version than the recorded one, or a deployed one has answered calls.
        NotAvailableError: Answers were made up by a model, and the settings name none.
        UpstreamError: A server failed, or did not answer in time.
        UnknownNameError: A server is not published.
    """
    upstreams = [catalog.upstream(name) for name in repeated_servers(record)]
    for upstream in upstreams:
        if not abilities(upstream).replayable:
            raise not_repeatable(upstream.name)
        if upstream.version != record.opened.servers.get(upstream.name):
            msg = f"{upstream.name} changed since the episode was recorded: results cannot be compared"
            raise GatewayError(msg)
    key = sha256(f"replay {record.opened.id}".encode()).hexdigest()
    sessions: dict[str, UpstreamSession] = {}
    try:
        for upstream in upstreams:
            sessions[upstream.name] = open_session(record.opened, upstream, key)
        return await _replay(record, sessions)
    finally:
        with anyio.CancelScope(
            shield=True
        ):  # a replay may be cut off, and leaves no process behind
            for session in sessions.values():
                await session.aclose()


def repeated_servers(record: Record) -> list[str]:
    """Name the servers at which a replay makes calls, as the record says."""
    return sorted(
        {call.server for call in record.finished_calls if _is_repeated(call) and call.server}
    )


def _is_repeated(call: FinishedCall) -> bool:
    has_reached = call.server is not None and call.tool is not None and not call.fault
    return has_reached and call.outcome is not CallOutcome.KILLED and call.origin is Origin.TOOL


def not_repeatable(name: str) -> GatewayError:
    """Say that calls are not repeated at a deployed server."""
    return GatewayError(
        f"{name!r} is a deployed server: a replay would make the recorded calls there again, with all "
        "that they do. Episodes of environments can be replayed; `astra-mcp episodes show` shows what "
        "was answered in this one"
    )


async def _replay(record: Record, sessions: Mapping[str, UpstreamSession]) -> Replay:
    limit_bytes = record.opened.limits.result_bytes
    divergences: list[Divergence] = []
    compared = 0
    for call in record.finished_calls:
        if call.server is None or call.tool is None or not _is_repeated(call):
            continue
        reply = await _call_again(sessions[call.server], call.tool, call)
        compared += 1
        replayed = within_limit(reply.result, limit_bytes)
        if replayed != call.result:
            divergences.append(
                Divergence(n=call.n, tool=call.shown, recorded=call.result, replayed=replayed)
            )
    return Replay(
        compared=compared, skipped=len(record.calls) - compared, divergences=tuple(divergences)
    )


async def _call_again(session: UpstreamSession, tool: str, call: CallRecord) -> UpstreamReply:
    try:
        with anyio.fail_after(_REPLAY_CALL_SECONDS):
            reply = await session.call(tool, call.arguments)
    except TimeoutError:
        msg = f"call {call.n} of the replay took longer than {_REPLAY_CALL_SECONDS:g} s"
        raise UpstreamError(msg) from None
    if is_failure(reply.origin):
        text = reply.result.text
        raise UpstreamError(f"call {call.n} of the replay failed at {reply.origin}: {text}")
    return reply
