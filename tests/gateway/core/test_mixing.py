"""Distractors in episodes: what is shown, in which order, what calls of them do, and what is restored."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import (
    ConfigError,
    ModelError,
    ModelFault,
    NotAvailableError,
    RegistryError,
    UpstreamError,
)
from astra_mcp.types import EmulatorKind, Origin, ServerKind, tools_hash
from gateway.api.seams import Distractor, ScopedTool
from gateway.api.wire import DistractorMix, EpisodeRequest, LeftOutDistractor
from gateway.episodes.archive import find_record, replay_record, tell_record
from gateway.episodes.episode import Episode
from gateway.episodes.live import Episodes, open_episodes

from counted_servers import QUESTION, CountedCatalog, CountedServer, FakeDistractorIndex, tool

SECRET = b"0" * 32
SHIPS = CountedServer("ships", (tool("look"), tool("load"), tool("sail")))
LAMPS = CountedServer("lamps", (tool("shine"), tool("dim"), tool("look")))
BIRDS = CountedServer("birds", (tool("sing"), tool("fly")))
CHOSEN = (
    Distractor("lamps", "shine", "high"),
    Distractor("birds", "sing", "medium"),
    Distractor("birds", "fly", "low"),
)


def servers(**changes: Any) -> list[CountedServer]:
    """Fresh ones, changed by name."""
    fresh = [CountedServer(s.name, s.tools) for s in (SHIPS, LAMPS, BIRDS)]
    for server in fresh:
        for name, value in changes.get(server.name, {}).items():
            setattr(server, name, value)
    return fresh


def asking(seed: int = 7, *, mode: str | None = "banded", **fields: Any) -> EpisodeRequest:
    distractors = {"mode": mode, "k": 2} if mode else None
    body = {"source": {"kind": "environment", "name": "ships"}, "seed": seed, **fields}
    return EpisodeRequest.model_validate({**body, "distractors": distractors})


@asynccontextmanager
async def opened(
    home: Path,
    *chosen: Distractor,
    of: list[CountedServer] | None = None,
    gold: tuple[str, ...] = ("look",),
    index: FakeDistractorIndex | None = None,
    **kwargs: Any,
) -> AsyncGenerator[Episodes]:
    catalog = CountedCatalog(*(of or servers()), gold=gold)
    index = index or FakeDistractorIndex(chosen)
    async with open_episodes(catalog, home, secret=SECRET, distractors=index, **kwargs) as episodes:
        yield episodes


def shown(episode: Episode) -> list[str]:
    return [tool.name for tool in episode.tools]


async def test_the_index_is_asked_by_the_episodes_own_tools(tmp_path: Path) -> None:
    index = FakeDistractorIndex(CHOSEN)
    async with opened(tmp_path, index=index) as episodes:
        await episodes.create(asking(seed=3))
    (asked,) = index.asked
    assert asked == {
        "scope": tuple(ScopedTool("ships", tool) for tool in SHIPS.tools),
        "mode": "banded",
        "k": 2,
        "seed": 3,
        "taken": ("load", "look", "sail"),
    }


@pytest.mark.claim("P29")
async def test_distractors_are_shown_under_their_own_names_among_the_others(tmp_path: Path) -> None:
    """ASTRA 3.2.2: the sampled tools augment the tool list that is presented to the model."""
    async with opened(tmp_path, *CHOSEN) as episodes:
        episode = await episodes.create(asking())
        assert sorted(shown(episode)) == ["fly", "load", "look", "sail", "shine", "sing"]
        assert episode.tools_hash == tools_hash(episode.tools)
        opened_event = find_record(tmp_path, episode.id).opened
    bands = {t.shown: (t.server, t.band) for t in opened_event.tools if t.distractor}
    assert bands == {
        "shine": ("lamps", "high"),
        "sing": ("birds", "medium"),
        "fly": ("birds", "low"),
    }
    assert [t.shown for t in opened_event.tools] == shown(episode)
    assert list(opened_event.servers) == ["ships", "birds", "lamps"]
    assert opened_event.distractors == DistractorMix(mode="banded", k=2, shortfall={}, left_out=())


async def test_the_order_is_the_seeds_and_tells_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, *CHOSEN) as episodes:
        orders = [shown(await episodes.create(asking(seed))) for seed in (*range(40), 0)]
    assert orders[0] == orders[40]
    assert len({tuple(order) for order in orders}) > 30
    firsts = [order[0] for order in orders]
    assert set(firsts) == {"look", "load", "sail", "shine", "sing", "fly"}


@pytest.mark.parametrize("mode", [None, "none"])
async def test_without_distractors_the_list_stays_as_the_servers_have_it(
    tmp_path: Path, mode: str | None
) -> None:
    index = FakeDistractorIndex(CHOSEN)
    async with opened(tmp_path, index=index) as episodes:
        episode = await episodes.create(asking(mode=mode))
        assert shown(episode) == ["look", "load", "sail"]
        assert find_record(tmp_path, episode.id).opened.distractors is None
    assert index.asked == []


async def test_a_distractor_reaches_its_own_server_counts_and_solves_nothing(
    tmp_path: Path,
) -> None:
    of = servers()
    ships, lamps, birds = of
    # The job's tool is none of the environment's: what matches is a distractor's result alone.
    async with opened(tmp_path, *CHOSEN, of=of, gold=("shine",)) as episodes:
        episode = await episodes.create(asking())
        assert (await episode.call("shine", {"a": 1})).text == "300 tons"
        await episode.call("look", {})
        state = episode.state()
        assert (state.calls, state.solved) == (2, ())
        distractor, own = tell_record(*await episodes.recorded(episode.id)).calls
    assert (distractor.server, distractor.is_distractor) == ("lamps", True)
    assert (distractor.origin, distractor.solved) == (Origin.TOOL, ())
    assert (own.server, own.is_distractor) == ("ships", False)
    assert (lamps.reached["shine"], ships.reached["look"], birds.reached) == (1, 1, {})


async def test_of_a_distractors_server_no_other_tool_can_be_called(tmp_path: Path) -> None:
    of = servers()
    async with opened(tmp_path, *CHOSEN, of=of) as episodes:
        episode = await episodes.create(asking())
        with pytest.raises(Exception, match="Unknown tool: dim"):
            await episode.call("dim", {})
        assert [u.name for u in episode.own_upstreams] == ["ships"]
    assert not of[1].reached


async def test_what_cannot_be_shown_is_left_out_and_written_down(tmp_path: Path) -> None:
    chosen = (
        Distractor("lamps", "shine", "high"),
        Distractor("lamps", "look", "high"),
        Distractor("lamps", "gone", "medium"),
        Distractor("birds", "sing", "low"),
        Distractor("stones", "roll", "low"),
        Distractor("ships", "load", None),
    )
    index = FakeDistractorIndex(chosen, shortfall={"low": 1})
    of = servers(birds={"fault": "the birds have flown"})
    async with opened(tmp_path, of=of, index=index) as episodes:
        episode = await episodes.create(asking())
        assert sorted(shown(episode)) == ["load", "look", "sail", "shine"]
        record = tell_record(*await episodes.recorded(episode.id))
    assert list(record.servers) == ["ships", "lamps"]
    assert record.distractors is not None
    assert record.distractors.shortfall == {"high": 1, "medium": 1, "low": 3, "random": 1}
    assert record.distractors.left_out == tuple(
        LeftOutDistractor(server=d.server, tool=d.tool, band=d.band, reason=reason)
        for d, reason in zip(
            chosen[1:],
            (
                "a tool of this name is shown already",
                "its server does not list it any more",
                "the birds have flown",
                "no server is named 'stones'; see /v1/servers",
                "its server is one of the episode's own",
            ),
            strict=True,
        )
    )


async def test_of_two_distractors_of_one_name_the_first_is_shown(tmp_path: Path) -> None:
    twice = (Distractor("lamps", "shine", "high"), Distractor("birds", "shine", "low"))
    of = servers(birds={"tools": (tool("shine"),)})
    async with opened(tmp_path, *twice, of=of) as episodes:
        episode = await episodes.create(asking())
        await episode.call("shine", {})
        record = tell_record(*await episodes.recorded(episode.id))
    assert record.distractors is not None
    assert [(d.server, d.tool) for d in record.distractors.left_out] == [("birds", "shine")]
    assert of[1].reached == {"shine": 1}


async def test_a_name_that_own_tools_share_is_taken_although_they_show_their_servers(
    tmp_path: Path,
) -> None:
    of = servers(birds={"tools": (tool("look"), tool("fly"))})
    source = {"kind": "servers", "names": ["ships", "birds"]}
    async with opened(tmp_path, Distractor("lamps", "look", "high"), of=of) as episodes:
        episode = await episodes.create(asking(source=source))
    assert sorted(shown(episode)) == ["birds__look", "fly", "load", "sail", "ships__look"]


async def test_an_episode_is_restored_with_the_very_list_that_it_had(tmp_path: Path) -> None:
    async with opened(tmp_path, *CHOSEN) as first:
        episode = await first.create(asking())
        await episode.call("sing", {}, call_id="a")
        before = episode.tools
    index = FakeDistractorIndex((), error=RegistryError("nobody asks again"))
    of = servers()
    async with opened(tmp_path, of=of, index=index) as second:
        restored = await second.get(episode.id)
        assert restored.tools == before
        assert restored.tools_hash == tools_hash(before)
        assert (await restored.call("fly", {})).text == "300 tons"
        assert [u.name for u in restored.own_upstreams] == ["ships"]
        calls = tell_record(*await second.recorded(episode.id)).calls
    assert [c.is_distractor for c in calls] == [True, True]
    (session,) = of[2].opened
    assert [call.tool for call in session.past] == ["sing"]
    assert index.asked == []


async def test_an_episode_whose_distractor_has_changed_cannot_go_on(tmp_path: Path) -> None:
    async with opened(tmp_path, *CHOSEN) as first:
        episode = await first.create(asking())
    async with opened(tmp_path, *CHOSEN, of=servers(birds={"version": "v2"})) as second:
        state = (await second.get(episode.id)).state()
    assert state.status is EpisodeStatus.FAILED
    assert state.failure is not None
    assert "birds changed" in state.failure.message


async def test_emulated_servers_answer_by_the_emulator_that_is_recorded(tmp_path: Path) -> None:
    made_up = {"kind": ServerKind.EMULATOR, "emulator": EmulatorKind.MODEL}
    of = servers(ships=made_up, lamps=made_up)
    async with opened(tmp_path, *CHOSEN, of=of) as episodes:
        episode = await episodes.create(asking(failures={"rate": 0}))
        for name in ("look", "shine", "sing"):
            await episode.call(name, {})
        record = tell_record(*await episodes.recorded(episode.id))
    assert record.emulators == {"ships": EmulatorKind.MODEL, "lamps": EmulatorKind.OFFLINE}
    assert [call.emulator for call in record.calls] == [
        EmulatorKind.MODEL,
        EmulatorKind.OFFLINE,
        None,
    ]
    ships, lamps, birds = (server.opened[0] for server in of)
    assert (ships.emulator, ships.prompt) == (EmulatorKind.MODEL, QUESTION)
    assert (lamps.emulator, lamps.prompt) == (EmulatorKind.OFFLINE, None)
    assert birds.emulator is None

    other = EmulatorKind.MODEL
    again = servers(ships=made_up | {"emulator": EmulatorKind.OFFLINE}, lamps=made_up)
    async with opened(tmp_path, *CHOSEN, of=again, emulator=other) as second:
        await (await second.get(episode.id)).call("shine", {})
    restored = [server.opened[0] for server in again]
    assert [s.emulator for s in restored[:2]] == [EmulatorKind.MODEL, EmulatorKind.OFFLINE]
    assert [s.prompt for s in restored[:2]] == [QUESTION, None]
    assert [call.tool for call in restored[1].past] == ["shine"]
    assert restored[1].past[0].result is not None

    fresh = servers(ships=made_up, lamps=made_up)
    replay = await replay_record(find_record(tmp_path, episode.id), CountedCatalog(*fresh))
    assert (replay.compared, replay.divergences) == (4, ())
    assert fresh[1].opened[0].emulator is EmulatorKind.OFFLINE


async def test_distractors_of_an_emulated_kind_do_not_make_an_episode_fail(tmp_path: Path) -> None:
    of = servers(lamps={"kind": ServerKind.EMULATOR})
    async with opened(tmp_path, *CHOSEN, of=of) as episodes:
        assert (await episodes.create(asking())).state().failures.rate == 0


async def test_a_gateway_without_an_index_says_so(tmp_path: Path) -> None:
    async with open_episodes(CountedCatalog(*servers()), tmp_path, secret=SECRET) as episodes:
        with pytest.raises(NotAvailableError, match=r"distractors: .*no pool of tools"):
            await episodes.create(asking())
        await episodes.create(asking(mode="none"))


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ConfigError("models.embedding.model is not set"), NotAvailableError),
        (ModelError("the endpoint is silent", ModelFault.TIMEOUT), UpstreamError),
        (RegistryError("the database is down"), UpstreamError),
    ],
)
async def test_an_index_that_fails_opens_no_episode_and_says_why(
    tmp_path: Path, error: Exception, raised: type[Exception]
) -> None:
    index = FakeDistractorIndex((), error=error)
    async with opened(tmp_path, index=index) as episodes:
        with pytest.raises(raised, match="distractors") as refused:
            await episodes.create(asking())
        assert str(error) in str(refused.value)
        assert episodes.count_open() == 0
