"""Failures on purpose: their law, their independence of everything else, and what is left of them."""

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astra_mcp.call_record import EpisodeStatus, FailureKind, encode_result
from astra_mcp.errors import UnknownNameError
from astra_mcp.mcp.request_context import Cancellation
from astra_mcp.types import CallOutcome, JsonValue, Origin, ServerKind
from gateway.api.seams import Distractor
from gateway.api.settings import FailureScope
from gateway.api.wire import (
    NO_FAILURES,
    USUAL_KINDS,
    EpisodeRequest,
    FailingCalls,
    FailureLaw,
    FailureRequest,
)
from gateway.episodes.archive import find_record, tell_record
from gateway.episodes.calls import rejected
from gateway.episodes.failures import (
    LOOKS,
    FailureDefaults,
    FailurePlan,
    InjectedFailure,
)
from gateway.episodes.live import Episodes, open_episodes
from gateway.episodes.record import record_path

from counted_servers import CountedCatalog, CountedServer, FakeDistractorIndex, tool

SECRET = b"0" * 32
PLAYED = 2000
"""Calls of an episode, drawn as the first of many; each of a hundred calls comes up often."""
KINDS = st.dictionaries(st.sampled_from([*FailureKind]), st.floats(0, 9), min_size=1).filter(
    lambda kinds: sum(kinds.values()) > 0
)


def law(rate: float = 0.2, *, delay: bool = False) -> FailureLaw:
    return FailureLaw(rate=rate, kinds=USUAL_KINDS, delay=delay)


def request(names: Sequence[str] = ("ships",), *, seed: int = 7, **failures: Any) -> EpisodeRequest:
    return EpisodeRequest.model_validate(
        {
            "source": {"kind": "servers", "names": list(names), "prompt": "Look."},
            "seed": seed,
            "limits": {"calls": None},
            "failures": failures or None,
        }
    )


def arguments_of(number: int) -> dict[str, JsonValue]:
    """A hundred different calls, each made as often as any other."""
    return {"ship": number % 100, "deck": {"b": 1, "a": [1.5, None]}}


@asynccontextmanager
async def opened(home: Path, *servers: CountedServer, **kwargs: Any) -> AsyncGenerator[Episodes]:
    catalog = CountedCatalog(*servers)
    async with open_episodes(catalog, home, secret=SECRET, **kwargs) as episodes:
        yield episodes


# --- the law ------------------------------------------------------------------------------------


@example(rate=5e-324, kinds={FailureKind.TIMEOUT: 5e-324}, chance=0.0)
@given(rate=st.floats(0, 1), kinds=KINDS, chance=st.floats(0, 1, exclude_max=True))
def test_a_call_fails_below_the_rate_and_by_kinds_of_their_weights(
    rate: float, kinds: dict[FailureKind, float], chance: float
) -> None:
    asked = FailureRequest(rate=rate, kinds={kind.value: w for kind, w in kinds.items()})
    decided = FailureDefaults().law(asked, made_up=False)
    assert sum(decided.kinds.values()) == pytest.approx(1)
    failure = FailurePlan(decided, 0).failure_at(chance)
    if failure is None:
        assert chance >= rate
        return
    assert chance < rate
    upper, width = 0.0, 0.0
    for kind in FailureKind:
        width = rate * decided.kinds[kind]
        upper += width
        if kind is failure.kind:
            break
    assert upper - width - 1e-9 <= chance <= upper + 1e-9
    assert failure.text
    assert failure.delay_seconds == 0


def test_no_delay_is_longer_than_its_kind_takes_where_shares_do_not_come_to_one() -> None:
    weights = {"timeout": 0.2, "unreachable": 0.6, "rate_limited": 0.4, "server_error": 1e-17}
    asked = FailureRequest(rate=1, kinds=weights, delay=True)
    plan = FailurePlan(FailureDefaults().law(asked, made_up=False), 0)
    failure = plan.failure_at(1 - 2**-53)
    assert failure is not None
    least, most = LOOKS[failure.kind].delay
    assert least <= failure.delay_seconds <= most


def test_the_order_in_which_kinds_are_named_decides_nothing() -> None:
    named = {"timeout": 1.0, "server_error": 3.0}
    one, other = (
        FailurePlan(FailureDefaults().law(FailureRequest(rate=0.5, kinds=kinds), made_up=False), 3)
        for kinds in (named, dict(reversed(named.items())))
    )
    for number in range(50):
        assert one.draw("s", "t", {"n": number}) == other.draw("s", "t", {"n": number})


