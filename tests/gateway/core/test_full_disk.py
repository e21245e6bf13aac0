"""A disk that takes no more: what begins is refused for now, nothing ends, all goes on once there is room."""

import resource
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import NoSpaceError
from gateway.api.wire import EpisodeRequest
from gateway.episodes.episode import Episode
from gateway.episodes.record import read_record, record_path
from gateway.machine.room import DiskRoom

REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "coins"}})


@pytest.fixture(autouse=True)
def looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be looked at whenever it matters."""
    monkeypatch.setattr("gateway.machine.room._LOOK_AGAIN_SECONDS", 0.0)


@pytest.fixture
async def episode(life: Any) -> AsyncIterator[Episode]:
    async with life() as episodes:
        yield await episodes.create(REQUEST)


@contextmanager
def room_left_on_disk(path: Path, size: int) -> Generator[None]:
    """Let the kernel refuse to let the file grow by more than so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [40, 280], ids=["at-its-start", "at-its-finish"])
async def test_a_call_that_a_full_disk_does_not_take_is_answered_once_there_is_room(
    episode: Episode, home: Path, room: int, server: Any
) -> None:
    await episode.call("add", {})
    path = record_path(home / "records", episode.id)
    before = read_record(path)
    with room_left_on_disk(path, room):
        for _ in range(2):
            with pytest.raises(NoSpaceError, match="free disk space"):
                await episode.call("add", {}, call_id="again")
        assert path.read_bytes().endswith(b"}\n")
        assert read_record(path).finished_calls == before.finished_calls
        assert episode.state().status is EpisodeStatus.OPEN
    assert (await episode.call("add", {}, call_id="again")).text == "total 2 coins"
    assert (await episode.call("add", {})).text == "total 3 coins"
    assert len(server.executed) == 3
    assert [c.call_id for c in read_record(path).finished_calls][1] == "again"
    assert episode.state().calls == 3


async def test_what_a_full_disk_held_back_is_recorded_before_the_next_call_of_its_server(
    episode: Episode, home: Path
) -> None:
    path = record_path(home / "records", episode.id)
    with room_left_on_disk(path, 280), pytest.raises(NoSpaceError):
        await episode.call("add", {}, call_id="held")
    await episode.call("add", {}, call_id="next")
    finished = read_record(path).finished_calls
    assert [c.call_id for c in finished if c.shown == "add"] == ["held", "next"]
    assert [c.result.text for c in finished if c.shown == "add"] == [
        "total 1 coins",
        "total 2 coins",
    ]


async def test_an_episode_that_a_full_disk_does_not_let_close_stays_open(
    life: Any, home: Path
) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        path = record_path(home / "records", episode.id)
        with room_left_on_disk(path, 20):
            assert (await episodes.state(episode.id)).status is EpisodeStatus.OPEN
            with pytest.raises(NoSpaceError):
                await episodes.close(episode.id)
            assert episodes.missing()
            assert (await episodes.state(episode.id)).status is EpisodeStatus.OPEN
        assert (await episodes.close(episode.id)).status is EpisodeStatus.CLOSED
    assert read_record(path).ended is not None


def test_a_reserve_that_an_earlier_process_left_is_kept_on_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "reserve-0"
    DiskRoom(path)
    size = path.stat().st_size
    with room_left_on_disk(path, 0):
        room = DiskRoom(path)
        assert path.stat().st_size == size
        assert room.missing()
        assert room.give("no space")


async def test_nothing_is_written_to_a_slow_disk_until_a_thread_finds_it_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_quick = threading.Event()

    def wait_until_quick(_: DiskRoom) -> None:
        is_quick.wait(20)

    monkeypatch.setattr(DiskRoom, "_try", wait_until_quick)
    room = DiskRoom(tmp_path / "reserve")
    room.require()
    room.note_slow(2.04)
    for refused in (room.require, room.require_speed):
        with pytest.raises(NoSpaceError, match=r"the disk is slow: a write took 2\.0 s"):
            refused()
    assert "the disk is slow" in room.missing()[0]
    is_quick.set()
    with anyio.fail_after(20):
        while room.missing():  # noqa: ASYNC110 - the thread tells nobody
            await anyio.sleep(0.001)
    room.require()
