"""``astra-mcp run`` as a person or a client starts it: real processes, both transports, clear errors."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from mcp import Client, StdioServerParameters

from command_line import Cli, command
from tiers import AT_THE_GATE

RUN = command("run")
DEADLINE_SECONDS = 60
SIGNALS = [
    (signal.SIGINT, 130),
    pytest.param(signal.SIGTERM, 0, marks=pytest.mark.system),
]
"""And how each ends a server."""


@asynccontextmanager
async def running(
    arguments: Sequence[str], environment: dict[str, str]
) -> AsyncGenerator[tuple[Process, str]]:
    """Run the command over HTTP and give its process and URL."""
    program = [*RUN, *arguments, "--http", "--port", "0", "--json"]
    with anyio.fail_after(DEADLINE_SECONDS):
        async with await anyio.open_process(program, env=environment) as process:
            assert process.stdout is not None
            try:
                line = b""
                while not line.endswith(b"\n"):
                    line += await process.stdout.receive()
                yield process, json.loads(line)["url"]
            finally:
                if process.returncode is None:
                    process.kill()


def refused(arguments: Sequence[str], environment: dict[str, str], code: int) -> str:
    """Run the command in this process; gives what it says, which is nothing on standard output."""
    done = Cli(Path(environment["ASTRA_MCP_HOME"]), environment).run("run", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("mode", ["legacy", pytest.param("2026-07-28", marks=pytest.mark.system)])
async def test_stdio_serves_a_bundle_folder_with_state(
    notebook_folder: Path, environment: dict[str, str], mode: Any
) -> None:
    program = StdioServerParameters(
        command=RUN[0], args=[*RUN[1:], str(notebook_folder)], env=environment
    )
    with anyio.fail_after(DEADLINE_SECONDS):
        async with Client(program, mode=mode, cache=None) as client:
            listed = await client.list_tools()
            for word in ("one", "two"):
                result = await client.call_tool("remember", {"word": word})
            error = await client.call_tool("refuse", {"word": "x"})
    assert [t.name for t in listed.tools][:2] == ["remember", "draw"]
    assert result.structured_content == {"words": ["one", "two"], "count": 2}
    assert error.is_error


@pytest.mark.system
async def test_stdio_serves_a_bundled_environment_by_name(environment: dict[str, str]) -> None:
    program = StdioServerParameters(
        command=RUN[0], args=[*RUN[1:], "drone-show-winds"], env=environment
    )
    with anyio.fail_after(DEADLINE_SECONDS):
        async with Client(program, cache=None) as client:
            assert (await client.list_tools()).tools


@pytest.mark.parametrize(("number", "code"), SIGNALS)
async def test_http_stops_at_a_signal_although_clients_are_connected(
    notebook_folder: Path, environment: dict[str, str], number: signal.Signals, code: int
) -> None:
    async with (
        running([str(notebook_folder)], environment) as (process, url),
        Client(url, mode="legacy", cache=None) as client,
    ):
        await client.call_tool("remember", {"word": "one"})
        process.send_signal(number)
        assert await process.wait() == code
        assert process.stderr is not None
        said = b"".join([chunk async for chunk in process.stderr]).decode()
    assert said == f"notebook is served at {url} (Ctrl-C stops it)\n"


@pytest.mark.parametrize(("number", "code"), SIGNALS)
async def test_stdio_stops_at_a_signal_while_it_waits_for_input(
    notebook_folder: Path, environment: dict[str, str], number: signal.Signals, code: int
) -> None:
    program = [*RUN, str(notebook_folder)]
    with anyio.fail_after(DEADLINE_SECONDS):
        async with await anyio.open_process(program, env=environment) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            await process.stdin.send(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            await process.stdout.receive()
            process.send_signal(number)
            assert await process.wait() == code
            assert [chunk async for chunk in process.stderr] == []


async def test_http_refuses_foreign_hosts_and_origins_and_asks_for_a_key(
    notebook_folder: Path, environment: dict[str, str]
) -> None:
    environment["ASTRA_MCP_SERVE__API_KEYS"] = '["a-long-enough-test-key"]'
    key = {"Authorization": "Bearer a-long-enough-test-key"}
    async with running([str(notebook_folder)], environment) as (_, url):
        assert await status_of(url, {**key, "Host": "evil.example"}) == 421
        assert await status_of(url, {**key, "Origin": "https://evil.example"}) == 403
        assert await status_of(url.replace("/mcp", "/other"), key) == 404
        assert await status_of(url, {}) == 401
        assert await status_of(url, {"Authorization": "Bearer wrong"}) == 401
        assert await status_of(url, key) == 400  # let through, and found to be no MCP message


async def status_of(url: str, headers: dict[str, str]) -> int:
    """Send an empty POST by hand, since HTTP clients guard the Host header."""
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.partition(":")
    lines = {"Host": address, "Accept": "*/*", "Content-Type": "application/json", **headers}
    lines["Content-Length"] = "2"
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    async with await anyio.connect_tcp(host, int(port)) as wire:
        await wire.send(f"POST /{path} HTTP/1.1\r\n{head}Connection: close\r\n\r\n{{}}".encode())
        return int((await wire.receive()).split(b" ")[1])


@pytest.mark.parametrize(
    "closed",
    ["2>&- </dev/null", *(pytest.param(c, marks=AT_THE_GATE) for c in ("<&-", "</dev/null"))],
)
def test_standard_streams_that_the_parent_left_closed_are_an_empty_input(
    environment: dict[str, str], closed: str
) -> None:
    line = f'"{sys.executable}" -P -m astra_mcp run sold-prices {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, env=environment, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_unknown_name_is_answered_with_the_closest_ones(environment: dict[str, str]) -> None:
    said = refused(["drone-show-wind"], environment, 1)
    assert "no environment or server of the registry is named 'drone-show-wind'" in said
    assert "drone-show-winds" in said.replace("'drone-show-wind'", "")


def test_faults_of_a_broken_bundle_are_named(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "environment.json").write_text("{", encoding="utf-8")
    said = refused([str(tmp_path / "broken")], environment, 1)
    assert "environment.json" in said
    assert "tools.py" in said


def test_a_port_in_use_is_answered_with_what_to_do(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(["drone-show-winds", "--http", "--port", str(port)], environment, 1)
    assert f"port {port} on 127.0.0.1 is in use" in said
    assert "--port" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--http", "--host", "0.0.0.0"], "serve.api_keys"),
        (["--port", "8000"], "--port belongs to --http"),
        (["--json"], "--json belongs to --http"),
        (["--http", "--host", "no-such-host.invalid"], "check --host"),
    ],
)
def test_wrong_options_are_usage_errors(
    environment: dict[str, str], arguments: list[str], message: str
) -> None:
    if "no-such-host.invalid" in arguments:
        environment["ASTRA_MCP_SERVE__API_KEYS"] = '["a-long-enough-test-key"]'
    assert message in refused(["drone-show-winds", *arguments], environment, 2)
