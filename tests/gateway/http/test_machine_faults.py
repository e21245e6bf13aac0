"""A real gateway on a machine that lacks something: nothing ends, is lost or is done twice, and all goes on.

Its clients send a call again, by its id, for as long as they are told to come again.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import TransportError
from astra_mcp.types import ToolResult
from gateway.api.client import EpisodeClient, GatewayClient, RefusedError
from gateway.api.connections import NO_FILES, NO_SPACE, Connections
from gateway.api.wire import EpisodeCreated, EpisodeRequest
from gateway.episodes.record import read_record, record_path

from command_line import ServedHome
from deployed_workshop import until
from measured_programs import SUPPORT

pytestmark = [pytest.mark.system, pytest.mark.volume]

StartServe = Callable[..., ServedHome]
PATIENCE_SECONDS = 60.0
MEGABYTES = 48
"""Of the disk: less than a gateway wants to have free where there is more."""


class Agent:
    """Calls one tool again and again, and sends each call until it is answered."""

    def __init__(self, created: EpisodeCreated, http: Connections, tool: str) -> None:
        self.created = created
        self._client = EpisodeClient(created.mcp_url, http, reconnect_seconds=0.5)
        self._tool = tool
        self.answers: dict[str, ToolResult] = {}
        """By the ids of the calls, which name their nonces too."""
        self.refusals = 0

    def _arguments(self, call_id: str) -> Mapping[str, Any]:
        return {"amount": 1} if self._tool == "add" else {"nonce": call_id}

    async def play(self, num_calls: int) -> None:
        """Make so many calls more."""
        for n in range(len(self.answers), len(self.answers) + num_calls):
            call_id = f"{self.created.id[:8]}-{n}"
            while call_id not in self.answers:
                try:
                    self.answers[call_id] = await self._client.call(
                        self._tool, self._arguments(call_id), call_id=call_id
                    )
                except TransportError:
                    self.refusals += 1
                    await anyio.sleep(0.05)

    def says(self) -> list[str]:
        """What the tool told, in order."""
        return [answer.text for answer in self.answers.values()]


async def play_all(agents: Sequence[Agent], num_calls: int) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as group:
            for agent in agents:
                group.start_soon(agent.play, num_calls)


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A disk of its own; a home lies on it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ("-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder))
    if os.geteuid() != 0 or subprocess.run(("mount", *options), check=False).returncode:
        pytest.skip("a disk can be mounted by root alone, where the machine lets it")
    try:
        yield folder
    finally:
        subprocess.run(("umount", "-l", str(folder)), check=True)


@contextmanager
def filled(disk: Path) -> Generator[None]:
    """Leave not a byte free."""
    path = disk / "filler"
    piece = b"\0" * (1 << 20)
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(piece[:size]):
                    pass
            except OSError:
                continue
    try:
        yield
    finally:
        path.unlink()


def written_config(folder: Path) -> Path:
    """A deployed server whose ``count`` writes its nonce into a ledger, on another disk."""
    script = ["-P", "-S", str(SUPPORT / "faulty_server.py"), "--ledger", str(folder / "ledger")]
    entry = {"command": sys.executable, "args": script, "isolation": "episode"}
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"counted": entry}}))
    return file


def asking(**source: Any) -> EpisodeRequest:
    return EpisodeRequest.model_validate({"source": source})


PURSE = asking(kind="environment", name="purse")
COUNTED = asking(kind="servers", names=["counted"], prompt="Count.")


async def readiness(url: str) -> tuple[int, str]:
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        answer = await client.get(f"{url}/readyz")
        return answer.status_code, answer.text


async def ready_again(url: str) -> None:
    for _ in range(100):
        if (await readiness(url))[0] == 200:
            return
        await anyio.sleep(0.1)
    pytest.fail((await readiness(url))[1])


async def statuses(control: GatewayClient, agents: Sequence[Agent]) -> list[str]:
    return [(await control.episode(agent.created.id)).status.value for agent in agents]


def assert_whole(home: Path, agents: Sequence[Agent]) -> None:
    """Every answer is recorded, once, as it was told."""
    for agent in agents:
        record = read_record(record_path(home / "records", agent.created.id))
        told = {c.call_id: c.result for c in record.finished_calls}
        assert told == agent.answers
        assert len(record.calls) == len(agent.answers)


async def test_a_full_disk_ends_nothing_and_all_goes_on_once_there_is_room(
    start_serve: StartServe, counter_bundle: Path, small_disk: Path, tmp_path: Path
) -> None:
    home = small_disk / "home"
    config = written_config(tmp_path)
    options = ("--environments", str(counter_bundle), "--mcp-config", str(config))
    running = start_serve(home, *options)
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 8 + [COUNTED] * 8)
        agents = [
            Agent(created, control.http, "add" if place < 8 else "count")
            for place, created in enumerate(made)
        ]
        await play_all(agents, 5)
        async with anyio.create_task_group() as group:
            group.start_soon(play_all, agents, 40)
            await anyio.sleep(0.2)
            with filled(small_disk):
                await until(lambda: all(agent.refusals for agent in agents))
                assert await statuses(control, agents) == ["open"] * 16
                status, text = await readiness(running.url)
                assert status == 503
                assert "No space left" in text
                async with httpx2.AsyncClient(trust_env=False) as client:
                    answer = await client.post(
                        f"{running.url}/v1/episodes",
                        json=PURSE.model_dump(mode="json"),
                        headers={"Authorization": f"Bearer {running.key}"},
                    )
                assert (answer.status_code, answer.json()["error"]["code"]) == (503, NO_SPACE)
                assert int(answer.headers["retry-after"]) > 0
        assert_whole(home, agents)
        for agent in agents[:8]:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 46)]
        executed = Counter((tmp_path / "ledger").read_text().split())
        assert executed == Counter([i for agent in agents[8:] for i in agent.answers])
        await ready_again(running.url)
        assert await statuses(control, agents) == ["open"] * 16


async def test_a_gateway_that_is_killed_on_a_full_disk_goes_on_where_it_was(
    start_serve: StartServe, counter_bundle: Path, small_disk: Path
) -> None:
    home = small_disk / "home"
    options = ("--environments", str(counter_bundle))
    running = start_serve(home, *options)
    port = running.url.rpartition(":")[2]
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 16)
        agents = [Agent(created, control.http, "add") for created in made]
        await play_all(agents, 5)
        await control.close_episode(made[0].id)
        async with anyio.create_task_group() as group:
            group.start_soon(play_all, agents[1:], 40)
            with filled(small_disk):
                await until(lambda: all(agent.refusals for agent in agents[1:]))
                before = await statuses(control, agents)
                running.process.send_signal(signal.SIGKILL)
                running.process.wait(20)
                restarted = start_serve(home, *options, "--port", port)
                assert restarted.url == running.url
                assert await statuses(control, agents) == before
                assert before == [EpisodeStatus.CLOSED.value, *["open"] * 15]
        assert_whole(home, agents)
        for agent in agents[1:]:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 46)]


async def test_episodes_are_refused_before_the_files_of_others_run_out(
    start_serve: StartServe, counter_bundle: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    options = ("--environments", str(counter_bundle))
    running = start_serve(home, *options, launcher=("sh", "-c", 'ulimit -n 256; exec "$@"', "sh"))
    async with GatewayClient(running.url, running.key) as control:
        made: list[EpisodeCreated] = []
        codes: list[str] = []
        with anyio.move_on_after(20):  # each refusal is waited for by the client for a while
            while len(made) < 200 and not codes:
                try:
                    made.append(await control.create_episode(PURSE))
                except RefusedError as refusal:
                    codes.append(refusal.code)
        assert codes == [NO_FILES]
        assert len(made) >= 40
        agents = [Agent(created, control.http, "add") for created in made]
        await play_all(agents, 3)
        for agent in agents:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 4)]
            assert agent.refusals == 0
        assert await statuses(control, agents) == ["open"] * len(agents)
        person = EpisodeClient(running.server_url("purse"), control.http)
        assert (await person.call("add", {"amount": 2})).text == '{"total": 2}'
        await control.close_episodes([made[0].id, made[1].id])  # the person's state took one place
        await control.create_episode(PURSE)
        assert_whole(home, agents)


async def flood(url: str, num: int) -> list[socket.socket]:
    """Open connections one after the other, and ask for nothing."""
    host, port = url.removeprefix("http://").split(":")

    def connect() -> list[socket.socket]:
        return [socket.create_connection((host, int(port)), 10) for _ in range(num)]

    return await anyio.to_thread.run_sync(connect)


async def test_a_flood_of_connections_takes_no_files_from_calls_and_the_control_plane(
    start_serve: StartServe, counter_bundle: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    options = ("--environments", str(counter_bundle))
    running = start_serve(home, *options, launcher=("sh", "-c", 'ulimit -n 256; exec "$@"', "sh"))
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 20)
        agents = [Agent(created, control.http, "add") for created in made]
        connections = await flood(running.url, 300)
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                await play_all(agents, 3)
                async with GatewayClient(running.url, running.key) as newcomer:
                    assert await statuses(newcomer, agents) == ["open"] * 20
                    await newcomer.close_episode((await newcomer.create_episode(PURSE)).id)
                    person = EpisodeClient(running.server_url("purse"), newcomer.http)
                    assert (await person.call("add", {"amount": 2})).text == '{"total": 2}'
            assert len(os.listdir(f"/proc/{running.process.pid}/fd")) < 200
        finally:
            for connection in connections:
                connection.close()
        await play_all(agents, 3)
        assert_whole(home, agents)
        for agent in agents:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 7)]
            assert agent.refusals == 0
    assert "Too many open files" not in running.log.read_text()


BIG_SERVER = """
import json, sys
results = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "big", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "big", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "x" * 7_000_000}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        known = results.get(message["method"])
        reply |= {"result": known} if known else {"error": {"code": -32601, "message": "no"}}
        print(json.dumps(reply), flush=True)
