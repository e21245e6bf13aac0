"""What survives the gateway: open episodes, their state, their records, interactive states."""

import gc
import resource
import threading
import weakref
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.call_record import EpisodeId, EpisodeStatus
from astra_mcp.concurrency import Pace
from astra_mcp.errors import (
    CapacityError,
    EpisodeEndedError,
    GatewayError,
    NoSpaceError,
    RecordError,
    UnknownNameError,
    UpstreamError,
)
from gateway.api.wire import EpisodeLimits, EpisodeRequest
from gateway.episodes.archive import RecordReader, find_record, replay_record
from gateway.episodes.episode import Episode
from gateway.episodes.record import Record, RecordFile, read_record, record_path
from gateway.machine.room import DiskRoom

REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "coins"}})


def drop(event: bytes, *, of: Path, last: int) -> None:
    """Take events of a kind out of the last lines, as a kill before they were written leaves a record."""
    lines = of.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines[-last:] if event not in line]
    assert len(kept) < last
    of.write_bytes(b"".join(lines[:-last] + kept))


async def test_an_open_episode_goes_on_in_the_next_life_with_the_same_state(life: Any) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {"amount": 3}, call_id="a", seq=0)
        await episode.call("add", {"do": "kill"}, call_id="b", seq=1)
    async with life() as second:
        restored = await second.get(episode.id)
        assert restored.state().solved == (1,)
        assert (await restored.call("add", {"amount": 3}, call_id="a")).text == "total 3 coins"
        assert (await restored.call("add", {"amount": 2}, seq=2)).text == "total 5 coins"
        assert restored.state().calls == 3


async def test_a_call_that_was_only_started_is_executed_once_when_it_is_retried(
    life: Any, home: Path, server: Any
) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {"amount": 3}, call_id="a")
        await episode.call("add", {"amount": 2}, call_id="b")
    drop(b"call_finished", of=record_path(home / "records", episode.id), last=1)
    server.executed.clear()
    async with life() as second:
        restored = await second.get(episode.id)
        assert restored.state().calls == 2
        answer = await restored.call("add", {"amount": 2}, call_id="b")
        again = await restored.call("add", {"amount": 2}, call_id="b")
        assert answer.text == again.text == "total 5 coins"
        assert server.executed == [("add", {"amount": 2})]
        assert restored.state().calls == 2


async def test_a_call_that_was_executed_late_is_replayed_late(
    life: Any, running: Any, home: Path
) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {"amount": 1}, call_id="a")
        path = record_path(home / "records", episode.id)
        async with running(episode, call_id="b"):
            as_a_kill_leaves_it = path.read_bytes()
    path.write_bytes(as_a_kill_leaves_it)
    async with life() as second:
        restored = await second.get(episode.id)
        assert (await restored.call("add", {"times": 10, "amount": 0})).text == "total 10 coins"
        late = await restored.call("add", {"do": "wait", "amount": 1}, call_id="b")
        assert late.text == "total 11 coins"
    async with life() as third:
        assert (await (await third.get(episode.id)).call("read", {})).text == "total 11 coins"


async def test_numbered_calls_that_were_only_started_are_executed_in_their_order(
    life: Any, home: Path, server: Any
) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {"amount": 1}, call_id="a", seq=0)
        await episode.call("add", {"amount": 2}, call_id="b", seq=1)
    drop(b"call_finished", of=record_path(home / "records", episode.id), last=3)
    server.executed.clear()
    async with life() as second:
        restored = await second.get(episode.id)
        async with anyio.create_task_group() as group:
            for seq, call_id, amount in ((2, "c", 3), (1, "b", 2), (0, "a", 1)):
                call = partial(restored.call, seq=seq, call_id=call_id)
                group.start_soon(call, "add", {"amount": amount})
                await anyio.wait_all_tasks_blocked()
    assert [arguments["amount"] for _, arguments in server.executed] == [1, 2, 3]


async def test_a_call_that_the_limit_refused_is_refused_in_the_next_life_too(
    life: Any, home: Path, server: Any
) -> None:
    request = REQUEST.model_copy(update={"limits": EpisodeLimits(calls=1)})
    async with life() as first:
        episode = await first.create(request)
        await episode.call("add", {}, call_id="a")
        await episode.call("add", {}, call_id="b")
    path = record_path(home / "records", episode.id)
    lines = path.read_bytes().splitlines(keepends=True)
    assert b"call_started" in lines[3]
    path.write_bytes(b"".join(lines[:4]))
    async with life() as second:
        refused = await (await second.get(episode.id)).call("add", {}, call_id="b")
        assert "limit of 1" in refused.text
        assert (await second.state(episode.id)).calls == 1
    assert len(server.executed) == 1


