"""Files that may be open: new episodes are refused before any could lack one, known ones make room."""

from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import NoFilesError
from gateway.api.wire import EpisodeRequest
from gateway.episodes.record import read_record, record_path
from gateway.machine.files import OpenFiles

REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "coins"}})
LIMIT, USED = 48, 17
NEW = (LIMIT - USED - LIMIT // 3) // 3
"""So many episodes of one environment may be new: each takes a record, a channel and a handle."""
KNOWN = (LIMIT - USED - LIMIT // 3 * 3 // 4) // 3


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.episodes.held.OpenFiles", lambda: OpenFiles(LIMIT, USED))


async def test_an_episode_is_refused_while_its_calls_could_lack_files(life: Any) -> None:
    async with life() as episodes:
        made = [await episodes.create(REQUEST) for _ in range(NEW)]
        with pytest.raises(NoFilesError, match=r"48 files may be open \(ulimit -n\)"):
            await episodes.create(REQUEST)
        await episodes.close(made[0].id)
        await episodes.create(REQUEST)
        state = await episodes.interactive("coins", "ann", ["coins"])
        assert (await state.call("add", {})).text == "total 1 coins"


async def test_known_episodes_take_turns_where_all_together_lack_files(
    life: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("gateway.episodes.held.OpenFiles", lambda: OpenFiles(4096, USED))
        async with life() as first:
            made = [await first.create(REQUEST) for _ in range(4 * KNOWN)]
    async with life() as second:
        for _ in range(2):
            for episode in made:
                await (await second.get(episode.id)).call("add", {})
                assert second.count_open() <= KNOWN
        assert (await (await second.get(made[0].id)).call("read", {})).text == "total 2 coins"
        assert (await second.close(made[1].id)).status is EpisodeStatus.CLOSED
    assert read_record(record_path(home / "records", made[1].id)).agent_calls == 2


def test_a_system_without_a_limit_refuses_nothing() -> None:
    OpenFiles(limit=-1).require(10**6, is_new=True)