"""


async def test_large_results_wait_for_memory_and_end_neither_an_episode_nor_the_gateway(
    start_serve: StartServe, tmp_path: Path
) -> None:
    script = tmp_path / "big.py"
    script.write_text(BIG_SERVER)
    entry = {"command": sys.executable, "args": ["-S", str(script)], "isolation": "shared"}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"big": entry}}))
    limited = ("sh", "-c", 'ulimit -v 400000; exec "$@"', "sh")
    running = start_serve(tmp_path / "home", "--mcp-config", str(config), launcher=limited)
    body = {"source": {"kind": "servers", "names": ["big"]}, "limits": {"result_bytes": 16 << 20}}
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([EpisodeRequest.model_validate(body)] * 32)
        agents = [Agent(created, control.http, "big") for created in made]
        await play_all(agents, 1)
        assert await statuses(control, agents) == ["open"] * 32
        for agent in agents:
            said = next(iter(agent.answers.values()))
            assert len(said.text) == 7_000_000 or "no memory to show" in said.text
        assert any(not answer.is_error for agent in agents for answer in agent.answers.values())


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "workers"])
async def test_a_log_that_nobody_reads_holds_up_nothing(
    start_serve: StartServe, counter_bundle: Path, tmp_path: Path, options: Sequence[str]
) -> None:
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    unread = ("sh", "-c", f'exec 3<>{pipe}; exec "$@" 2>{pipe}', "sh")
    options = ("--environments", str(counter_bundle), "--verbose", *options)
    running = start_serve(tmp_path / "home", *options, launcher=unread)
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 8)
        agents = [Agent(created, control.http, "add") for created in made]
        await play_all(agents, 200)  # each is a line, and the pipe takes some 600 of them
        assert await statuses(control, agents) == ["open"] * 8
        assert_whole(tmp_path / "home", agents)
        assert sum(agent.refusals for agent in agents) == 0
    assert running.stop() == 0


SLOW_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>

/* Writes of the gateway into the folder SLOW_DISK take seconds as long as the file SLOW_NOW is there. */
static pid_t own;

__attribute__((constructor)) static void look(void) {
    char line[4096] = {0};
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t size = read(file, line, sizeof line - 1);
    close(file);
    for (ssize_t i = 0; i < size; i++)
        if (!line[i]) line[i] = ' ';
    own = strstr(line, " serve ") ? getpid() : 0;
}

ssize_t write(int file, const void *data, size_t size) {
    static ssize_t (*really)(int, const void *, size_t);
    if (!really) really = dlsym(RTLD_NEXT, "write");
    if (own && own == getpid() && !access(getenv("SLOW_NOW"), F_OK)) {
        char link[64], path[4096] = {0};
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        const char *disk = getenv("SLOW_DISK");
        if (readlink(link, path, sizeof path - 1) > 0 && !strncmp(path, disk, strlen(disk)))
            sleep(2);
    }
    return really(file, data, size);
}
"""


