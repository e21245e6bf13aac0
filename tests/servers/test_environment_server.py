"""What a session of an environment server promises, with the real sandbox behind it."""

import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import AsyncMock, Mock

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import SandboxError
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from astra_mcp.sandbox.locked import LockedSandbox
from astra_mcp.types import CallOutcome, Origin, PastCall, ServerKind, ToolResult, UpstreamReply
from servers.environment import MAX_KILLS, EnvironmentServer, EnvironmentSession

from processes import below, wait_until_gone

Call = tuple[str, dict[str, Any]]

HANG: Call = ("hang", {})
TALK: Sequence[Call] = (
    ("remember", {"word": "one"}),
    ("draw", {}),
    ("refuse", {"word": "two"}),
    ("draw", {"sides": 100}),
    ("remember", {"word": "three"}),
)


@asynccontextmanager
async def opened(server: EnvironmentServer, seed: int = 7, past: Sequence[PastCall] = ()):  # noqa: ANN201
    session = server.open_session(key="test", seed=seed, past=past)
    try:
        yield session
    finally:
        await session.aclose()


async def play(session: EnvironmentSession, calls: Sequence[Call]) -> list[UpstreamReply]:
    return [await session.call(tool, arguments) for tool, arguments in calls]


def past_of(calls: Sequence[Call], outcome: CallOutcome = CallOutcome.APPLIED) -> list[PastCall]:
    return [PastCall(tool=tool, arguments=a, outcome=outcome) for tool, a in calls]


def facts(*replies: UpstreamReply) -> list[tuple[Origin, CallOutcome]]:
    """Who answered, and what the calls did."""
    return [(reply.origin, reply.outcome) for reply in replies]


APPLIED = (Origin.TOOL, CallOutcome.APPLIED)
REJECTED = (Origin.TOOL, CallOutcome.REJECTED)
KILLED = (Origin.TOOL, CallOutcome.KILLED)
FAILED = (Origin.SANDBOX, CallOutcome.REJECTED)
GIVEN_UP = (Origin.LIMIT, CallOutcome.KILLED)
REFUSED = (Origin.LIMIT, CallOutcome.REJECTED)


async def test_server_shows_what_the_bundle_declares(
    notebook: Bundle, server: EnvironmentServer
) -> None:
    assert (server.name, server.kind) == ("notebook", ServerKind.ENVIRONMENT)
    assert [t.name for t in server.tools] == ["remember", "draw", "refuse", "flood", "hang"]
    assert server.version == notebook.content_hash


@pytest.fixture
async def session(server: EnvironmentServer) -> AsyncGenerator[EnvironmentSession]:
    """A session with the notebook."""
    async with opened(server) as one:
        yield one


async def test_a_value_comes_back_as_text_and_as_structure(session: EnvironmentSession) -> None:
    reply, unstructured = await play(session, [("remember", {"word": "one"}), ("draw", {})])
    assert facts(reply, unstructured) == [APPLIED, APPLIED]
    assert reply.result.text == '{"words": ["one"], "count": 1}'
    assert reply.result.structured == {"words": ["one"], "count": 1}
    assert unstructured.result.structured is None


async def test_an_exception_is_an_error_that_names_its_kind(session: EnvironmentSession) -> None:
    reply = await session.call("refuse", {"word": "x"})
    after = await session.call("remember", {"word": "y"})
    assert reply.result.is_error
    assert reply.result.text == "LookupError: the notebook has no page for x"
    assert facts(reply) == [APPLIED]
    assert after.result.structured == {"words": ["x", "y"], "count": 2}


async def test_wrong_calls_are_rejected_before_the_tool(session: EnvironmentSession) -> None:
    wrong: dict[str, Call] = {
        "word": ("remember", {}),
        "string": ("remember", {"word": 3}),
        "wird": ("remember", {"word": "a", "wird": "b"}),
        "sides": ("draw", {"sides": 1}),
        "remember, draw, refuse, flood, hang": ("recall", {}),
    }
    replies = await play(session, [*wrong.values()])
    after = await session.call("remember", {"word": "first"})
    assert facts(*replies) == [REJECTED] * len(wrong)
    for reply, said in zip(replies, wrong, strict=True):
        assert reply.result.is_error
        assert said in reply.result.text
    assert after.result.structured == {"words": ["first"], "count": 1}


