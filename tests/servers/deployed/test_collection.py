"""All deployed servers together: cards, a file that changes, mounted servers, and what is left at the end."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from astra_mcp.errors import ConfigError, UpstreamError
from astra_mcp.mcp.request_context import Era, Exchange
from astra_mcp.types import ServerKind, ServerStatus
from servers.deployed import DeployedSession, open_deployed

from deployed_workshop import (
    MemoryChannel,
    calls_of,
    deployed,
    found,
    noting,
    online,
    over_http,
    raw_entry,
    raw_processes,
    session,
    structured,
    text_of,
    until,
    write_config,
)
from processes import below, wait_until_gone
from relayed_servers import Desk

ERAS = list(Era)

# --- what is known --------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("spoken", [["handshake"], ["modern"], ["handshake", "modern"]])
async def test_a_server_of_any_era_is_listed_over_all_pages_and_serves_clients_of_both(
    tmp_path: Path, era: Era, spoken: list[str]
) -> None:
    async with deployed(tmp_path, raw=raw_entry(*spoken)) as servers:
        server = found(servers)
        await server.prepare()
        names = [tool.name for tool in server.tools]
        assert names[:3] == ["count", "die", "hang"]
        assert len(names) == 12
        assert server.tools[0].extra == {"title": "T"}
        assert (server.kind, server.relays) == (ServerKind.DEPLOYED, True)
        assert "tools" in server.capabilities
        assert server.status[0] is ServerStatus.READY
        one = session(servers)
        assert await text_of(one, "count", Exchange(era=era)) == "1"
        assert one.connection is not None
        assert one.connection.era in map(Era, spoken)


async def test_it_can_be_asked_how_each_server_is(tmp_path: Path) -> None:
    lost = {"command": str(tmp_path / "nothing")}
    silent = {"command": "sleep", "args": ["300"], "timeout_seconds": 0.5}
    async with deployed(tmp_path, raw=raw_entry(), lost=lost, silent=silent) as servers:
        assert {s.condition for s in servers.statuses()} == {"unused"}
        async with anyio.create_task_group() as group:
            group.start_soon(servers.check)
            await until(lambda: "starting" in {s.condition for s in servers.statuses()})
        gone, raw, mute = servers.statuses()
        assert (raw.name, raw.condition, raw.tools, raw.reason) == ("raw", "ready", 12, "")
        assert [(s.name, s.condition) for s in (gone, mute)] == [
            ("lost", "broken"),
            ("silent", "broken"),
        ]
        assert "upstream lost cannot be started" in gone.reason
        assert "within 0.5 s (raise timeout_seconds of its entry)" in mute.reason
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        assert servers.statuses()[0].condition == "unused"  # though its tools are known
        assert [s.condition for s in await servers.check()] == ["ready"]


async def test_after_a_restart_tools_are_known_without_starting_anything(tmp_path: Path) -> None:
    entry = raw_entry(env={"KEY": "very-secret"})
    async with deployed(tmp_path, raw=entry) as servers:
        server = found(servers)
        await server.prepare()
        tools, version = server.tools, server.version
    async with deployed(tmp_path, raw=entry) as servers:
        again = found(servers)
        await again.prepare()
        assert (again.tools, again.version) == (tools, version)
        assert again.status == (ServerStatus.UNKNOWN, "")
        assert not raw_processes()
    [card] = (tmp_path / "home" / "cards").iterdir()
    assert "very-secret" not in card.read_text()
    card.write_text("{")
    async with deployed(tmp_path, raw=entry) as servers:
        assert found(servers).tools == ()


async def test_many_who_want_to_know_the_tools_start_one_process(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    script = f"echo x >> {starts}; exec {sys.executable} -S {raw_entry()['args'][1]}"
    entry = {"command": "sh", "args": ["-c", script]}
    async with deployed(tmp_path, raw=entry) as servers, anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(found(servers).prepare)
    assert calls_of(starts) == ["x"]


async def test_a_failed_start_is_not_tried_again_at_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    entry = {"command": "sh", "args": ["-c", f"echo x >> {starts}; echo broken >&2; exit 1"]}
    async with deployed(tmp_path, raw=entry) as servers:
        server = found(servers)
        for _ in range(5):
            with pytest.raises(UpstreamError, match="broken"):
                await server.prepare()
        first = len(calls_of(starts))
        assert first <= 2  # once in each era
        await anyio.sleep(0.6)  # longer than the first pause
        with pytest.raises(UpstreamError, match="broken"):
            await server.prepare()
        assert len(calls_of(starts)) > first


async def test_unfit_tools_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    schema = {"inputSchema": {"type": "object"}}
    named = [{"name": name, **schema} for name in ("good", "", "x" * 200)]
    tools = [*named, {"name": "good", "title": "again", **schema}, {"name": "schemaless"}]
    page = {"tools": tools}
    hello: Any = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    script = (
        "import sys, json\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        f"    r = {page!r} if m['method'] == 'tools/list' else {hello!r}\n"
        "    print(json.dumps({'id': m['id'], 'result': r}), flush=True)\n"
    )
    entry = {"command": sys.executable, "args": ["-c", script]}
    async with deployed(tmp_path, raw=entry) as servers:
        server = found(servers)
        await server.prepare()
        assert [tool.name for tool in server.tools] == ["good"]
        assert server.tools[0].extra == {}
    assert sum("is left out" in message for message in caplog.messages) == 3
    assert any("lists 'good' twice" in message for message in caplog.messages)


@pytest.mark.parametrize("isolation", ["episode", "shared"])
async def test_tools_that_grow_are_noticed_and_told(tmp_path: Path, isolation: str) -> None:
    async with deployed(tmp_path, raw=raw_entry(isolation=isolation)) as servers:
        server = found(servers)
        await server.prepare()
        told: list[str] = []
        end = servers.watch(told.append)
        one = session(servers)
        await one.call("grow", {})
        await until(lambda: told == ["raw"])
        assert server.tools[-1].name == "grown_1"
        end()
        await one.call("grow", {})
        await until(lambda: len(server.tools) == 14)
        assert told == ["raw"]


# --- a file that changes --------------------------------------------------------------------------


async def test_the_file_is_followed(tmp_path: Path) -> None:
    async with deployed(tmp_path, kept=raw_entry(), gone=raw_entry(), new=raw_entry()) as servers:
        for server in servers.upstreams():
            await server.prepare()
        told: list[str] = []
        servers.watch(told.append)
        kept, gone, changed = (session(servers, n) for n in ("kept", "gone", "new"))
        removed = found(servers, "gone")
        for one in (kept, gone, changed):
            await one.call("count", {})
        changed_entry = raw_entry(env={"X": "1"})
        write_config(tmp_path, kept=raw_entry(), new=changed_entry, added=raw_entry("modern"))
        await until(lambda: set(told) == {"gone", "new", "added"})
        assert [s.name for s in servers.upstreams()] == ["added", "kept", "new"]
        assert await text_of(kept) == "2"
        late = removed.open_session(key="late", seed=0)  # by who looked it up before
        for one, words in (
            (gone, r"upstream gone: its entry was removed from mcp\.json"),
            (late, r"upstream gone: its entry was removed from mcp\.json"),
            (changed, r"upstream new: its entry was changed in mcp\.json"),
        ):
            with pytest.raises(UpstreamError, match=words):
                await one.call("count", {})
        assert await text_of(session(servers, "new")) == "1"
        assert await text_of(session(servers, "added")) == "1"


async def test_a_running_call_of_a_removed_server_ends_first(tmp_path: Path) -> None:
    texts: list[str] = []
    async with noting(tmp_path) as (servers, calls):
        one = session(servers)

        async def sleep() -> None:
            texts.append(await text_of(one, "sleep", seconds=1))

        async with anyio.create_task_group() as group:
            group.start_soon(sleep)
            await until(lambda: "sleep" in calls())
            write_config(tmp_path)
            await until(lambda: not servers.upstreams())
            assert texts == []
        assert texts == ["slept"]
        await until(lambda: not raw_processes())


async def test_a_running_call_of_a_removed_server_is_told_of_the_stop(tmp_path: Path) -> None:
    faults: list[str] = []
    is_over = anyio.Event()

    async def sleep(one: DeployedSession) -> None:
        try:
            await one.call("sleep", {"seconds": 600})
        except UpstreamError as error:
            faults.append(str(error))
        is_over.set()

    async with anyio.create_task_group() as group:
        async with noting(tmp_path) as (servers, calls):
            group.start_soon(sleep, session(servers))
            await until(lambda: "sleep" in calls())
            write_config(tmp_path)
            await until(lambda: not servers.upstreams())
        with anyio.fail_after(20):
            await is_over.wait()
    assert ["was closed by the gateway" in fault for fault in faults] == [True]
    assert not raw_processes()


async def test_a_broken_file_leaves_the_servers_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with deployed(tmp_path, raw=raw_entry()) as servers:
        one = session(servers)
        await one.call("count", {})
        (tmp_path / "mcp.json").write_text('{"mcpServers": {"raw":')
        await until(lambda: "stay as they were" in caplog.text)
        assert await text_of(one) == "2"
        (tmp_path / "mcp.json").unlink()
        await until(lambda: "cannot be read" in caplog.text)
        assert await text_of(one) == "3"
        write_config(tmp_path, raw=raw_entry(), other=raw_entry())
        await until(lambda: "was read again: 2" in caplog.text)
    [record] = [r for r in caplog.records if "was read again" in r.getMessage()]
    assert record.levelname == "INFO"


# --- mounted servers ------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_of_this_process_is_mounted(tmp_path: Path, era: Era) -> None:
    async with open_deployed(None, home=tmp_path) as servers:
        told: list[str] = []
        servers.watch(told.append)
        servers.mount("here", Desk("talkative").make())
        assert told == ["here"]
        server = found(servers, "here")
        await server.prepare()
        assert [t.name for t in server.tools][:2] == ["say", "headed"]
        assert server.instructions == "Ask talkative politely."
        channel = MemoryChannel(capabilities={"elicitation": {}}, answers=[{"action": "decline"}])
        exchange = Exchange(era=era, meta={"progressToken": "p"}, channel=channel)
        one = session(servers, "here")
        assert await text_of(one, "report", exchange) == "reported"
        assert [p["progress"] for _, p in channel.told] == [0.5, 1.0]
        if era is Era.HANDSHAKE:
            assert await text_of(one, "ask", exchange) == "decline None"
        with pytest.raises(ConfigError, match="'here' exists already"):
            servers.mount("here", Desk("talkative").make())


async def test_each_session_of_a_factory_has_a_server_of_its_own(tmp_path: Path) -> None:
    async with open_deployed(None, home=tmp_path) as servers:
        servers.mount("here", lambda: Desk("talkative").make())
        one, two = session(servers, "here", key="1"), session(servers, "here", key="2")
        texts = [await text_of(s) for s in (one, two, one)]
        assert texts == ["1", "1", "2"]


# --- the transport of 2024-11-05 ------------------------------------------------------------------


def old_app(desk: Desk) -> Starlette:
    """A server that speaks HTTP+SSE alone."""
    transport = SseServerTransport("/messages/")
    server = desk.make()

    async def connect(request: Request) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (r, w):  # pyright: ignore[reportPrivateUsage]
            await server.run(r, w, server.create_initialization_options())
        return Response()

    routes = [
        Route("/mcp", endpoint=connect, methods=["GET"]),
        Mount("/messages/", app=transport.handle_post_message),
    ]
    return Starlette(routes=routes)


@pytest.mark.parametrize("members", [{}, {"type": "sse"}])
async def test_the_old_transport_is_reached(tmp_path: Path, members: dict[str, str]) -> None:
    async with online(tmp_path, old_app(Desk("talkative")), **members) as servers:
        server = found(servers)
        await server.prepare()
        assert server.tools[0].name == "say"
        channel = MemoryChannel(capabilities={"elicitation": {}}, answers=[{"action": "cancel"}])
        exchange = Exchange(meta={"progressToken": 1}, channel=channel)
        one = session(servers)
        assert await text_of(one, "report", exchange) == "reported"
        assert len(channel.told) == 2
        assert await text_of(one, "ask", exchange) == "cancel None"


async def test_an_old_server_that_sends_messages_elsewhere_is_refused(tmp_path: Path) -> None:
    async def stream(request: Request) -> Response:
        body = "event: endpoint\ndata: http://example.com/messages\n\n"
        return Response(body, media_type="text/event-stream")

    app = Starlette(routes=[Route("/mcp", endpoint=stream, methods=["GET"])])
    async with online(tmp_path, app) as servers:
        with pytest.raises(UpstreamError, match="wants messages sent to another host"):
            await found(servers).prepare()


# --- the end --------------------------------------------------------------------------------------


def held() -> tuple[int, int]:
    """Open files and tasks."""
    return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())


async def test_nothing_is_left_after_the_end(tmp_path: Path) -> None:
    app = Desk("talkative").make().streamable_http_app()

    async def use(url: str) -> None:
        async with deployed(tmp_path, raw=raw_entry(), web={"url": url}) as servers:
            servers.mount("here", Desk("talkative").make())
            for name in ("raw", "web", "here"):
                for era in ERAS:
                    await session(servers, name).call("count", {}, Exchange(era=era))

    async with over_http(app) as url:
        await use(url)
        gc.collect()
        before = held()
        children = {p.pid for p in below(os.getpid())}
        await use(url)
        gc.collect()
        await until(lambda: all(now <= then for now, then in zip(held(), before, strict=True)))
        assert {p.pid for p in below(os.getpid())} <= children


async def test_what_a_server_started_itself_ends_with_its_session(one: DeployedSession) -> None:
    grandchild = int(await text_of(one, "spawn"))
    handle = os.pidfd_open(grandchild)
    await one.aclose()
    assert await anyio.to_thread.run_sync(wait_until_gone, [handle], 10) == 0


@pytest.mark.system
async def test_a_killed_gateway_leaves_no_process_behind(tmp_path: Path) -> None:
    program = tmp_path / "gateway.py"
    program.write_text(
        "import sys, anyio\n"
        "from pathlib import Path\n"
        "from servers.deployed import open_deployed\n"
        "async def main():\n"
        "    async with open_deployed(Path(sys.argv[1]), home=Path(sys.argv[2])) as servers:\n"
        "        one = servers.find('raw').open_session(key='k', seed=0)\n"
        "        shown = await one.call('show', {})\n"
        "        spawned = await one.call('spawn', {})\n"
        "        print(shown.result.structured['pid'], spawned.result.text, flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    file = write_config(tmp_path, raw=raw_entry())
    gateway = subprocess.Popen(  # noqa: ASYNC220 - killed, so nothing of it may be awaited
        [sys.executable, str(program), str(file), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with gateway:
        assert gateway.stdout is not None
        line = await anyio.to_thread.run_sync(gateway.stdout.readline)
        handles = [os.pidfd_open(int(pid)) for pid in line.split()]
        assert len(handles) == 2
        gateway.send_signal(signal.SIGKILL)
    assert await anyio.to_thread.run_sync(wait_until_gone, handles, 10) == 0


async def test_a_server_that_ignores_its_ended_input_and_sigterm_is_killed(tmp_path: Path) -> None:
    script = (
        "import signal, runpy, sys, threading\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"sys.argv = ['raw']; threading.Thread(target=threading.Event().wait).start()\n"
        f"runpy.run_path({raw_entry()['args'][1]!r}, run_name='__main__')\n"
    )
    entry = {"command": sys.executable, "args": ["-c", script]}
    async with deployed(tmp_path, raw=entry) as servers:
        one = session(servers)
        pid = structured(await one.call("show", {}))["pid"]
        handle = os.pidfd_open(pid)
        await one.aclose()
        assert await anyio.to_thread.run_sync(wait_until_gone, [handle], 10) == 0
