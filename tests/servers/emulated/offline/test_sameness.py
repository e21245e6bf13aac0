"""Equal seeds and equal calls give equal answers, in every process and after every restore."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.types import CallOutcome, JsonValue, PastCall
from servers.emulated.offline.emulator import OfflineEmulator

from emulated_worlds import STYLES, World

ROOT = Path(__file__).parents[4]
STYLE = STYLES[3]


def play(world: World, moves: list[int]) -> list[tuple[PastCall, Any]]:
    """Make calls that the moves choose, each with ids that were seen before."""
    seen: list[Any] = []
    played: list[tuple[PastCall, Any]] = []
    for at, move in enumerate(moves):
        title = f"Item {move}"
        own = {STYLE.id_parameter: str(seen[move % len(seen)]) if seen else "none"}
        calls: list[tuple[str, Mapping[str, JsonValue]]] = [
            (STYLE.listing, {}),
            (STYLE.create, STYLE.members(title)),
            (STYLE.read, own),
            (STYLE.update, {**own, **STYLE.members(title)}),
            (STYLE.delete, own),
            (STYLE.search, {"query": title}),
        ]
        tool, arguments = calls[move % len(calls)] if at else calls[0]
        answer = world.ask(tool, **arguments)
        value: Any = answer.value
        if not answer.is_error:
            seen += [row["id"] for row in value.get(STYLE.nouns, [value]) if "id" in row]
        call = PastCall(tool=tool, arguments=arguments, outcome=CallOutcome.APPLIED)
        played.append((call, (value, answer.is_error)))
    return played


MOVES = st.lists(st.integers(0, 100), min_size=1, max_size=25)


@given(seed=st.integers(0, 2**63), moves=MOVES, cut=st.integers(0, 25))
def test_a_restored_session_goes_on_as_if_it_had_never_ended(
    seed: int, moves: list[int], cut: int
) -> None:
    whole = play(World(STYLE.document, seed=seed), moves)
    rejected = PastCall(tool=STYLE.create, arguments={}, outcome=CallOutcome.REJECTED)
    past = [rejected, *(call for call, _ in whole[:cut])]
    restored = World(STYLE.document, seed=seed)
    anyio.run(restored.state.restore, past)

    for call, (value, is_error) in whole[cut:]:
        answer = restored.ask(call.tool, **call.arguments)
        assert (answer.value, answer.is_error) == (value, is_error)


@given(moves=MOVES)
def test_sessions_know_nothing_of_each_other(moves: list[int]) -> None:
    emulator = OfflineEmulator()
    alone = World(STYLE.document, seed=1)
    one, other = (World(STYLE.document, seed=s, emulator=emulator) for s in (1, 2))
    ids = [{row["id"] for row in w.call(STYLE.listing)[STYLE.nouns]} for w in (one, other, alone)]

    assert ids[0] == ids[2]
    assert ids[0].isdisjoint(ids[1])
    play(other, moves)
    assert one.call(STYLE.listing) == alone.call(STYLE.listing)


def test_another_version_of_a_server_is_another_world() -> None:
    first, second = (World(style.document, seed=1) for style in STYLES[3:5])

    assert first.call(STYLES[3].listing) != second.call(STYLES[4].listing)


def test_answers_are_the_same_in_another_process() -> None:
    program = (
        "import json; from test_sameness import *; "
        "print(json.dumps([told for _, told in play(World(STYLE.document, seed=5), list(range(40)))]))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": f"{ROOT}:{ROOT}/tests/support:{Path(__file__).parent}",
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = [told for _, told in play(World(STYLE.document, seed=5), list(range(40)))]

    assert len(told) == 1
    assert json.loads(told.pop()) == json.loads(json.dumps(here))


async def test_others_have_their_turn_while_a_long_life_is_taken_over() -> None:
    world = World(STYLE.document)
    call = PastCall(tool=STYLE.listing, arguments={}, outcome=CallOutcome.APPLIED)
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(take_turns)
        await world.state.restore([call] * 50)
        group.cancel_scope.cancel()

    assert turns >= 40
