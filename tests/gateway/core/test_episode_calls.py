"""What an episode does with calls: order, limits, failures, exactly-once, reward."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import (
    CallFaultError,
    EpisodeEndedError,
    NoProcessesError,
    NotAvailableError,
    UnknownNameError,
)
from astra_mcp.types import Origin
from gateway.api.wire import EpisodeRequest
from gateway.episodes.archive import find_record
from gateway.episodes.calls import NO_ARGUMENTS
from gateway.episodes.episode import Episode
from gateway.episodes.live import Episodes
from gateway.episodes.record import read_record, record_path


@pytest.fixture
async def episodes(life: Any) -> AsyncIterator[Episodes]:
    async with life() as opened:
        yield opened


def a_request(**limits: Any) -> EpisodeRequest:
    return EpisodeRequest.model_validate(
        {"source": {"kind": "environment", "name": "coins"}, "limits": limits}
    )


@pytest.fixture
async def episode(episodes: Episodes) -> Episode:
    return await episodes.create(a_request())


async def test_a_result_that_holds_an_answer_of_its_tool_solves_the_sub_task(
    episode: Episode,
) -> None:
    await episode.call("add", {"amount": 3})
    assert episode.state().solved == (1,)
    await episode.call("add", {"amount": 2})
    assert episode.state().solved == (1,)
    await episode.call("read", {})
    state = episode.state()
    assert state.solved == (1, 2)
    assert state.reward is not None
    assert state.reward.recall == 1.0
    assert state.reward.precision == pytest.approx(2 / 3, abs=1e-5)


async def test_a_call_is_recorded_before_the_next_one_of_its_server_however_long_its_result_is_read(
    episode: Episode, home: Path
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(episode.call, "add", {"amount": 3, "do": "large"})
        await anyio.lowlevel.checkpoint()
        group.start_soon(episode.call, "read", NO_ARGUMENTS)
    lines = record_path(home / "records", episode.id).read_bytes().splitlines()
    finished = [n for line in lines if (n := json.loads(line))["event"] == "call_finished"]
    assert [(line["n"], line["solved"]) for line in finished] == [(0, [1]), (1, [])]


async def test_a_result_that_is_too_costly_to_read_solves_nothing_and_its_record_says_why(
    episode: Episode, home: Path
) -> None:
    await episode.call("add", {"amount": 3, "do": "grow"})
    [call] = find_record(home, episode.id).finished_calls
    assert call.solved == ()
    assert "4 times as long" in (call.unmatched or "")


async def test_an_unknown_tool_is_recorded_counted_and_refused_with_the_names(
    episode: Episode, home: Path
) -> None:
    with pytest.raises(UnknownNameError, match="add, read"):
        await episode.call("steal", {})
    assert episode.state().calls == 1
    call = find_record(home, episode.id).calls[0]
    assert call.shown == "steal"
    assert call.result is not None
    assert call.origin is Origin.TOOL


async def test_a_call_is_on_disk_before_it_is_executed_and_its_result_before_it_is_answered(
    running: Any, episode: Episode, home: Path
) -> None:
    path = record_path(home / "records", episode.id)
    async with running(episode):
        [begun] = read_record(path).calls
        assert begun.result is None
    [done] = read_record(path).calls
    assert done.result is not None


async def test_a_retried_call_id_takes_effect_once(episode: Episode, server: Any) -> None:
    first = await episode.call("add", {"amount": 3}, call_id="a")
    again = await episode.call("add", {"amount": 3}, call_id="a")
    assert first == again
    assert server.executed == [("add", {"amount": 3})]
    assert episode.state().calls == 1


async def test_a_call_for_which_no_process_can_be_started_is_made_once_when_it_is_sent_again(
    episode: Episode, server: Any, home: Path
) -> None:
    server.refused_starts = 2
    asked = {"amount": 3}
    for _ in range(2):
        with pytest.raises(NoProcessesError, match="Try again"):
            await episode.call("add", asked, call_id="a", seq=0)
    assert episode.is_open
    assert not episode.is_busy
    said: list[str] = []

    async def send(call_id: str, seq: int) -> None:
        said.append((await episode.call("add", asked, call_id=call_id, seq=seq)).text)

    async with anyio.create_task_group() as group:
        for call_id, seq in (("b", 1), ("a", 0), ("a", 0)):
            group.start_soon(send, call_id, seq)
    assert sorted(said) == ["total 3 coins", "total 3 coins", "total 6 coins"]
    assert server.executed == [("add", asked)] * 2
    record = read_record(record_path(home / "records", episode.id))
    assert [call.call_id for call in record.finished_calls] == ["a", "b"]
    assert episode.state().calls == 2


async def test_whoever_waits_for_a_call_that_finds_no_process_makes_it(
    episode: Episode, server: Any
) -> None:
    server.refused_starts = 1
    outcomes: list[object] = []

    async def send() -> None:
        try:
            outcomes.append((await episode.call("add", {"amount": 3}, call_id="a")).text)
        except NoProcessesError:
            outcomes.append(NoProcessesError)

    async with anyio.create_task_group() as group:
        group.start_soon(send)
        group.start_soon(send)
    assert sorted(outcomes, key=str) == [NoProcessesError, "total 3 coins"]
    assert server.executed == [("add", {"amount": 3})]


async def test_a_retry_reads_no_line_of_the_record_but_those_of_its_call(
    episode: Episode, home: Path
) -> None:
    first = await episode.call("add", {"amount": 3}, call_id="a")
    path = record_path(home / "records", episode.id)
    begin = path.stat().st_size
    await episode.call("add", {"amount": 4}, call_id="b")
    with path.open("r+b") as file:
        file.seek(begin)
        file.write(b"?" * (path.stat().st_size - begin))
    assert await episode.call("add", {"amount": 3}, call_id="a") == first


async def test_a_call_id_retried_while_it_runs_waits_for_the_one_result(
    episode: Episode, server: Any
) -> None:
    results: list[str] = []

    async def call() -> None:
        result = await episode.call("add", {"do": "wait"}, call_id="a")
        results.append(result.text)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        with anyio.fail_after(5):
            await server.waiting.wait()
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        server.release.set()
    assert results == ["total 1 coins", "total 1 coins"]
    assert len(server.executed) == 1


@pytest.mark.parametrize("other", [4, True, "1"])
async def test_a_call_id_may_not_name_another_call(episode: Episode, other: Any) -> None:
    await episode.call("add", {"amount": 1}, call_id="a")
    with pytest.raises(CallFaultError, match="used for another call"):
        await episode.call("add", {"amount": other}, call_id="a")


async def test_calls_are_taken_in_by_their_seq_however_they_arrive(
    episode: Episode, server: Any
) -> None:
    async def call(seq: int) -> None:
        await episode.call("add", {"amount": seq}, seq=seq)

    async with anyio.create_task_group() as group:
        for seq in (3, 1, 2, 0):
            group.start_soon(call, seq)
            await anyio.wait_all_tasks_blocked()
    assert [arguments["amount"] for _, arguments in server.executed] == [0, 1, 2, 3]


async def test_a_numbered_call_that_is_retried_while_it_waits_gets_the_one_result(
    episode: Episode, server: Any
) -> None:
    answers: list[str] = []

    async def call() -> None:
        result = await episode.call("add", {"amount": 3}, seq=1, call_id="b")
        answers.append(result.text)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        await episode.call("add", {}, seq=0, call_id="a")
    assert answers == ["total 4 coins", "total 4 coins"]
    assert len(server.executed) == 2


async def test_a_seq_may_not_be_used_twice(episode: Episode) -> None:
    await episode.call("add", {}, seq=0)
    with pytest.raises(CallFaultError, match="next one is 1"):
        await episode.call("add", {}, seq=0)
    assert episode.state().calls == 1


async def test_calls_to_one_server_run_one_at_a_time_in_the_order_of_arrival(
    running: Any, episode: Episode, server: Any
) -> None:
    async with running(episode) as group:
        group.start_soon(episode.call, "add", {"amount": 7})
        await anyio.wait_all_tasks_blocked()
        assert len(server.executed) == 1
    assert server.executed[1] == ("add", {"amount": 7})


async def test_a_caller_that_goes_away_does_not_undo_its_call(
    running: Any, episode: Episode, home: Path
) -> None:
    async with running(episode) as group:
        group.cancel_scope.cancel()
    [call] = find_record(home, episode.id).calls
    assert call.result is not None
    assert call.result.text == "total 1 coins"


async def test_the_call_limit_ends_the_episode_with_its_reward(episodes: Episodes) -> None:
    episode = await episodes.create(a_request(calls=2))
    await episode.call("add", {"amount": 3})
    await episode.call("add", {})
    refused = await episode.call("read", {})
    assert refused.is_error
    assert "limit of 2" in refused.text
    state = episode.state()
    assert (state.status, state.calls) == (EpisodeStatus.LIMIT, 2)
    assert state.reward is not None
    assert state.reward.recall == 0.5
    assert (await episode.call("read", {})).is_error


async def test_the_call_limit_waits_for_the_calls_before_it(
    running: Any, episodes: Episodes
) -> None:
    episode = await episodes.create(a_request(calls=1))
    async with running(episode, amount=3) as group:
        group.start_soon(episode.call, "read", dict[str, Any]())
        await anyio.wait_all_tasks_blocked()
        assert episode.is_open
    assert episode.state().solved == (1,)
    assert episode.state().status is EpisodeStatus.LIMIT


@pytest.mark.parametrize(
    ("do", "boundary"),
    [("fail", "upstream"), ("break", "gateway"), ("hang", "upstream")],
)
async def test_a_failure_beyond_the_tool_fails_the_episode_without_a_reward(
    episodes: Episodes, do: str, boundary: str
) -> None:
    episode = await episodes.create(a_request(call_seconds=0.05))
    await episode.call("add", {"amount": 3})
    answer = await episode.call("add", {"do": do})
    assert answer.is_error
    assert "Traceback" not in answer.text
    state = episode.state()
    assert state.status is EpisodeStatus.FAILED
    assert state.reward is None
    assert state.failure is not None
    assert state.failure.boundary == boundary
    assert (await episode.call("read", {})).is_error


async def test_a_tool_that_kills_its_sandbox_is_an_error_of_the_tool_that_counts(
    episode: Episode,
) -> None:
    assert (await episode.call("add", {"do": "kill"})).is_error
    assert episode.is_open
    assert episode.state().calls == 1


async def test_the_last_kill_that_a_server_allows_ends_the_episode_with_its_reward(
    episode: Episode,
) -> None:
    await episode.call("add", {"amount": 3})
    last = await episode.call("add", {"do": "exhaust"})
    assert last.text == "it was stopped This run has ended; give the final answer."
    state = episode.state()
    assert (state.status, state.calls, state.failure) == (EpisodeStatus.LIMIT, 2, None)
    assert state.reward is not None
    assert state.reward.reward == pytest.approx(0.5, abs=1e-5)
    assert (await episode.call("read", {})).text == "This run has ended; give the final answer."
    assert episode.state().calls == 2


async def test_a_result_over_the_limit_becomes_an_error_that_says_so_and_counts(
    episodes: Episodes,
) -> None:
    episode = await episodes.create(a_request(result_bytes=1000))
    answer = await episode.call("add", {"do": "much"})
    assert answer.is_error
    assert "at most 1000 are allowed" in answer.text
    assert episode.is_open
    assert episode.state().calls == 1


async def test_an_idle_episode_expires_with_its_reward(life: Any) -> None:
    time = [1000.0]
    async with life(now=lambda: time[0]) as episodes:
        episode = await episodes.create(a_request(idle_seconds=10))
        await episode.call("add", {"amount": 3})
        time[0] += 9.0
        assert (await episodes.state(episode.id)).status is EpisodeStatus.OPEN
        await episode.call("read", {})
        time[0] += 11.0
        with pytest.raises(EpisodeEndedError, match="expired"):
            await episode.call("read", {})
        state = await episodes.state(episode.id)
        assert state.status is EpisodeStatus.EXPIRED
        assert state.reward is not None


@pytest.mark.parametrize(
    ("amount", "named"),
    [(2**70, "64 bits"), (float("nan"), "NaN"), ("\ud800", "surrogate")],
    ids=["integer", "nan", "surrogate"],
)
async def test_arguments_that_json_cannot_carry_are_an_error_that_counts_and_blocks_nothing(
    episode: Episode, home: Path, amount: Any, named: str, server: Any
) -> None:
    refused = await episode.call("add", {"amount": amount}, seq=0, call_id="a")
    assert refused.is_error
    assert named in refused.text
    assert (await episode.call("add", {"amount": amount}, seq=0, call_id="a")) == refused
    await episode.call("add", {"amount": 3}, seq=1)
    assert episode.state().calls == 2
    assert server.executed == [("add", {"amount": 3})]
    assert find_record(home, episode.id).calls[0].arguments == {}


async def test_arguments_that_the_agent_could_not_form_are_recorded_and_count(
    episode: Episode, server: Any
) -> None:
    refused = await episode.call("add", {}, fault="The arguments are not valid JSON.")
    assert refused.is_error
    assert refused.text == "The arguments are not valid JSON."
    assert episode.state().calls == 1
    assert server.executed == []


async def test_a_name_that_no_tool_can_have_is_recorded_in_part(episode: Episode) -> None:
    with pytest.raises(UnknownNameError):
        await episode.call("\ud800" + "x" * 10_000, {})
    assert episode.state().calls == 1


async def test_a_retried_unknown_tool_is_refused_as_it_was(episode: Episode) -> None:
    for _ in range(2):
        with pytest.raises(UnknownNameError, match="add, read"):
            await episode.call("steal", {}, call_id="a")
    assert episode.state().calls == 1


@pytest.mark.parametrize(
    "asked",
    [
        {"distractors": {"mode": "banded"}},
        {"distractors": {"mode": "random", "k": 5}},
        {"source": {"kind": "task", "id": "1"}},
    ],
)
async def test_what_is_not_available_is_refused_not_ignored(
    episodes: Episodes, asked: dict[str, Any]
) -> None:
    body = {"source": {"kind": "environment", "name": "coins"}, **asked}
    with pytest.raises(NotAvailableError, match="not available"):
        await episodes.create(EpisodeRequest.model_validate(body))
    assert episodes.count_open() == 0


async def test_colliding_tools_of_several_servers_show_their_server(episodes: Episodes) -> None:
    request = EpisodeRequest.model_validate(
        {"source": {"kind": "servers", "names": ["coins", "notes"], "prompt": "Count."}}
    )
    episode = await episodes.create(request)
    shown = [tool.name for tool in episode.tools]
    assert shown == ["coins__add", "coins__read", "notes__add", "notes__read"]
    await episode.call("notes__add", {"amount": 2})
    assert (await episode.call("coins__read", {})).text == "total 0 coins"
    assert (await episode.call("notes__read", {})).text == "total 2 coins"
    assert episode.state().reward is None
    assert episode.state().failure is None


async def test_arguments_over_the_limit_reach_no_tool_and_say_both_sizes(
    episodes: Episodes, home: Path
) -> None:
    episode = await episodes.create(a_request(argument_bytes=256))
    most = {"amount": 3, "do": "x" * (256 - len('{"amount":3,"do":""}'))}
    larger = {**most, "do": f"{most['do']}x"}
    first = await episode.call("add", larger, call_id="a")
    again = await episode.call("add", larger, call_id="a")
    assert first == again
    assert first.is_error
    assert first.text == "the arguments have 257 bytes; at most 256 are allowed: send less at once"
    assert episode.state().calls == 1
    assert (await episode.call("add", most)).text != first.text
    recorded = read_record(record_path(home / "records", episode.id)).calls[0]
    assert (recorded.arguments, recorded.origin) == ({}, Origin.TOOL)


async def test_arguments_have_a_limit_far_below_that_of_results_where_nobody_says_so(
    episodes: Episodes,
) -> None:
    limits = a_request().limits
    assert limits.argument_bytes * 8 == limits.result_bytes
    # Older gateways do not know it, and refuse what they do not know.
    assert "argument_bytes" not in limits.model_dump(mode="json")
    episode = await episodes.create(a_request())
    said = await episode.call("add", {"amount": 3, "do": "x" * limits.argument_bytes})
    assert "at most 131072 are allowed" in said.text