@given(
    calls=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=30),
    order=st.randoms(use_true_random=False),
)
def test_how_a_call_fails_does_not_depend_on_the_calls_in_between(
    calls: list[tuple[str, int]], order: Any
) -> None:
    def drawn(sequence: list[tuple[str, int]]) -> dict[Any, list[InjectedFailure | None]]:
        plan = FailurePlan(law(0.5), 11)
        found: dict[Any, list[InjectedFailure | None]] = {}
        for name, number in sequence:
            found.setdefault((name, number), []).append(plan.draw("s", name, {"n": number}))
        return found

    shuffled = list(calls)
    order.shuffle(shuffled)
    assert drawn(calls) == drawn(shuffled)


def test_each_occurrence_server_tool_argument_and_seed_draws_for_itself() -> None:
    def failing(seed: int, server: str, tool: str, argument: JsonValue) -> list[bool]:
        plan = FailurePlan(law(0.5), seed)
        return [plan.draw(server, tool, {"n": argument}) is not None for _ in range(200)]

    drawn = [
        failing(1, "s", "t", 1),
        failing(2, "s", "t", 1),
        failing(1, "r", "t", 1),
        failing(1, "s", "u", 1),
        failing(1, "s", "t", 1.0),
    ]
    assert all(70 < sum(row) < 130 for row in drawn)
    assert len({tuple(row) for row in drawn}) == len(drawn)


def test_the_order_of_arguments_is_no_difference() -> None:
    plans = FailurePlan(law(0.5), 1), FailurePlan(law(0.5), 1)
    for number in range(50):
        first = plans[0].draw("s", "t", {"n": number, "m": {"a": 1, "b": 2}})
        assert first == plans[1].draw("s", "t", {"m": {"b": 2, "a": 1}, "n": number})


def test_every_text_comes_up_and_none_fills_more_than_the_least_limit_of_results() -> None:
    plan = FailurePlan(law(1.0), 5)
    seen = {f.text for n in range(20_000) if (f := plan.draw("s", "t", {"n": n})) is not None}
    possible = {
        text.replace("{seconds}", str(seconds))
        for kind in FailureKind
        for text in LOOKS[kind].texts
        for seconds in LOOKS[kind].seconds
    }
    assert seen == possible
    for text in seen:
        answer = encode_result(rejected(text, Origin.INJECTED).result)
        assert answer.size <= 256, text


# --- episodes -----------------------------------------------------------------------------------


@pytest.mark.claim("P28")
async def test_a_fifth_of_all_calls_fails_and_none_of_them_reaches_a_server(tmp_path: Path) -> None:
    """ASTRA 2.1.4: emulated calls fail with a probability of 20 %, with timeouts and unreachable calls."""
    plan = FailurePlan(law(), 7)
    drawn = [(n % 100, plan.draw("ships", "look", arguments_of(n))) for n in range(20_000)]
    kinds = Counter(failure and failure.kind for _, failure in drawn)
    assert 1 - kinds[None] / len(drawn) == pytest.approx(0.2, abs=0.01)
    for kind, weight in USUAL_KINDS.items():
        assert kinds[FailureKind(kind)] / len(drawn) == pytest.approx(0.2 * weight, abs=0.01)

    server = CountedServer("ships", kind=ServerKind.EMULATOR)
    async with opened(tmp_path, server) as episodes:
        episode = await episodes.create(request())
        numbers = iter(range(PLAYED))

        async def call_on() -> None:
            for number in numbers:
                await episode.call("look", arguments_of(number), call_id=str(number))

        async with anyio.create_task_group() as group:
            for _ in range(64):
                group.start_soon(call_on)
        calls = find_record(tmp_path, episode.id).finished_calls
    answers = sorted((c.arguments["ship"], c.result.text, c.injected) for c in calls)
    assert answers == sorted(
        (n, f.text, f.kind) if f else (n, "300 tons", None) for n, f in drawn[:PLAYED]
    )
    assert server.reached == {"look": sum(failure is None for _, failure in drawn[:PLAYED])}