async def test_a_rejected_call_does_not_move_the_clock(server: EnvironmentServer) -> None:
    async with opened(server) as plain, opened(server) as corrected:
        expected = await plain.call("draw", {})
        await corrected.call("draw", {"sides": 0})
        assert await corrected.call("draw", {}) == expected


async def test_sessions_of_one_seed_agree_and_share_nothing(server: EnvironmentServer) -> None:
    async with opened(server) as first, opened(server) as second, opened(server, seed=8) as other:
        replies = await play(first, TALK)
        assert await play(second, TALK) == replies
        assert await play(other, TALK) != replies


async def test_the_call_after_a_kill_sees_the_state_of_before_it(server: EnvironmentServer) -> None:
    async with opened(server) as plain, opened(server) as killed:
        expected = await play(plain, TALK)
        replies = await play(killed, TALK[:2])
        kill = await killed.call("hang", {})
        replies += await play(killed, TALK[2:])
    assert replies == expected
    assert kill.result.is_error
    assert facts(kill) == [KILLED]
    assert all(words in kill.result.text for words in ("hang was stopped", "0.5 s", "no effect"))


INTERRUPTED = """
words = []
class Timeout(Exception): pass
def remember(word): words.append(word); return {"words": list(words), "count": len(words)}
def refuse(word):
    while True: words.append(word)
def draw(): words.append("drawn"); raise Timeout("of the tool's own")
"""


@pytest.fixture
def interrupted(notebook: Bundle, sandbox: Sandbox) -> EnvironmentServer:
    """Publishes what is interrupted in the middle of its work, and what only says so."""
    return EnvironmentServer(notebook.model_copy(update={"code": INTERRUPTED}), sandbox)


async def test_an_interrupted_call_is_a_kill_without_effect(interrupted: EnvironmentServer) -> None:
    async with opened(interrupted) as session:
        await session.call("remember", {"word": "kept"})
        kill = await session.call("refuse", {"word": "half"})
        after = await session.call("remember", {"word": "next"})
        more = await play(session, [("refuse", {"word": "half"})] * (MAX_KILLS - 1))
    assert facts(kill, more[-1]) == [KILLED, GIVEN_UP]
    assert "0.25 s of processor time. The call had no effect" in kill.result.text
    assert after.result.structured == {"words": ["kept", "next"], "count": 2}


async def test_an_exception_named_like_a_timeout_is_applied(interrupted: EnvironmentServer) -> None:
    async with opened(interrupted) as session:
        reply = await session.call("draw", {})
        after = await session.call("remember", {"word": "next"})
    assert facts(reply) == [APPLIED]
    assert reply.result.text == "Timeout: of the tool's own"
    assert after.result.structured == {"words": ["drawn", "next"], "count": 2}


async def test_a_death_or_an_interruption_during_the_replay_is_the_sandbox_failing(
    server: EnvironmentServer, interrupted: EnvironmentServer
) -> None:
    for one, deadly in ((server, HANG), (interrupted, ("refuse", {"word": "half"}))):
        async with opened(one, past=past_of([deadly])) as session:
            reply = await session.call("remember", {"word": "one"})
        assert facts(reply) == [FAILED]
        assert reply.result.text == "The environment could not run the tool: its sandbox failed."


async def test_a_result_that_is_too_large_is_an_error_and_the_state_stays(
    session: EnvironmentSession,
) -> None:
    await session.call("remember", {"word": "kept"})
    replies = await play(session, [("flood", {"length": 1 << 20})] * MAX_KILLS)
    after = await session.call("remember", {"word": "next"})
    assert facts(*replies) == [APPLIED] * MAX_KILLS
    assert replies[0].result.is_error
    assert "1,048,578 bytes" in replies[0].result.text
    assert "65,536" in replies[0].result.text
    assert after.result.structured == {"words": ["kept", "next"], "count": 2}


async def test_the_last_kill_is_a_limit_and_no_failure(session: EnvironmentSession) -> None:
    kills = await play(session, [HANG] * MAX_KILLS)
    after = await session.call("remember", {"word": "late"})
    assert facts(*kills, after) == [KILLED, KILLED, GIVEN_UP, REFUSED]
    assert "hang was stopped" in kills[-1].result.text
    assert after.result.is_error