@pytest.mark.parametrize(
    ("do", "status", "recall"),
    [("fail", EpisodeStatus.FAILED, None), ("exhaust", EpisodeStatus.LIMIT, 0.5)],
)
async def test_an_episode_whose_last_result_was_recorded_has_ended_as_that_says(
    life: Any, home: Path, do: str, status: EpisodeStatus, recall: float | None
) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {"amount": 3})
        await episode.call("add", {"do": do})
    drop(b"episode_ended", of=record_path(home / "records", episode.id), last=1)
    async with life() as second:
        state = await second.state(episode.id)
        assert (state.status, state.reward and state.reward.recall) == (status, recall)


@pytest.mark.parametrize("spoiled", [b"", b"{}\n"], ids=["empty", "foreign"])
async def test_a_record_that_cannot_be_read_harms_nobody_else(
    life: Any, home: Path, spoiled: bytes
) -> None:
    async with life() as first:
        state = await first.interactive("coins", "ann", ["coins"])
        episode = await first.create(REQUEST)
    record_path(home / "records", state.id).write_bytes(spoiled)
    async with life() as second:
        fresh = await second.interactive("coins", "ann", ["coins"])
        assert (await fresh.call("read", {})).text == "total 0 coins"
        assert fresh.id != state.id
        with pytest.raises(RecordError, match=state.id[:6]) as caught:
            await second.get(state.id)
        assert state.id not in str(caught.value)
    assert find_record(home, episode.id[:8]).opened.id == episode.id


async def test_an_episode_that_cannot_be_recorded_leaves_nothing_behind(
    life: Any, home: Path
) -> None:
    async with life() as episodes:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            with pytest.raises(NoSpaceError, match="free disk space"):
                await episodes.create(REQUEST)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert list((home / "records").iterdir()) == []
        assert episodes.count_open() == 0


async def test_an_episode_that_is_being_closed_takes_no_further_call(
    life: Any, running: Any
) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        async with running(episode, amount=3) as group:
            group.start_soon(episodes.close, episode.id)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(EpisodeEndedError, match="being closed"):
                await episode.call("add", {})
        assert (await episodes.state(episode.id)).calls == 1


async def test_a_closed_episode_can_be_read_and_closed_again_in_the_next_life(life: Any) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        await episode.call("add", {"amount": 3})
        closed = await first.close(episode.id)
        assert first.count_open() == 0
    async with life() as second:
        assert (await second.state(episode.id)) == closed
        assert await second.close(episode.id) == closed
        assert closed.status is EpisodeStatus.CLOSED


async def test_closing_waits_for_the_running_call(life: Any, running: Any, server: Any) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        async with running(episode, amount=3) as group:
            group.start_soon(episodes.close, episode.id)
            await anyio.wait_all_tasks_blocked()
            assert episode.is_open
        assert (await episodes.state(episode.id)).solved == (1,)
        assert server.sessions[0].is_closed


async def test_a_changed_environment_fails_its_open_episodes(life: Any, server: Any) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
    server.version = "v2"
    async with life() as second:
        state = await second.state(episode.id)
        assert state.status is EpisodeStatus.FAILED
        assert state.failure is not None
        assert "coins changed" in state.failure.message


@pytest.mark.parametrize("wrong", ["", "x", "../../etc/passwd", "0" * 32, "g" * 32])
async def test_an_unknown_id_is_refused_without_repeating_it(life: Any, wrong: str) -> None:
    async with life() as episodes:
        with pytest.raises(UnknownNameError, match="no such episode") as caught:
            await episodes.get(wrong)
        assert not wrong or wrong not in str(caught.value)


async def test_interactive_states_belong_to_their_callers_and_survive_a_restart(life: Any) -> None:
    async with life() as first:
        ann = await first.interactive("coins", "ann", ["coins"])
        bob = await first.interactive("coins", "bob", ["coins"])
        await ann.call("add", {"amount": 3})
        assert (await bob.call("read", {})).text == "total 0 coins"
        assert await first.interactive("coins", "ann", ["coins"]) is ann
        everything = await first.interactive("*", "ann", ["coins"])
        assert [t.name for t in everything.tools] == ["coins__add", "coins__read"]
    async with life() as second:
        ann = await second.interactive("coins", "ann", ["coins"])
        assert (await ann.call("read", {})).text == "total 3 coins"