async def test_an_injected_failure_is_an_error_that_is_recorded_as_what_it_is(
    tmp_path: Path,
) -> None:
    server = CountedServer("ships")
    async with opened(tmp_path, server) as episodes:
        episode = await episodes.create(request(rate=1, kinds={"rate_limited": 2}))
        result = await episode.call("look", {})
        assert result.is_error
        assert "429" in result.text
        assert "look" not in result.text
        assert "ships" not in result.text
        assert episode.state().failures.kinds == {
            **dict.fromkeys(FailureKind, 0.0),
            FailureKind.RATE_LIMITED: 1.0,
        }
        state = await episodes.close(episode.id)
        assert (state.status, state.calls) == (EpisodeStatus.CLOSED, 1)
        (call,) = tell_record(*await episodes.recorded(episode.id)).calls
    assert (call.origin, call.injected) == (Origin.INJECTED, FailureKind.RATE_LIMITED)
    (recorded,) = find_record(tmp_path, episode.id).finished_calls
    assert recorded.outcome is CallOutcome.REJECTED
    assert not server.reached


async def test_the_same_call_draws_anew_and_a_retried_id_answers_what_it_did(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, CountedServer("ships")) as episodes:
        episode = await episodes.create(request(rate=0.5))
        texts = [(await episode.call("look", {}, call_id=str(n))).text for n in range(40)]
        assert len(set(texts)) > 5
        again = [(await episode.call("look", {}, call_id=str(n))).text for n in range(40)]
        assert again == texts
        assert episode.state().calls == 40


async def test_what_reaches_no_tool_anyway_has_no_share_in_the_plan(tmp_path: Path) -> None:
    async with opened(tmp_path, CountedServer("ships")) as episodes:
        body = request(rate=1.0).model_dump() | {"limits": {"calls": 3}}
        episode = await episodes.create(EpisodeRequest.model_validate(body))
        with pytest.raises(UnknownNameError):
            await episode.call("steal", {})
        assert (await episode.call("look", {}, fault="no JSON")).text == "no JSON"
        await episode.call("look", {})
        await episode.call("look", {})
        record = find_record(tmp_path, episode.id)
    origins = [c.origin for c in record.finished_calls]
    assert origins == [Origin.TOOL, Origin.TOOL, Origin.INJECTED, Origin.LIMIT]
    expected = FailurePlan(law(1.0), 7).draw("ships", "look", {})
    assert expected is not None
    assert record.finished_calls[2].result.text == expected.text


@pytest.mark.claim("P28")
async def test_by_the_rule_of_the_paper_calls_of_emulated_servers_fail_and_no_others(
    tmp_path: Path,
) -> None:
    servers = [
        CountedServer("real", (tool("look"),), kind=ServerKind.DEPLOYED),
        CountedServer("made_up", (tool("guess"),), kind=ServerKind.EMULATOR),
    ]
    named = ["real", "made_up"]
    async with opened(tmp_path, *servers) as episodes:
        everywhere = await episodes.create(request(named, rate=1))
        episode = await episodes.create(request(named, rate=1, scope="emulated_calls"))
        assert (await everywhere.call("look", {})).is_error
        assert not (await episode.call("look", {})).is_error
        assert (await episode.call("guess", {})).is_error
        assert episode.state().failures.scope is FailingCalls.EMULATED_CALLS
        calls = tell_record(*await episodes.recorded(episode.id)).calls
        law = find_record(tmp_path, episode.id).opened.failures
    assert [(c.server, c.origin) for c in calls] == [
        ("real", Origin.TOOL),
        ("made_up", Origin.INJECTED),
    ]
    assert law == episode.state().failures


def test_a_law_and_a_request_of_before_are_of_all_calls_and_are_written_as_before() -> None:
    old = {"rate": 0.5, "kinds": {"timeout": 1.0}, "delay": False}

    assert FailureLaw.model_validate(old).scope is FailingCalls.ALL
    assert FailureRequest.model_validate(old).model_dump(mode="json") == old
    told = {**old, "scope": "emulated_calls"}
    assert FailureRequest.model_validate(told).model_dump(mode="json") == told


