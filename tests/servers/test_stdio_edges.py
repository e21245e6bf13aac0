"""MCP over lines where the client is rude: it leaves early, writes what is no message, repeats an id."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.mcp.bridge import McpRequest, build_server
from astra_mcp.mcp.lines import MAX_BODY_BYTES, LineWire, serve_lines
from astra_mcp.types import JsonObject, ToolResult, ToolSpec

RUN = (sys.executable, "-P", "-m", "astra_mcp", "run")
DEADLINE_SECONDS = 60
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
META: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": JsonObject(),
}
Respond = Callable[[str], Coroutine[Any, Any, None]]


def line(document: Any) -> bytes:
    return json.dumps(document).encode() + b"\n"


def request(number: Any, method: str, **params: Any) -> bytes:
    return line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def call(number: Any, word: str = "x", **params: Any) -> bytes:
    arguments = {"word": word}
    return request(number, "tools/call", name="remember", arguments=arguments, **params)


OPENING = request(0, "initialize", **HELLO) + line(
    {"jsonrpc": "2.0", "method": "notifications/initialized"}
)


class Client:
    """The other end of the wire."""

    def __init__(self, answered: FileIO, asking: FileIO) -> None:
        self._answered, self._asking = answered, asking
        self._wire = LineWire(answered.fileno(), asking.fileno(), 64 << 20)
        self._lines = self._wire.lines()

    async def send(self, data: bytes) -> None:
        await self._wire.write(data)

    def hang_up(self) -> None:
        """End the input of the server."""
        self._asking.close()

    def stop_reading(self) -> None:
        self._answered.close()

    async def answer(self) -> dict[str, Any]:
        found = await anext(self._lines)
        assert found is not None
        return json.loads(found)

    async def answers(self) -> list[dict[str, Any]]:
        """All until the server closes its side."""
        return [json.loads(found) async for found in self._lines if found is not None]


async def at_once(_: str) -> None:
    """Answer without waiting."""


@contextmanager
def pipe(flags: int = 0) -> Generator[tuple[FileIO, FileIO]]:
    """Open a pipe: its reading and its writing end."""
    reading, writing = os.pipe2(flags | os.O_CLOEXEC)
    with FileIO(reading, "rb") as out, FileIO(writing, "wb") as into:
        yield out, into


@asynccontextmanager
async def connected(
    respond: Respond = at_once, *, finish_seconds: float = 30
) -> AsyncGenerator[Client]:
    """Serve a tool that answers with its word after ``respond``; ends with the session."""

    async def list_tools(_: McpRequest) -> Sequence[ToolSpec]:
        return [ToolSpec(name="remember", description="", input_schema={"type": "object"})]

    async def call_tool(_: McpRequest, __: str, arguments: JsonObject) -> ToolResult:
        await respond(str(arguments["word"]))
        return ToolResult.from_text(str(arguments["word"]))

    server = build_server("lines", version="1", list_tools=list_tools, call_tool=call_tool)
    with (
        pipe() as (asked, asking),
        pipe() as (answered, answering),
        anyio.fail_after(DEADLINE_SECONDS),
    ):

        async def serve() -> None:
            wire = LineWire(asked.fileno(), answering.fileno(), MAX_BODY_BYTES)
            await serve_lines(server, wire, finish_seconds=finish_seconds)
            answering.close()

        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            yield Client(answered, asking)


async def test_requests_that_were_read_are_answered_after_the_end_of_the_input() -> None:
    hung_up = anyio.Event()

    async def respond(_: str) -> None:
        await hung_up.wait()

    async with connected(respond) as client:
        await client.send(OPENING + call(1) + call(2) + call(3).rstrip(b"\n"))
        opened = await client.answer()
        client.hang_up()
        hung_up.set()
        answers = await client.answers()
    assert opened["id"] == 0
    assert sorted(a["id"] for a in answers) == [1, 2, 3]
    assert all("result" in a for a in answers)


async def test_a_request_that_never_ends_is_answered_as_an_error_at_the_deadline() -> None:
    async def respond(word: str) -> None:
        if word == "for ever":
            await anyio.sleep_forever()

    async with connected(respond, finish_seconds=0.05) as client:
        await client.send(OPENING + call(1, "for ever") + call(2))
        client.hang_up()
        answers = {a["id"]: a for a in await client.answers()}
    assert answers.keys() == {0, 1, 2}
    assert answers[1]["error"]["code"] == mcp_types.CONNECTION_CLOSED
    assert "result" in answers[2]


async def test_a_cancelled_request_does_not_keep_the_server_after_the_end_of_the_input() -> None:
    begun = anyio.Event()

    async def respond(_: str) -> None:
        begun.set()
        await anyio.sleep_forever()

    async with connected(respond, finish_seconds=10 * DEADLINE_SECONDS) as client:
        await client.send(OPENING + call(1))
        await begun.wait()
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        await client.send(line({"jsonrpc": "2.0", **cancelled}))
        client.hang_up()
        assert [a["id"] for a in await client.answers()] == [0]


async def test_nothing_is_served_to_a_client_that_reads_no_more() -> None:
    async with connected() as client:
        await client.send(OPENING)
        await client.answer()
        client.stop_reading()
        await client.send(call(1))  # its answer fails; the input stays open


@pytest.mark.parametrize(
    ("rubbish", "code", "request_id"),
    [
        (b"garbage", mcp_types.PARSE_ERROR, None),
        (b'{"jsonrpc":', mcp_types.PARSE_ERROR, None),
        (b"\xff\xfe\x00", mcp_types.PARSE_ERROR, None),
        (b'"\\ud800"', mcp_types.PARSE_ERROR, None),
        (b"[" * 100_000, mcp_types.PARSE_ERROR, None),
        (b"{}", mcp_types.INVALID_REQUEST, None),
        (b"null", mcp_types.INVALID_REQUEST, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', mcp_types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', mcp_types.INVALID_REQUEST, 7),
        (b'{"jsonrpc": "2.0", "id": "a", "params": {}}', mcp_types.INVALID_REQUEST, "a"),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', mcp_types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', mcp_types.INVALID_REQUEST, None),
        (b"x" * (MAX_BODY_BYTES + 1), mcp_types.INVALID_REQUEST, None),
        (b"x" * (5 * MAX_BODY_BYTES), mcp_types.INVALID_REQUEST, None),
    ],
    ids=lambda value: repr(value)[:30],
)
async def test_a_line_that_is_no_message_is_answered_and_the_session_goes_on(
    rubbish: bytes, code: int, request_id: Any
) -> None:
    async with connected() as client:
        await client.send(rubbish + b"\n")
        refused = await client.answer()
        await client.send(OPENING)
        await client.answer()
        await client.send(rubbish + b"\n")
        assert await client.answer() == refused
        await client.send(call(1))
        answered = await client.answer()
        client.hang_up()
        assert await client.answers() == []
    assert (refused["error"]["code"], refused["id"]) == (code, request_id)
    assert len(refused["error"]["message"]) < 200
    assert answered["result"]["content"][0]["text"] == "x"


async def test_messages_that_ask_for_nothing_get_no_answer() -> None:
    async with connected() as client:
        await client.send(OPENING + b"\n \r\n" + line({"jsonrpc": "2.0", "method": "unknown"}))
        await client.send(line({"jsonrpc": "2.0", "id": 5, "result": {}}))
        error = {"code": -1, "message": "no"}
        await client.send(line({"jsonrpc": "2.0", "id": 5, "error": error}) + call(1))
        client.hang_up()
        assert [a["id"] for a in await client.answers()] == [0, 1]


@pytest.mark.parametrize("again", [1, "1"])
@pytest.mark.parametrize(("opening", "params"), [(OPENING, {}), (b"", {"_meta": META})])
async def test_an_id_that_is_under_way_is_refused_and_may_be_used_again_later(
    opening: bytes, params: dict[str, Any], again: Any
) -> None:
    refused = anyio.Event()

    async def respond(word: str) -> None:
        if word == "first":
            await refused.wait()

    async with connected(respond) as client:
        await client.send(opening + call(1, "first", **params) + call(again, "second", **params))
        if opening:
            await client.answer()
        refusal = await client.answer()
        refused.set()
        first = await client.answer()
        await client.send(call(again, "third", **params))
        third = await client.answer()
        client.hang_up()
    assert refusal["error"]["code"] == mcp_types.INVALID_REQUEST
    assert "under way" in refusal["error"]["message"]
    texts = [answer["result"]["content"][0]["text"] for answer in (first, third)]
    assert texts == ["first", "third"]


@given(st.lists(st.sampled_from([b"", b"a", b"bc", b"\n", b"\xff\n", b"0123456789"]), max_size=10))
def test_lines_are_the_same_however_they_arrive(chunks: list[bytes]) -> None:
    limit = 8
    text = b"".join(chunks)
    expected = text.split(b"\n")
    if not expected[-1]:
        expected.pop()

    async def read() -> list[bytes | None]:
        with pipe(os.O_DIRECT) as (reading, writing):  # each read gives what one write wrote
            for chunk in chunks:
                writing.write(chunk)
            writing.close()
            return [found async for found in LineWire(reading.fileno(), -1, limit).lines()]

    assert anyio.run(read) == [None if len(e) > limit else e for e in expected]


async def test_a_file_is_read_and_written_like_a_pipe() -> None:
    with tempfile.TemporaryFile() as file:
        wire = LineWire(file.fileno(), file.fileno(), 1 << 20)
        await wire.write(b"x" * 10_000 + b"\n")
        await wire.write(b"the last")
        file.seek(0)
        assert [found async for found in wire.lines()] == [b"x" * 10_000, b"the last"]


# --- the command ----------------------------------------------------------------------------------


def start(folder: Path, environment: dict[str, str], input: int) -> "subprocess.Popen[bytes]":
    out = subprocess.PIPE
    command = [*RUN, str(folder)]
    return subprocess.Popen(command, env=environment, stdin=input, stdout=out, stderr=out)


def test_a_script_may_pipe_its_requests(notebook_folder: Path, environment: dict[str, str]) -> None:
    lines = OPENING + call(1) + b"garbage\n" + call(2).rstrip(b"\n")
    with start(notebook_folder, environment, subprocess.PIPE) as process:
        out, errors = process.communicate(lines, DEADLINE_SECONDS)
    answers = {a["id"]: a for a in map(json.loads, out.splitlines())}
    assert (process.returncode, errors) == (0, b"")
    assert answers.keys() == {0, 1, None, 2}
    assert {answers[n]["result"]["structuredContent"]["count"] for n in (1, 2)} == {1, 2}


def test_the_command_ends_quietly_when_nobody_reads_its_answers(
    notebook_folder: Path, environment: dict[str, str]
) -> None:
    with pipe() as (asked, asking), start(notebook_folder, environment, asked.fileno()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        asking.write(OPENING)
        process.stdout.readline()
        process.stdout.close()
        asking.write(call(1))
        assert process.wait(DEADLINE_SECONDS) == 0  # although its input is open
        assert process.stderr.read() == b""
