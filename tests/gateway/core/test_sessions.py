"""What is known of the handshake era's sessions."""

from collections.abc import Callable

import anyio
import pytest

from astra_mcp.call_record import EpisodeId
from gateway.agents.sessions import CLOSED_SECONDS, OPENED_SECONDS, OVER_SECONDS, Session, Sessions
from gateway.agents.targets import EpisodeTarget, InteractiveTarget, Target

HERE, THERE = InteractiveTarget(None), EpisodeTarget(EpisodeId("0" * 32))


@pytest.fixture
def time() -> list[float]:
    return [0.0]


@pytest.fixture
def sessions(time: list[float]) -> Sessions:
    return Sessions(idle_seconds=10, max_sessions=2, now=lambda: time[0])


@pytest.fixture
def add(sessions: Sessions) -> Callable[[str], Session]:
    def add_one(name: str) -> Session:
        return sessions.add(name, HERE, caller=name, version="2025-11-25", capabilities={})

    return add_one


def test_a_session_belongs_to_the_endpoint_where_it_was_opened(
    sessions: Sessions, add: Callable[[str], Session]
) -> None:
    session = add("a")
    assert sessions.find("a", HERE) is session
    assert sessions.find("a", THERE) is None
    assert sessions.is_elsewhere("a", THERE)
    assert not sessions.is_elsewhere("a", HERE)
    assert not sessions.is_elsewhere("b", HERE)


def test_a_session_is_idle_when_nobody_used_it_for_too_long(
    sessions: Sessions, add: Callable[[str], Session], time: list[float]
) -> None:
    used, unused = add("a"), add("b")
    time[0] = 9.0
    sessions.find(used.id, HERE)
    time[0] = 10.0
    assert sessions.idle() == (unused,)


def test_a_session_to_which_nobody_came_back_is_idle_sooner(time: list[float]) -> None:
    sessions = Sessions(now=lambda: time[0])
    used, unused = (
        sessions.add(name, HERE, caller=name, version="2025-11-25", capabilities={})
        for name in ("a", "b")
    )
    sessions.find(used.id, HERE)
    time[0] = OPENED_SECONDS
    assert sessions.idle() == (unused,)


def test_a_request_under_way_keeps_its_session(
    sessions: Sessions, add: Callable[[str], Session], time: list[float]
) -> None:
    session = add("a")
    sessions.hold(session)
    time[0] = 100.0
    assert sessions.idle() == ()
    sessions.release(session)
    assert sessions.idle() == ()
    time[0] = 110.0
    assert sessions.idle() == (session,)


def test_beyond_the_bound_the_longest_unused_are_ended_not_forgotten(
    sessions: Sessions, add: Callable[[str], Session], time: list[float]
) -> None:
    a, b = add("a"), add("b")
    time[0] = 1.0
    sessions.find("a", HERE)
    assert sessions.idle() == ()
    add("c")
    assert sessions.idle() == (b,)
    assert sessions.find("b", HERE) is b
    sessions.hold(b)
    assert sessions.idle() == (a,)


async def test_idle_sessions_are_ended_by_whoever_opened_them() -> None:
    sessions = Sessions(idle_seconds=0.01)
    sessions.add("a", HERE, caller="a", version="2025-11-25", capabilities={})
    ended: list[str] = []

    async with anyio.create_task_group() as group:

        async def end(session: Session) -> None:
            ended.append(session.id)
            group.cancel_scope.cancel()

        def is_over(_: Target) -> bool:
            return False

        group.start_soon(sessions.end_idle, end, is_over)
    assert ended == ["a"]
    assert len(sessions) == 0


async def test_between_two_idle_sessions_others_have_their_turn_and_may_use_the_next(
    time: list[float],
) -> None:
    sessions = Sessions(idle_seconds=0.01, now=lambda: time[0])
    for name in "abc":
        sessions.add(name, HERE, caller=name, version="2025-11-25", capabilities={})
    time[0] = 1.0
    ended: list[str] = []

    async with anyio.create_task_group() as group:

        async def use(name: str) -> None:
            time[0] = 1.001
            assert sessions.find(name, HERE)

        async def end(session: Session) -> None:
            ended.append(session.id)
            if session.id == "a":
                group.start_soon(use, "b")
            else:
                group.cancel_scope.cancel()

        def is_over(_: Target) -> bool:
            return False

        group.start_soon(sessions.end_idle, end, is_over)
    assert ended == ["a", "c"]
    assert len(sessions) == 1


@pytest.mark.parametrize(("is_told", "seconds"), [(False, OVER_SECONDS), (True, CLOSED_SECONDS)])
def test_a_session_of_an_episode_that_is_over_is_idle_sooner_and_soon_once_it_was_closed(
    time: list[float], is_told: bool, seconds: float
) -> None:
    sessions = Sessions(now=lambda: time[0])
    session, other = (
        sessions.add(name, where, caller="", version="2025-11-25", capabilities={})
        for name, where in (("a", HERE), ("b", THERE))
    )
    for opened in (session, other):
        sessions.find(opened.id, opened.target)
    if is_told:
        sessions.note_closed(HERE)
    time[0] = seconds - 1
    assert sessions.idle(lambda target: target == HERE) == ()
    time[0] = seconds
    assert sessions.idle(lambda target: target == HERE) == (session,)
    assert other not in sessions.idle(lambda _: False)