@pytest.mark.parametrize(
    ("defaults", "kinds", "asked", "rate"),
    [
        (FailureDefaults(), ["emulator"], None, 0.2),
        (FailureDefaults(), ["deployed", "emulator"], None, 0.2),
        (FailureDefaults(), ["environment"], None, 0.0),
        (FailureDefaults(), ["deployed"], None, 0.0),
        (FailureDefaults(rate=0.4), ["emulator"], None, 0.4),
        (FailureDefaults(scope=FailureScope.ALL), ["environment"], None, 0.2),
        (FailureDefaults(scope=FailureScope.ALL, rate=0.9), ["deployed"], {"rate": 0}, 0.0),
        (FailureDefaults(), ["environment"], {"rate": 0.7}, 0.7),
        (FailureDefaults(rate=0.4), ["emulator"], {"rate": 0}, 0.0),
    ],
)
async def test_the_rate_is_the_requests_else_that_of_emulated_sources_or_of_all(
    tmp_path: Path,
    defaults: FailureDefaults,
    kinds: list[str],
    asked: dict[str, Any] | None,
    rate: float,
) -> None:
    servers = [
        CountedServer(f"s{n}", (tool(f"t{n}"),), kind=ServerKind(k)) for n, k in enumerate(kinds)
    ]
    async with opened(tmp_path, *servers, failures=defaults) as episodes:
        episode = await episodes.create(request([s.name for s in servers], **(asked or {})))
        assert episode.state().failures.rate == rate
        assert find_record(tmp_path, episode.id).opened.failures == episode.state().failures


async def test_nothing_fails_at_an_interactive_endpoint(tmp_path: Path) -> None:
    everywhere = FailureDefaults(rate=1.0, scope=FailureScope.ALL)
    server = CountedServer("ships", kind=ServerKind.EMULATOR)
    async with opened(tmp_path, server, failures=everywhere) as episodes:
        state = await episodes.interactive("ships", "anna", ["ships"])
        assert state.state().failures == NO_FAILURES
        assert not (await state.call("look", {})).is_error


async def test_an_episode_goes_on_with_its_occurrences_after_a_restart(tmp_path: Path) -> None:
    expected = FailurePlan(law(0.5), 7)
    texts = [
        failure.text if (failure := expected.draw("ships", "look", {})) else "300 tons"
        for _ in range(40)
    ]
    async with opened(tmp_path, CountedServer("ships")) as first:
        episode = await first.create(request(rate=0.5))
        for number in range(20):
            await episode.call("look", {}, call_id=str(number))
    path = record_path(tmp_path / "records", episode.id)
    lines = path.read_bytes().splitlines(keepends=True)
    dropped = 10  # a call in the middle was started only, as where the gateway was killed
    path.write_bytes(
        b"".join(line for line in lines if not (b'"call_finished"' in line and _n(line) == dropped))
    )
    server = CountedServer("ships")
    changed = FailureDefaults(rate=0.0)
    async with opened(tmp_path, server, failures=changed) as second:
        restored = await second.get(episode.id)
        answers = [
            (await restored.call("look", {}, call_id=str(number))).text for number in range(40)
        ]
    assert answers == texts
    assert sum(server.reached.values()) == sum(
        text == "300 tons" for text in (texts[dropped], *texts[20:])
    )


def _n(line: bytes) -> int:
    return orjson.loads(line)["n"]


async def test_a_call_that_was_to_fail_is_no_unknown_delivery_after_a_restart(
    tmp_path: Path,
) -> None:
    deployed = CountedServer("ships", kind=ServerKind.DEPLOYED)
    async with opened(tmp_path, deployed) as first:
        episode = await first.create(request(rate=1.0))
        text = (await episode.call("look", {}, call_id="a")).text
    path = record_path(tmp_path / "records", episode.id)
    *lines, last = path.read_bytes().splitlines(keepends=True)
    assert b"call_finished" in last
    path.write_bytes(b"".join(lines))
    async with opened(tmp_path, deployed) as second:
        restored = await second.get(episode.id)
        assert restored.is_open
        assert (await restored.call("look", {}, call_id="a")).text == text
    assert not deployed.reached