async def test_a_state_that_dies_of_its_replay_is_the_doing_of_the_call_that_was_stopped(
    server: EnvironmentServer,
) -> None:
    past = [*past_of([HANG]), *past_of([HANG], CallOutcome.KILLED)]
    async with opened(server, past=past) as session:
        replies = await play(session, [TALK[1]] * (MAX_KILLS - 1))
    assert facts(*replies) == [KILLED, GIVEN_UP]


async def kill_fork_server(sandbox: LockedSandbox) -> None:
    """Kill it, and wait for the next one."""
    pid = sandbox.server_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with anyio.fail_after(10):
        while sandbox.server_pid == pid:  # noqa: ASYNC110 - a process's end is no event here
            await anyio.sleep(0.01)


async def kill_processes(sandbox: LockedSandbox, *, is_template: bool) -> None:
    """Kill the templates, with all that came of them, or the processes of sessions alone."""
    assert sandbox.server_pid is not None
    victims = [
        row
        for row in below(sandbox.server_pid)
        if row.state != "Z" and (row.pid == row.group) is is_template
    ]
    assert victims
    handles = [os.pidfd_open(row.pid) for row in victims]
    for handle in handles:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    assert await anyio.to_thread.run_sync(wait_until_gone, handles, 20.0) == 0


@pytest.mark.parametrize(
    "kill",
    [
        pytest.param(kill_fork_server, id="with-its-fork-server"),
        pytest.param(partial(kill_processes, is_template=True), id="with-its-template"),
        pytest.param(partial(kill_processes, is_template=False), id="alone"),
    ],
)
async def test_a_process_lost_while_no_tool_ran_is_rebuilt_and_nobody_is_blamed(
    server: EnvironmentServer, sandbox: Sandbox, kill: Callable[[LockedSandbox], Awaitable[None]]
) -> None:
    assert isinstance(sandbox, LockedSandbox)
    async with opened(server) as whole:
        expected = await play(whole, TALK)
    async with opened(server) as session:
        replies: list[UpstreamReply] = []
        for call in TALK:
            replies += await play(session, [call])
            await kill(sandbox)
        assert replies == expected


def recorded(calls: Sequence[Call], replies: Sequence[UpstreamReply]) -> list[PastCall]:
    """Calls with their results, as a record has them."""
    pairs = zip(past_of(calls), replies, strict=True)
    return [replace(past, result=reply.result) for past, reply in pairs]


@pytest.mark.parametrize("place", [0, len(TALK) - 1])
async def test_a_replay_that_answers_otherwise_than_the_record_is_a_failure_that_names_the_call(
    server: EnvironmentServer, place: int
) -> None:
    async with opened(server) as whole:
        past = recorded(TALK, await play(whole, TALK))
        expected = await whole.call("draw", {})
    async with opened(server, past=past) as session:
        assert await session.call("draw", {}) == expected
    other = ToolResult.from_text("what it never said")
    async with opened(
        server, past=[*past[:place], replace(past[place], result=other), *past[place + 1 :]]
    ) as session:
        reply = await session.call("draw", {})
    assert facts(reply) == [FAILED]
    assert f"call {place + 1} of 5 ({TALK[place][0]})" in reply.cause
    assert "otherwise" in reply.cause


async def test_a_result_that_was_too_large_for_the_episode_is_not_compared(
    server: EnvironmentServer,
) -> None:
    async with opened(server) as whole:
        (past,) = recorded(TALK[:1], await play(whole, TALK[:1]))
        expected = await whole.call("draw", {})
    cut = replace(past, result=ToolResult.from_text("too large", is_error=True), is_cut=True)
    async with opened(server, past=[cut]) as session:
        assert await session.call("draw", {}) == expected


