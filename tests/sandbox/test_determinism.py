"""Equal code, seed and calls give byte-identical results: in every sandbox, session and backend."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astra_mcp.sandbox import (
    Raised,
    Returned,
    Sandbox,
    SandboxLimits,
    SandboxReport,
    open_sandbox,
)
from astra_mcp.sandbox.locked import LockedSandbox, open_locked
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.types import canonical_json

from sandboxes import CLOCK, opened

CODE = """
import calendar, datetime, hashlib, random, secrets, time, uuid

LOADED = [random.random(), str(uuid.uuid4()), time.time()]
GENERATOR = random.Random()

def draw():
    return {
        "loaded": LOADED,
        "random": [random.random(), random.randint(1, 10**9), random.Random().random()],
        "kept": GENERATOR.random(),
        "seeded": random.Random(7).random(),
        "system": random.SystemRandom().random(),
        "secrets": [secrets.token_hex(8), secrets.randbelow(10**9)],
        "uuid": [str(uuid.uuid1()), str(uuid.uuid1()), str(uuid.uuid4())],
        "hash": [hash("abc"), list({"a", "b", "c", "d", "e"}), list(frozenset(map(str, range(20))))],
        "now": [repr(datetime.datetime.now()), str(datetime.date.today()), time.ctime()],
        "clock": [time.time(), time.time_ns(), time.monotonic(), time.perf_counter_ns(), time.strftime("%c")],
        "local": [str(datetime.datetime.now(datetime.timezone.utc).astimezone()), list(time.localtime())],
    }

def nap(seconds):
    before = time.monotonic()
    time.sleep(seconds)
    return [time.monotonic() - before, str(datetime.datetime.utcnow())]

def types():
    now = datetime.datetime.now()
    copy = datetime.datetime.fromisoformat(now.isoformat())
    parsed = datetime.datetime.strptime("2026-01-05 09:30", "%Y-%m-%d %H:%M")
    later = now + datetime.timedelta(days=1)
    return [isinstance(x, datetime.datetime) for x in (now, copy, parsed, later, now.replace(tzinfo=datetime.timezone.utc))] + [
        now == copy, isinstance(now, datetime.date), str(parsed), str(later - now), calendar.timegm(now.timetuple())]
"""  # noqa: E501 - tool code
Calls = Sequence[tuple[str, dict[str, Any]]]
CALLS: Calls = (("draw", {}), ("nap", {"seconds": 90}), ("draw", {}), ("no_such", {}), ("draw", {}))


async def answers(sandbox: Sandbox, *, seed: int, calls: Calls = CALLS) -> bytes:
    module = await sandbox.load(CODE, load_seed=3, clock=CLOCK)
    session = await sandbox.open_session(module, seed=seed)
    given = [await session.call(function, arguments) for function, arguments in calls]
    await session.aclose()
    assert all(isinstance(a, Returned) or a.kind == "NameError" for a in given), given
    return canonical_json([a.value if isinstance(a, Returned) else a.message for a in given])


async def test_two_sandboxes_answer_byte_by_byte_alike(machine: SandboxReport) -> None:
    seen: set[bytes] = set()
    for unsandboxed in (False, False, True):
        async with open_sandbox(
            SandboxLimits(), unsandboxed=unsandboxed, machine=machine
        ) as sandbox:
            seen.add(await answers(sandbox, seed=11))
            seen.add(await answers(sandbox, seed=11))
    assert len(seen) == 1


async def test_another_seed_gives_other_draws_from_the_same_module(locked: LockedSandbox) -> None:
    first = await answers(locked, seed=1)
    second = await answers(locked, seed=2)
    assert first != second
    assert first.split(b'"loaded":')[1][:40] == second.split(b'"loaded":')[1][:40]


async def test_earlier_sessions_do_not_matter(
    locked: LockedSandbox, machine: SandboxReport
) -> None:
    for seed in range(5):
        await answers(locked, seed=seed, calls=CALLS[:seed])
    async with open_locked(SandboxLimits(), machine, Runtime.default()) as fresh:
        assert await answers(locked, seed=9) == await answers(fresh, seed=9)


async def test_the_load_seed_and_a_clock_with_a_time_zone_name_the_module(
    locked: LockedSandbox,
) -> None:
    ids = {
        await locked.load(CODE, load_seed=0, clock=CLOCK),
        await locked.load(CODE, load_seed=1, clock=CLOCK),
        await locked.load(CODE, load_seed=0, clock=CLOCK + timedelta(seconds=1)),
    }
    assert len(ids) == 3
    assert await locked.load(CODE, load_seed=1, clock=CLOCK) in ids
    naive = datetime(2026, 1, 5)  # noqa: DTZ001 - the mistake under test
    with pytest.raises(ValueError, match="time zone"):
        await locked.load(CODE, clock=naive)


async def test_the_clock_starts_where_it_is_told_and_ticks_a_second_per_call(
    sandbox: Sandbox,
) -> None:
    start = datetime(2031, 12, 31, 23, 59, 58, 250000, tzinfo=UTC)
    session = await sandbox.open_session(await sandbox.load(CODE, clock=start), seed=1)
    for seconds, told in ((0.0, "2031-12-31 23:59:59.25"), (60.5, "2032-01-01 00:01:00.75")):
        answer = await session.call("nap", {"seconds": seconds})
        assert answer == Returned(value=[seconds, f"{told}0000"])
    rejected = await session.call("nap", {"seconds": -1})
    assert isinstance(rejected, Raised)
    assert rejected.kind == "ValueError"


async def test_virtual_datetimes_behave_like_datetimes(sandbox: Sandbox) -> None:
    session = await opened(sandbox, CODE)
    told = ["2026-01-05 09:30:00", "1 day, 0:00:00", int(CLOCK.timestamp()) + 1]
    assert await session.call("types", {}) == Returned(value=[*[True] * 7, *told])