async def test_gold_and_distractor_fail_by_one_law_and_in_the_same_words(tmp_path: Path) -> None:
    """The law is the episode's: neither rate nor kind nor text depends on what a tool is."""
    tools = {"look": "ships", "shine": "lamps"}
    plan = FailurePlan(law(), 7)
    drawn = {
        name: [plan.draw(server, name, {"n": number}) for number in range(6000)]
        for name, server in tools.items()
    }
    texts = [Counter((f.kind, f.text) if f else None for f in drawn[name]) for name in tools]
    kinds = [Counter(f and f.kind for f in drawn[name]) for name in tools]
    # Below the 0.9999 quantiles of chi square for 77 degrees of freedom (texts) and 4 (kinds).
    assert texts[0].keys() == texts[1].keys()
    assert len(texts[1]) == 78
    assert _chi_square(*texts) < 132
    assert _chi_square(*kinds) < 24

    own, other = CountedServer("ships"), CountedServer("lamps", (tool("shine"),))
    index = FakeDistractorIndex((Distractor("lamps", "shine", "low"),))
    body = request(rate=0.2).model_dump() | {"distractors": {"mode": "banded"}}
    async with opened(tmp_path, own, other, distractors=index) as episodes:
        episode = await episodes.create(EpisodeRequest.model_validate(body))
        answers = {
            name: [(await episode.call(name, {"n": n})).text for n in range(300)] for name in tools
        }
        calls = find_record(tmp_path, episode.id).finished_calls
    expected = {name: drawn[name][:300] for name in tools}
    assert answers == {
        name: [f.text if f else "300 tons" for f in failures] for name, failures in expected.items()
    }
    assert [(c.is_distractor, c.injected) for c in calls] == [
        (name == "shine", failure and failure.kind)
        for name, failures in expected.items()
        for failure in failures
    ]


def _chi_square(one: Counter[Any], other: Counter[Any]) -> float:
    """Of two samples of one size, by the usual test of homogeneity."""
    return sum((one[key] - other[key]) ** 2 / (one[key] + other[key]) for key in one | other)


# --- delays -------------------------------------------------------------------------------------


@given(number=st.integers(0, 10**6))
def test_a_delay_lies_within_the_bounds_of_its_kind(number: int) -> None:
    failure = FailurePlan(law(1.0, delay=True), 1).draw("s", "t", {"n": number})
    assert failure is not None
    least, most = LOOKS[failure.kind].delay
    assert least <= failure.delay_seconds <= most
    assert most <= 15


async def test_a_plan_lets_the_seconds_of_a_failure_pass() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    plan = FailurePlan(law(delay=True), 1, sleep=sleep)
    await plan.wait(4.5, None)
    await plan.wait(0.0, None)
    assert slept == [4.5]


async def test_a_delay_ends_when_the_client_cancels_and_when_the_plan_must_hurry() -> None:
    asleep = anyio.Event()

    async def sleep(seconds: float) -> None:
        del seconds
        asleep.set()
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        plan = FailurePlan(law(delay=True), 1, sleep=sleep)
        cancellation = Cancellation()
        async with anyio.create_task_group() as group:
            group.start_soon(plan.wait, 9.0, cancellation)
            await asleep.wait()
            cancellation.set()
        async with anyio.create_task_group() as group:
            group.start_soon(plan.wait, 9.0, None)
            asleep = anyio.Event()
            await asleep.wait()
            plan.hurry()
        await plan.wait(9.0, None)


async def test_closing_an_episode_ends_a_delay_and_the_call_is_recorded_all_the_same(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, CountedServer("ships")) as episodes:
        episode = await episodes.create(request(rate=1, kinds={"timeout": 1}, delay=True))
        answers: list[str] = []

        async def call() -> None:
            answers.append((await episode.call("look", {}, call_id="a")).text)

        with anyio.fail_after(4):  # the least delay of a timeout is 5 s
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await anyio.wait_all_tasks_blocked()
                assert episode.is_busy
                await episodes.close(episode.id)
        state = episode.state()
        assert (state.status, state.calls) == (EpisodeStatus.CLOSED, 1)
        (recorded,) = find_record(tmp_path, episode.id).finished_calls
        assert recorded.result.text == answers[0]
        assert recorded.injected is FailureKind.TIMEOUT


async def test_a_delay_never_takes_longer_than_a_call_may(tmp_path: Path) -> None:
    async with opened(tmp_path, CountedServer("ships")) as episodes:
        body = request(rate=1, kinds={"timeout": 1}, delay=True).model_dump()
        limited = EpisodeRequest.model_validate(body | {"limits": {"call_seconds": 0.001}})
        episode = await episodes.create(limited)
        with anyio.fail_after(4):
            assert (await episode.call("look", {})).is_error
        assert episode.is_open
