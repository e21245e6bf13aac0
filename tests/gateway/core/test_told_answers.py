"""An answer that the agent sends before any result showed it solves nothing; one that it was shown may."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.errors import UnknownNameError
from gateway.api.wire import EpisodeRequest
from gateway.episodes.archive import find_record
from gateway.episodes.episode import Episode
from gateway.episodes.record import record_path

REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "coins"}})
"""Of ``add`` the answer is ``3 coins``, of ``read`` it is ``5 coins``."""


@pytest.fixture
async def episode(life: Any) -> AsyncIterator[Episode]:
    async with life() as episodes:
        yield await episodes.create(REQUEST)


def told(home: Path, episode: Episode) -> list[tuple[int, ...]]:
    return [call.told for call in find_record(home, episode.id).finished_calls]


async def test_a_told_answer_solves_nothing_then_or_later_also_in_the_next_life(
    life: Any, home: Path
) -> None:
    async with life() as first:
        episode = await first.create(REQUEST)
        for note in ("of coins", "coins: three 3", "none"):
            await episode.call("add", {"amount": 1, "note": note})
        assert (await episode.call("add", {"amount": 0})).text == "total 3 coins"
        assert episode.state().solved == ()
    async with life() as second:
        episode = await second.get(episode.id)
        await episode.call("add", {"amount": 0})
        await episode.call("add", {"amount": 2})
        await episode.call("read", {})
        assert episode.state().solved == (2,)
    assert told(home, episode) == [(), (1,), (), (), (), (), ()]
    assert find_record(home, episode.id).solved == {2}


async def test_an_answer_that_a_result_shows_only_after_the_call_began_is_told(
    running: Any, episode: Episode, home: Path
) -> None:
    await episode.call("add", {"amount": 3})
    async with running(episode, amount=2) as group:
        group.start_soon(episode.call, "read", {"note": "5 coins"})
        await anyio.wait_all_tasks_blocked()
    assert told(home, episode) == [(), (), (2,)]


async def test_an_answer_that_any_result_showed_may_be_passed_on(
    episode: Episode, home: Path
) -> None:
    await episode.call("add", {"amount": 5})
    await episode.call("read", {"note": "5 coins", "amount": 5})
    assert episode.state().solved == (2,)
    assert told(home, episode) == [(), ()]


async def test_the_record_is_read_once_for_each_answer_that_is_sent(
    episode: Episode, home: Path
) -> None:
    await episode.call("add", {"amount": 5})
    await episode.call("add", {"amount": 0, "note": "5 coins"})
    path = record_path(home / "records", episode.id)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b"?" * (size - 1))
    await episode.call("read", {"note": "5 coins"})
    assert episode.state().solved == (2,)


async def test_words_that_a_refusal_repeats_are_told(episode: Episode, home: Path) -> None:
    with pytest.raises(UnknownNameError, match="5 coins"):
        await episode.call("5 coins", {})
    await episode.call("add", {}, fault="'3 coins' is no JSON")
    assert told(home, episode) == [(2,), (1,)]


async def test_arguments_that_are_too_costly_to_read_tell_every_answer_not_shown(
    episode: Episode, home: Path
) -> None:
    await episode.call("add", {"amount": 5})
    await episode.call("read", {"note": "\ufdfa" * 1000})
    call = find_record(home, episode.id).finished_calls[1]
    assert (call.told, call.solved) == ((1,), (2,))
    assert "4 times as long" in (call.unmatched or "")
