"""A published server that runs elsewhere is reached over Streamable HTTP and over the old SSE."""

import os
import socket
import subprocess
import uuid
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CreateMessageResult, TextContent

from astra_mcp.types import Origin

from relayed_servers import open_episode, text_of

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs the server

WAYS = {
    "streamable": ("streamableHttp", "mcp", "streamable-http"),
    "sse": ("sse", "sse", "sse"),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_listening(process: subprocess.Popen[str]) -> None:
    """Read what the server says until it names its port."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if " on port " in line:
            return
    pytest.fail(f"the server did not start: {said}")


@pytest.fixture(scope="module")
def remote(
    entries: dict[str, Any], start_gateway: Any, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Any]:
    """A gateway with the server at two URLs."""
    folder: Path = tmp_path_factory.mktemp("remote")
    local = entries["everything"]
    with ExitStack() as stack:
        named: dict[str, Any] = {}
        for name, (mode, path, kind) in WAYS.items():
            port = free_port()
            log = stack.enter_context((folder / f"{name}.txt").open("w"))
            process = stack.enter_context(
                subprocess.Popen(
                    [local["command"], *local["args"], mode],
                    env={**os.environ, "PORT": str(port)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.terminate)
            wait_until_listening(process)
            named[name] = {"url": f"http://127.0.0.1:{port}/{path}", "type": kind}
        yield stack.enter_context(start_gateway(folder / "gateway", named))


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> str:
    """How the server is reached."""
    return request.param


@pytest.mark.smoke
async def test_a_remote_server_is_listed_and_called_and_asks_back(
    way: str, remote: Any, sdk: Any, era: str
) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        heard.append(progress)

    async def answer(*_: Any) -> CreateMessageResult:
        content = TextContent(type="text", text="a reed in the wind")
        return CreateMessageResult(role="assistant", content=content, model="the client's")

    async with sdk(remote.server_url(way), era, sampling_callback=answer) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        total = await client.call_tool("get-sum", {"a": 19, "b": 23})
        line = await client.call_tool("trigger-sampling-request", {"prompt": "Say a line"})
        steps = {"duration": 0.2, "steps": 2}
        await client.call_tool("trigger-long-running-operation", steps, progress_callback=hear)
        note = await client.read_resource("demo://resource/dynamic/text/7")
    assert {"get-sum", "trigger-sampling-request"} <= names
    assert "is 42" in text_of(total)
    assert "a reed in the wind" in text_of(line)
    assert heard == [1.0, 2.0]
    assert "Resource 7" in note.contents[0].text


async def test_episodes_of_a_remote_server_have_sessions_of_their_own(
    way: str, remote: Any, sdk: Any, era: str
) -> None:
    data = "data:text/plain," + uuid.uuid4().hex
    seen: list[set[str]] = []
    async with remote.control() as control:
        one, two = [await open_episode(control, way) for _ in range(2)]
        async with sdk(one.mcp_url, era) as first, sdk(two.mcp_url, era) as second:
            zipped = await first.call_tool(
                "gzip-file-as-resource", {"name": "mine.gz", "data": data}
            )
            for client in (first, second):
                listed = await client.list_resources()
                seen.append({str(resource.uri) for resource in listed.resources})
        record = await control.record(one.id)
        await control.close_episode(one.id)
        await control.close_episode(two.id)
    assert not zipped.is_error
    assert "demo://resource/session/mine.gz" in seen[0]
    assert "demo://resource/session/mine.gz" not in seen[1]
    assert [call.origin for call in record.calls] == [Origin.TOOL]