async def test_a_state_that_comes_out_otherwise_after_a_loss_is_a_failure(
    server: EnvironmentServer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(sandbox, LockedSandbox)
    async with opened(server) as session:
        await play(session, TALK)
        await kill_processes(sandbox, is_template=False)
        other = await server.start_process(seed=8)
        monkeypatch.setattr(server, "start_process", AsyncMock(return_value=other))
        reply = await session.call("draw", {})
    assert facts(reply) == [FAILED]
    assert "call 2 of 5 (draw)" in reply.cause


async def test_an_earlier_life_is_replayed_before_the_first_call(server: EnvironmentServer) -> None:
    async with opened(server) as plain:
        expected = (await play(plain, TALK))[3:]
    past = [
        *past_of(TALK[:1]),
        *past_of([("remember", {"wrong": 1})], CallOutcome.REJECTED),
        *past_of([HANG], CallOutcome.KILLED),
        *past_of(TALK[1:3]),
    ]
    async with opened(server, past=past) as second:
        assert await play(second, TALK[3:]) == expected


async def test_kills_of_an_earlier_life_count(server: EnvironmentServer) -> None:
    killed = past_of([HANG] * (MAX_KILLS - 1), CallOutcome.KILLED)
    async with opened(server, past=killed) as session:
        assert facts(await session.call("hang", {})) == [GIVEN_UP]


async def test_broken_code_is_the_sandbox_failing(notebook: Bundle, sandbox: Sandbox) -> None:
    broken = notebook.model_copy(update={"code": "1 / 0\n"})
    async with opened(EnvironmentServer(broken, sandbox)) as session:
        reply = await session.call("remember", {"word": "one"})
    assert reply.origin is Origin.SANDBOX
    assert "ZeroDivision" not in reply.result.text
    assert "line 1: ZeroDivisionError" in reply.cause


async def test_a_cancelled_call_takes_no_effect(server: EnvironmentServer) -> None:
    async with opened(server) as plain, opened(server) as session:
        expected = await play(plain, TALK)
        replies = await play(session, TALK[:2])
        with anyio.move_on_after(0.05) as scope:
            await session.call("hang", {})
        replies += await play(session, TALK[2:])
    assert scope.cancelled_caught
    assert replies == expected


async def test_calls_at_once_run_in_turn_in_one_process_that_the_first_valid_one_starts(
    server: EnvironmentServer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = Mock(wraps=sandbox.open_session)
    monkeypatch.setattr(sandbox, "open_session", opening)
    counts: list[Any] = []
    async with opened(server) as session, anyio.create_task_group() as group:
        await session.call("remember", {})
        assert opening.call_count == 0

        async def remember(word: str) -> None:
            reply = await session.call("remember", {"word": word})
            assert isinstance(reply.result.structured, dict)
            counts.append(reply.result.structured["count"])

        for number in range(20):
            group.start_soon(remember, f"w{number}")
    assert counts == list(range(1, 21))
    assert opening.call_count == 1


async def test_closing_cuts_off_a_running_call_and_bars_others(session: EnvironmentSession) -> None:
    await session.call("draw", {})
    is_cut = anyio.Event()

    async def hang() -> None:
        with pytest.raises(SandboxError, match="closed"):
            await session.call("hang", {})
        is_cut.set()

    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        await anyio.wait_all_tasks_blocked()
        await session.aclose()
    assert is_cut.is_set()
    await session.aclose()
    with pytest.raises(SandboxError, match="closed"):
        await session.call("draw", {})


CALLS: st.SearchStrategy[Call] = st.one_of(
    st.tuples(st.just("remember"), st.fixed_dictionaries({"word": st.sampled_from("abc")})),
    st.tuples(st.just("refuse"), st.fixed_dictionaries({"word": st.sampled_from("de")})),
    st.tuples(st.just("draw"), st.fixed_dictionaries({"sides": st.integers(2, 1000)})),
)


@given(
    talk=st.lists(CALLS, min_size=1, max_size=6),
    kills=st.lists(st.integers(0, 6), max_size=MAX_KILLS - 1),
    cut=st.integers(0, 6),
    seed=st.integers(0, 2**63 - 1),
)
@settings(max_examples=max(6, settings().max_examples // 20))  # each starts and kills processes
def test_kills_and_restarts_never_change_what_the_other_calls_return(
    notebook: Bundle, talk: list[Call], kills: list[int], cut: int, seed: int
) -> None:
    async def compare() -> None:
        limits = SandboxLimits(soft_seconds=0.1, hard_seconds=0.1)
        async with open_sandbox(limits) as sandbox:
            server = EnvironmentServer(notebook, sandbox)
            async with opened(server, seed) as plain:
                expected = await play(plain, talk)
            replies: list[UpstreamReply] = []
            async with opened(server, seed) as session:
                for index, call in enumerate(talk[:cut]):
                    for _ in range(kills.count(index)):
                        await session.call("hang", {})
                    replies += await play(session, [call])
            async with opened(server, seed, past_of(talk[:cut])) as revived:
                replies += await play(revived, talk[cut:])
            assert replies == expected

    anyio.run(compare)