@pytest.fixture
def slow_disk(tmp_path: Path) -> Mapping[str, str]:
    """Variables of a program whose writes into the home are slow while a file is there."""
    source, library = tmp_path / "slow.c", tmp_path / "slow.so"
    source.write_text(SLOW_DISK)
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a slow disk is made by a C compiler, on Linux")
    subprocess.run((compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"), check=True)
    return {
        "LD_PRELOAD": str(library),
        "SLOW_DISK": str(tmp_path / "home"),
        "SLOW_NOW": str(tmp_path / "slow"),
    }


async def test_a_slow_disk_makes_nobody_wait_after_the_write_that_tells(
    start_serve: StartServe, counter_bundle: Path, slow_disk: Mapping[str, str], tmp_path: Path
) -> None:
    home, slow = tmp_path / "home", anyio.Path(slow_disk["SLOW_NOW"])
    options = ("--environments", str(counter_bundle), "--mcp-config", str(written_config(tmp_path)))
    launcher = ("env", *(f"{name}={value}" for name, value in slow_disk.items()))
    running = start_serve(home, *options, launcher=launcher)
    port = running.url.rpartition(":")[2]
    waits: list[float] = []
    said: list[str] = []
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 8 + [COUNTED] * 8)
        agents = [
            Agent(created, control.http, "add" if place < 8 else "count")
            for place, created in enumerate(made)
        ]
        await play_all(agents, 3)
        async with anyio.create_task_group() as group:
            group.start_soon(play_all, agents, 10)
            await slow.touch()
            await until(lambda: all(agent.refusals for agent in agents), 30)
            for _ in range(20):
                began = time.perf_counter()
                status, text = await readiness(running.url)
                waits.append(time.perf_counter() - began)
                assert status == 503
                said.append(text)
                assert await statuses(control, agents) == ["open"] * 16
            await slow.unlink()
        assert sorted(waits)[-2] < 1.0  # less than a write takes: no other one was waited for
        assert all("the disk is slow: a write took 2." in text for text in said)
        assert_whole(home, agents)
        for agent in agents[:8]:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 14)]
        executed = Counter((tmp_path / "ledger").read_text().split())
        assert executed == Counter([i for agent in agents[8:] for i in agent.answers])
        await ready_again(running.url)
        running.stop(signal.SIGKILL)
        start_serve(home, *options, "--port", port)
        assert await statuses(control, agents) == ["open"] * 16


