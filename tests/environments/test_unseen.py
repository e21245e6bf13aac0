"""Tool code cannot tell whether it is examined or served: what it sees is the same, byte by byte."""

import json
import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astra_mcp.environments.acceptance.playing import PlannedCall, Player
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.worlds import NUM_LAYOUTS, World
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from servers.environment import EnvironmentServer

from probe import probing_bundle

LIMITS = SandboxLimits(soft_seconds=30, hard_seconds=60, load_seconds=20, result_bytes=32 << 20)
SEED = 7
HASH = "9f" * 32
ADDRESS = re.compile(r"0x[0-9a-f]{9,}|\b\d{14,15}\b")


@pytest.fixture
async def sandboxes(anyio_backend: str) -> AsyncGenerator[tuple[Sandbox, Sandbox]]:
    """One for examination, one for service; each forks from a process of its own."""
    async with open_sandbox(LIMITS) as one, open_sandbox(LIMITS) as other:
        yield one, other


async def examined(bundle: Bundle, sandbox: Sandbox) -> Any:
    player = Player(bundle, sandbox, seed=SEED)
    (seen,) = await player.play([PlannedCall("look", {})])
    assert seen.is_success, seen
    return lines_of(seen.value)


async def served(bundle: Bundle, sandbox: Sandbox) -> Any:
    session = EnvironmentServer(bundle, sandbox).open_session(key="k", seed=SEED)
    try:
        reply = await session.call("look", {})
    finally:
        await session.aclose()
    return lines_of(json.loads(reply.result.text))


def lines_of(told: Any) -> Any:
    return told | {"lines": told["lines"].split("\n")}


def without_addresses(seen: Any) -> list[str]:
    """What is told of another process, where the kernel or the C library may place things otherwise."""
    return sorted(ADDRESS.sub("#", line) for line in seen["lines"])


async def test_tool_code_sees_the_same_in_examination_and_in_service(
    sandboxes: tuple[Sandbox, Sandbox],
) -> None:
    bundle, (examining, serving) = probing_bundle(), sandboxes
    seen = await examined(bundle, examining)
    for _ in range(2):  # also in a session after others
        told = await served(bundle, examining)
        assert sorted({*seen["lines"]} ^ {*told["lines"]})[:4] == []
        assert told["digest"] == seen["digest"]
    elsewhere = await served(bundle, serving)
    assert without_addresses(elsewhere) == without_addresses(seen)
    lines = "\n".join(seen["lines"])
    now = World.of(bundle.content_hash, bundle.document.clock, SEED).clock + timedelta(seconds=1)
    assert f"datetime.now: {now.astimezone(UTC).replace(tzinfo=None)!r}" in lines
    assert "loaded anew: PermissionError" in lines
    assert "ToolProcess" not in lines
    assert len(seen["lines"]) > 5000


def worlds(clock: datetime) -> list[World]:
    return [World.of(HASH, clock, seed) for seed in range(300)]


def test_sessions_begin_up_to_four_hours_after_the_clock_of_the_document() -> None:
    clock = datetime.fromisoformat("2026-06-05T09:30:00+02:00")
    later = [world.clock - clock for world in worlds(clock)]
    assert timedelta(0) <= min(later) < timedelta(minutes=5)
    assert timedelta(hours=3, minutes=50) < max(later) < timedelta(hours=4)
    assert {world.layout for world in worlds(clock)} == {*range(NUM_LAYOUTS)}
    assert worlds(clock) == worlds(clock)
    assert World.of("8e" * 32, clock, 0) != World.of(HASH, clock, 0)


@pytest.mark.parametrize(
    "time", ["2026-06-05T22:00:00+02:00", "2026-06-05T07:00:00+08:00", "2026-06-05T23:59:59.5Z"]
)
def test_no_session_begins_on_another_day_neither_there_nor_in_utc(time: str) -> None:
    clock = datetime.fromisoformat(time)
    for world in worlds(clock):
        assert world.clock >= clock
        assert world.clock.date() == clock.date()
        assert world.clock.astimezone(UTC).date() == clock.astimezone(UTC).date()
