"""The counts of the registry: nothing that was imported is missing in them."""

from collections.abc import Iterable

import pytest

from registry.store.database import Database
from registry.store.stats import Funnel, read_stats

from stored_rows import store_rows


@pytest.mark.both_databases
async def test_every_server_and_tool_is_kept_or_rejected_for_a_reason(database: Database) -> None:
    await database.write(store_rows)
    stats = await database.read(read_stats)
    assert stats.total.servers == Funnel(kept=2, rejected={"duplicate": 1, "too_few_tools": 1})
    assert stats.total.servers.imported == 4
    rejected = {"server_rejected": 2, "not_convertible": 1}
    assert stats.total.tools == Funnel(kept=3, rejected=rejected)
    assert stats.total.tools.imported == 6
    assert stats.tool_versions == 2


async def test_the_sources_add_up_to_the_whole(database: Database) -> None:
    await database.write(store_rows)
    stats = await database.read(read_stats)
    assert list(stats.sources) == ["harbours", "ports"]
    assert stats.sources["ports"].servers == Funnel(rejected={"too_few_tools": 1})
    for what in ("servers", "tools"):
        parts: Iterable[Funnel] = [getattr(source, what) for source in stats.sources.values()]
        whole: Funnel = getattr(stats.total, what)
        assert sum(part.imported for part in parts) == whole.imported
        assert sum(part.kept for part in parts) == whole.kept


async def test_the_breakdowns_are_of_what_is_kept(database: Database) -> None:
    await database.write(store_rows)
    stats = await database.read(read_stats)
    assert stats.provenance == {"live": (1, 2), "crawled": (1, 1)}
    assert stats.domains == {"": 1, "weather": 1}
    assert stats.labelled_by == {"label": 1}
    assert stats.languages == {"": 1, "en": 1}


async def test_an_empty_registry_counts_nothing(database: Database) -> None:
    stats = await database.read(read_stats)
    assert stats.as_json()["servers"] == {"imported": 0, "kept": 0, "rejected": {}}
    assert stats.sources == {}