def processes_below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


async def test_stopped_processes_of_tools_are_named_and_other_episodes_go_on(
    start_serve: StartServe, counter_bundle: Path, tmp_path: Path
) -> None:
    options = ("--environments", str(counter_bundle), "--mcp-config", str(written_config(tmp_path)))
    running = start_serve(tmp_path / "home", *options)
    limited = COUNTED.model_copy(
        update={"limits": COUNTED.limits.model_copy(update={"call_seconds": 3})}
    )
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 3)
        agents = [Agent(created, control.http, "add") for created in made]
        known = {p.pid for p in processes_below(running.process.pid)}
        await play_all(agents[:1], 1)
        new = [p for p in processes_below(running.process.pid) if p.pid not in known]
        [session] = [p for p in new if not any(q.ppid() == p.pid for q in new)]
        [template] = [p for p in new if p.pid == session.ppid()]
        await play_all(agents[1:2], 1)
        session.suspend()
        with anyio.fail_after(PATIENCE_SECONDS):
            stuck = EpisodeClient(made[0].mcp_url, control.http)
            stopped = await stuck.call("add", {"amount": 1})
            assert stopped.is_error
            assert "was stopped" in stopped.text
            assert (await stuck.call("add", {"amount": 1})).text == '{"total": 2}'
            template.suspend()
            async with anyio.create_task_group() as group:
                group.start_soon(play_all, agents[2:], 2)  # needs a session of the stopped one
                await play_all(agents[1:2], 2)
        assert await statuses(control, agents) == ["open"] * 3
        for agent in agents[1:]:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 1 + len(agent.answers))]

        first, second = await control.create_episodes([limited] * 2)
        before = {p.pid for p in processes_below(running.process.pid)}
        counting = EpisodeClient(first.mcp_url, control.http)
        assert (await counting.call("count", {"nonce": "a"})).text == "a"
        [server] = [p for p in processes_below(running.process.pid) if p.pid not in before]
        server.suspend()
        with anyio.fail_after(20):
            answer = await counting.call("count", {"nonce": "b"}, call_id="b")
            assert answer.is_error
            assert "no answer from counted within 3 s" in answer.text
            other = EpisodeClient(second.mcp_url, control.http)
            assert (await other.call("count", {"nonce": "c"})).text == "c"
        told = [(await control.episode(e.id)).status.value for e in (first, second)]
        assert told == ["failed", "open"]
        assert Counter((tmp_path / "ledger").read_text().split())["b"] <= 1