async def test_an_expired_interactive_state_begins_anew(life: Any) -> None:
    time = [1000.0]
    async with life(now=lambda: time[0]) as episodes:
        old = await episodes.interactive("coins", "ann", ["coins"])
        await old.call("add", {"amount": 3})
        time[0] += 2 * 86400
        new = await episodes.interactive("coins", "ann", ["coins"])
        assert new.id != old.id
        assert (await new.call("read", {})).text == "total 0 coins"


async def test_an_interactive_state_that_its_server_gives_up_begins_anew(life: Any) -> None:
    async with life() as episodes:
        old = await episodes.interactive("coins", "ann", ["coins"])
        await old.call("add", {"amount": 3})
        for said in ("it was stopped", "This state has ended"):
            text = (await old.call("add", {"do": "exhaust"})).text
            assert text.startswith(said)
            assert text.endswith("the next call begins a new one.")
        new = await episodes.interactive("coins", "ann", ["coins"])
        assert (await new.call("read", {})).text == "total 0 coins"


async def test_what_nobody_asks_for_gives_its_processes_back_and_returns_on_demand(
    life: Any, server: Any
) -> None:
    time = [1000.0]
    async with life(now=lambda: time[0]) as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 3})
        time[0] += 1000.0
        await episodes.sweep()
        assert episodes.count_open() == 0
        assert server.sessions[0].is_closed
        again = await episodes.get(episode.id)
        assert (await again.call("read", {})).text == "total 3 coins"


async def test_what_nobody_asks_for_again_ends_in_its_record(life: Any, home: Path) -> None:
    time = [1000.0]
    async with life(now=lambda: time[0]) as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 3})
        for _ in range(3):
            time[0] += 1000.0
            await episodes.sweep()
    ended = find_record(home, episode.id).ended
    assert ended is not None
    assert ended.status is EpisodeStatus.EXPIRED
    assert ended.reward is not None


async def test_an_endpoint_that_shows_other_servers_begins_a_new_state(life: Any) -> None:
    async with life() as episodes:
        old = await episodes.interactive("*", "ann", ["coins"])
        await old.call("coins__add", {"amount": 3})
        new = await episodes.interactive("*", "ann", ["coins", "notes"])
        assert (await new.call("notes__read", {})).text == "total 0 coins"
        assert await episodes.interactive("*", "ann", ["coins", "notes"]) is new
        assert not old.is_open


async def test_interactive_states_leave_room_for_episodes(life: Any) -> None:
    async with life(max_open=1) as episodes:
        for caller in ("ann", "bob", "eve"):
            await episodes.interactive("coins", caller, ["coins"])
        await episodes.create(REQUEST)
        with pytest.raises(CapacityError, match="1 episodes are open"):
            await episodes.create(REQUEST)


async def test_a_replay_of_a_record_gives_identical_results(
    life: Any, catalog: Any, home: Path
) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 3})
        await episode.call("add", {"do": "kill"})
        await episode.call("read", {})
        await episodes.close(episode.id)
    replay = await replay_record(find_record(home, episode.id[:8]), catalog)
    assert (replay.compared, replay.skipped, replay.divergences) == (2, 1, ())


async def test_a_replay_measures_results_by_the_episodes_limit(
    life: Any, catalog: Any, home: Path
) -> None:
    request = REQUEST.model_copy(update={"limits": EpisodeLimits(result_bytes=1000)})
    async with life() as episodes:
        episode = await episodes.create(request)
        assert (await episode.call("add", {"do": "much"})).is_error
    replay = await replay_record(find_record(home, episode.id), catalog)
    assert (replay.compared, replay.divergences) == (1, ())


async def test_of_past_calls_those_are_told_apart_whose_results_were_too_large(
    life: Any, home: Path
) -> None:
    request = REQUEST.model_copy(update={"limits": EpisodeLimits(result_bytes=1000)})
    async with life() as episodes:
        episode = await episodes.create(request)
        for arguments in ({"do": "much"}, {"amount": 3}):
            await episode.call("add", arguments)
    (calls,) = read_record(record_path(home / "records", episode.id)).past.values()
    assert [call.is_cut for call in calls] == [True, False]


async def test_a_server_that_fails_in_a_replay_is_an_error_and_no_divergence(
    life: Any, catalog: Any, home: Path
) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 3})
    path = record_path(home / "records", episode.id)
    path.write_bytes(path.read_bytes().replace(b'{"amount":3}', b'{"do":"fail"}'))
    with pytest.raises(UpstreamError, match="call 0 of the replay failed at upstream"):
        await replay_record(read_record(path), catalog)


