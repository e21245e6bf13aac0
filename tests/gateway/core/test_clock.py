"""A wall clock that is set changes nothing for episodes, neither in a gateway's life nor in the next one."""

import logging
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from astra_mcp.call_record import EpisodeStatus
from gateway.api.wire import EpisodeRequest
from gateway.episodes.archive import find_record, status_of, time_at
from gateway.episodes.record import read_record, record_path
from gateway.machine.clock import steady_clock

REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "coins"}})
TWO_HOURS = 7200.0


def set_wall_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set it forward or back, as a person or a time server does."""
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() + seconds)


@pytest.mark.parametrize("step", [TWO_HOURS, -TWO_HOURS], ids=["forward", "back"])
async def test_a_wall_clock_that_is_set_ends_no_episode_and_keeps_the_order_of_the_record(
    life: Any, home: Path, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {})
        set_wall_clock(monkeypatch, step)
        await first.sweep()
        assert (await first.state(episode.id)).status is EpisodeStatus.OPEN
        await episode.call("add", {})
    assert status_of(find_record(home, episode.id), time_at(home)) is EpisodeStatus.OPEN
    async with life() as second:
        again = await second.get(episode.id)
        assert again.state().status is EpisodeStatus.OPEN
        assert (await again.call("read", {})).text == "total 2 coins"
    path = record_path(home / "records", episode.id)
    times = [orjson.loads(line)["at"] for line in path.read_bytes().splitlines()]
    assert times == sorted(times)
    spread = read_record(path).last_at - read_record(path).opened.at
    assert spread.total_seconds() < TWO_HOURS / 2


def test_time_that_passes_is_counted_over_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = [1000.0]
    first = steady_clock(tmp_path, ticks=lambda: ticks[0])
    before = first()
    ticks[0] += 90.0
    set_wall_clock(monkeypatch, TWO_HOURS)
    assert first() - before == pytest.approx(90.0)
    assert steady_clock(tmp_path, ticks=lambda: ticks[0])() - before == pytest.approx(90.0)


def test_a_machine_that_was_started_again_reads_its_wall_clock(tmp_path: Path) -> None:
    (tmp_path / "clock.json").write_text('{"boot": "another start", "offset": 5.0}')
    assert steady_clock(tmp_path)() == pytest.approx(time.time(), abs=60)


@pytest.mark.parametrize("text", ["", "[]", '{"boot": 1}', '{"boot": "x", "offset": "y"}'])
def test_a_spoiled_file_is_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "clock.json").write_text(text)
    now = steady_clock(tmp_path)()
    assert steady_clock(tmp_path)() == pytest.approx(now, abs=60)
    assert [path.name for path in tmp_path.iterdir()] == ["clock.json"]


def test_a_start_says_that_the_wall_clock_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    steady_clock(tmp_path)
    set_wall_clock(monkeypatch, TWO_HOURS)
    with caplog.at_level(logging.WARNING):
        steady_clock(tmp_path, keep=False)
        assert not caplog.records
        steady_clock(tmp_path)
    assert "was set by 7200 s" in caplog.text


def test_who_only_looks_at_records_writes_nothing(tmp_path: Path) -> None:
    steady_clock(tmp_path, keep=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("offset", [1e308, -1e12, True, "soon", None])
def test_a_file_that_says_no_time_of_this_age_says_nothing(tmp_path: Path, offset: object) -> None:
    steady_clock(tmp_path)
    file = tmp_path / "clock.json"
    file.write_bytes(orjson.dumps(orjson.loads(file.read_bytes()) | {"offset": offset}))
    assert steady_clock(tmp_path)() == pytest.approx(time.time(), abs=60)