async def answer_to(running: ServedHome, path: str) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as client:
        headers = {"Authorization": f"Bearer {running.key}"}
        return await client.get(f"{running.url}{path}", headers=headers)


async def test_a_stopped_worker_is_named_and_waited_for_by_nobody_who_does_not_need_it(
    start_serve: StartServe, counter_bundle: Path, tmp_path: Path
) -> None:
    options = ("--environments", str(counter_bundle), "--workers", "2")
    running = start_serve(tmp_path / "home", *options)
    async with GatewayClient(running.url, running.key) as control:
        made = await control.create_episodes([PURSE] * 8)
        agents = [Agent(created, control.http, "add") for created in made]
        here = [a for a in agents if a.created.mcp_url.startswith(running.url)]
        there = [a for a in agents if a not in here]
        assert len(here) == len(there) == 4
        await play_all(agents, 3)
        stopped = (await control.workers())[1]
        assert stopped.pid is not None
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(play_all, there, 3)
                with anyio.fail_after(PATIENCE_SECONDS):
                    status, text = await readiness(running.url)
                    assert (status, "worker 1 gave no answer within 2 s" in text) == (503, True)
                    answer = await answer_to(running, "/v1/episodes")
                    assert answer.status_code == 503
                    assert "worker 1 gave no answer" in answer.json()["error"]["message"]
                    assert int(answer.headers["retry-after"]) > 0
                    new = await control.create_episodes([PURSE] * 3)
                    here += [Agent(created, control.http, "add") for created in new]
                    await play_all(here, 3)
                    assert not any(len(agent.answers) > 3 for agent in there)
                    os.kill(stopped.pid, signal.SIGCONT)
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        await ready_again(running.url)
        agents = here + there
        assert await statuses(control, agents) == ["open"] * 11
        assert_whole(tmp_path / "home", agents)
        for agent in agents:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 1 + len(agent.answers))]
        port = running.url.rpartition(":")[2]
        workers = processes_below(running.process.pid)
        running.stop(signal.SIGKILL)
        _, left = psutil.wait_procs(workers, timeout=PATIENCE_SECONDS)
        assert left == []  # as long as one is there, the home is claimed
        start_serve(tmp_path / "home", *options, "--port", port)
        await ready_again(running.url)
        assert await statuses(control, agents) == ["open"] * 11
        await play_all(agents, 1)
        assert_whole(tmp_path / "home", agents)
        for agent in agents:
            assert agent.says() == [f'{{"total": {n}}}' for n in range(1, 1 + len(agent.answers))]