async def test_a_replay_names_the_call_that_diverges(life: Any, catalog: Any, home: Path) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 3})
    path = record_path(home / "records", episode.id)
    path.write_bytes(path.read_bytes().replace(b"total 3", b"total 4"))
    replay = await replay_record(read_record(path), catalog)
    assert [(d.n, d.replayed.text) for d in replay.divergences] == [(0, "total 3 coins")]


async def test_a_torn_last_line_is_cut_off_and_any_other_fault_is_named(
    life: Any, home: Path
) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 3}, call_id="a")
    path = record_path(home / "records", episode.id)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event": "call_sta')
    assert len(read_record(path).calls) == 1
    RecordFile(home / "records", EpisodeId(episode.id), DiskRoom(home / "reserve")).close()
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b"call_started", b"call_begun", 1))
    with pytest.raises(GatewayError, match="line 2 is not a record event"):
        read_record(path)


async def test_records_are_readable_by_their_owner_alone(life: Any, home: Path) -> None:
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
    assert record_path(home / "records", episode.id).stat().st_mode & 0o777 == 0o600
    assert (home / "records").stat().st_mode & 0o777 == 0o700


async def test_others_have_their_turn_while_a_record_is_read_and_it_is_read_once(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with life() as episodes:
        id = (await episodes.create(REQUEST)).id
    is_read = threading.Event()
    read: list[Path] = []

    def read_slowly(path: Path, pace: Pace) -> Record:
        read.append(path)
        assert is_read.wait(2), "nobody else had a turn"
        return read_record(path, pace)

    monkeypatch.setattr("gateway.episodes.live.read_record", read_slowly)
    found: list[Episode] = []
    async with life() as episodes:

        async def find() -> None:
            found.append(await episodes.get(id))

        async with anyio.create_task_group() as group:
            group.start_soon(find)
            group.start_soon(find)
            await anyio.wait_all_tasks_blocked()
            is_read.set()
        assert found[0] is found[1]
        assert len(read) == 1


async def test_whoever_goes_away_while_an_episode_is_restored_leaves_it_to_the_next(
    life: Any,
) -> None:
    async with life() as episodes:
        id = (await episodes.create(REQUEST)).id
    async with life() as episodes:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await episodes.get(id)
        restored = await episodes.get(id)
        assert (await restored.call("add", {"amount": 3})).text == "total 3 coins"


async def test_a_record_that_is_taken_over_in_slices_is_taken_over_whole(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_mcp.concurrency._TURN_SECONDS", 0.0)
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        for number in range(5):
            await episode.call("add", {"amount": 1}, call_id=str(number))
    async with life() as episodes:
        restored = await episodes.get(episode.id)
        assert restored.state().calls == 5
        assert all(restored.knows(str(number)) for number in range(5))
        assert (await restored.call("read", {})).text == "total 5 coins"


@pytest.mark.parametrize("num_torn", [0, 1, 3, 100_000])
def test_a_torn_last_line_is_cut_off_however_long_it_is(home: Path, num_torn: int) -> None:
    (home / "records").mkdir(parents=True)
    path = record_path(home / "records", "a" * 32)
    for whole in (b"", b"{}\n", b"{}\n" * 50_000):
        path.write_bytes(whole + b"x" * num_torn)
        file = RecordFile(home / "records", EpisodeId("a" * 32), DiskRoom(home / "reserve"))
        file.close()
        assert (file.size, path.read_bytes()) == (len(whole), whole)


async def test_long_records_are_read_one_at_a_time_and_without_looks_for_garbage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.episodes.archive._LONG_BYTES", 10)
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_bytes(b"x")
    long.write_bytes(b"x" * 11)
    seen: list[tuple[str, bool]] = []
    may_end = threading.Event()

    def read(path: Path, _: Pace) -> None:
        seen.append((path.name, gc.isenabled()))
        if path == long:
            assert may_end.wait(5)

    reader, was_on = RecordReader(), gc.isenabled()
    gc.enable()
    try:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(reader.read, long, read)
            await anyio.wait_all_tasks_blocked()
            assert seen == [("long", False)]
            await reader.read(short, read)
            may_end.set()
        assert gc.isenabled()
    finally:
        gc.unfreeze()
        if not was_on:
            gc.disable()
    assert [name for name, _ in seen] == ["long", "short", "long"]


async def test_an_episode_that_is_over_leaves_nothing_to_the_collector(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.episodes.held._MAX_ENDED", 0)
    async with life() as episodes:
        episode = await episodes.create(REQUEST)
        await episode.call("add", {"amount": 1})
        id, is_there = episode.id, weakref.ref(episode)
        del episode
        was_on = gc.isenabled()
        gc.disable()
        try:
            await episodes.close(id)
            assert is_there() is None
        finally:
            if was_on:
                gc.enable()
