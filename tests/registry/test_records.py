"""The index of the episode records follows the files, and never takes their place."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path

import anyio
import pytest

from astra_mcp.errors import RecordError
from registry.store.database import Database
from registry.store.records import (
    EpisodeDigest,
    EpisodeFilter,
    IndexReport,
    Place,
    episodes_near,
    episodes_that_begin,
    find_episodes,
    index_records,
    page_of_episodes,
    store_digests,
)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


class FakeRecords:
    """Reads files of one line, ``source status reward``, and remembers which."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, path: Path) -> EpisodeDigest:
        self.read.append(path.stem)
        words = path.read_text().split()
        if len(words) != 3:
            raise RecordError(f"{path.stem}: line 1 is no event")
        source, status, reward = words
        return EpisodeDigest(
            opened_at=NEW_YEAR + timedelta(hours=int(path.stem[-1], 16)),
            source=source,
            endpoint="*" if source == "all" else None,
            status=status,
            calls=3,
            reward=None if reward == "-" else float(reward),
            failure=None,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with four records."""
    for name, text in {
        "a1": "sold-prices closed 1.0",
        "a2": "sold-prices open -",
        "a3": "tour-100% closed 0.25",
        "a4": "all closed -",
    }.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    return tmp_path


async def found(
    database: Database, report: IndexReport, limit: int = 10, **wanted: object
) -> list[str]:
    fitting = EpisodeFilter(**wanted)  # pyright: ignore[reportArgumentType] - members by name
    return await database.read(lambda s: find_episodes(s, report.present, fitting, limit))


@pytest.mark.both_databases
async def test_episodes_are_found_by_what_their_records_say_the_newest_first(
    database: Database, folder: Path
) -> None:
    report = await index_records(database, folder, FakeRecords())
    assert (report.num_read, report.faults) == (4, ())
    assert await found(database, report) == ["a3", "a2", "a1"]
    assert await found(database, report, limit=1) == ["a3"]
    assert await found(database, report, interactive=True) == ["a4", "a3", "a2", "a1"]
    assert await found(database, report, status="open") == ["a2"]
    assert await found(database, report, source="PRICES") == ["a2", "a1"]
    assert await found(database, report, source="%") == ["a3"]
    assert await found(database, report, min_reward=0.25) == ["a3", "a1"]
    assert await found(database, report, max_reward=0.25) == ["a3"]


@pytest.mark.both_databases
@pytest.mark.parametrize("lately", [2, 3, 100])
async def test_a_list_is_read_page_by_page_to_its_end_and_holds_what_was_heard(
    database: Database, monkeypatch: pytest.MonkeyPatch, lately: int
) -> None:
    monkeypatch.setattr("registry.store.records._LATELY", lately)
    heard = {
        f"{n:02}": EpisodeDigest(
            opened_at=NEW_YEAR + timedelta(seconds=n // 3),  # some at the same moment
            source="Sold-Prices" if n % 2 else "tour_100%",
            endpoint=None,
            status="failed" if n == 6 else "closed",
            calls=n,
            reward=None if n == 6 else n / 10,
            failure="flooded" if n == 6 else None,
        )
        for n in range(8)
    }
    sizes = dict.fromkeys(heard, 100)
    await database.write(lambda s: store_digests(s, heard, sizes))

    async def read(limit: int, **wanted: object) -> list[str]:
        fitting = EpisodeFilter(**wanted)  # pyright: ignore[reportArgumentType] - members by name
        ids: list[str] = []
        after: Place | None = None
        while page := await database.read(
            partial(page_of_episodes, wanted=fitting, after=after, limit=limit)
        ):
            assert all(heard[each.id] == each.digest for each in page)
            ids += [each.id for each in page]
            after = (page[-1].digest.opened_at, page[-1].id)
        return ids

    newest_first = sorted(heard, reverse=True)
    for limit in (1, 2, 3, 50):
        assert await read(limit) == newest_first
        assert await read(limit, source="sold-P") == ["07", "05", "03", "01"]
        assert await read(limit, source="_100%", status="closed") == ["04", "02", "00"]
        assert await read(limit, status="failed") == ["06"]
        assert await read(limit, min_reward=0.5) == ["07", "05"]
    assert await read(1, source="tour-") == []


@pytest.mark.both_databases
async def test_those_of_a_source_are_found_near_a_time_and_among_the_newest(
    database: Database,
) -> None:
    heard = {
        f"{n:02}": EpisodeDigest(
            opened_at=NEW_YEAR + timedelta(hours=n),
            source="odd" if n % 2 else "even",
            endpoint="*" if n == 8 else None,
            status="closed",
            calls=n,
            reward=None,
            failure=None,
        )
        for n in range(20)
    }
    await database.write(lambda s: store_digests(s, heard, dict.fromkeys(heard, 100)))

    async def near(hour: int, *, among: int, limit: int = 9) -> list[str]:
        at = NEW_YEAR + timedelta(hours=hour)
        query = partial(episodes_near, source="even", at=at, among=among, limit=limit)
        found = await database.read(query)
        assert all(heard[each.id] == each.digest for each in found)
        return [each.id for each in found]

    assert await near(6, among=3) == ["18", "06", "04"]  # 08 is of an endpoint
    assert await near(6, among=4) == ["18", "16", "10", "06", "04"]
    assert await near(6, among=100, limit=1) == ["18", "10", "06"]
    assert await near(-1, among=1) == ["00"]


async def test_only_a_record_that_has_grown_or_is_open_is_read_again(
    database: Database, folder: Path
) -> None:
    read = FakeRecords()
    await index_records(database, folder, read)
    read.read.clear()
    (folder / "a1.jsonl").write_text("sold-prices closed 0.125")
    report = await index_records(database, folder, read)
    assert sorted(read.read) == ["a1", "a2"]
    assert await found(database, report, max_reward=0.2) == ["a1"]


async def test_a_broken_record_is_reported_and_the_others_are_indexed(
    database: Database, folder: Path
) -> None:
    await index_records(database, folder, FakeRecords())
    (folder / "a3.jsonl").write_text("half a")
    report = await index_records(database, folder, FakeRecords())
    [fault] = report.faults
    assert (fault.path.name, fault.reason) == ("a3.jsonl", "a3: line 1 is no event")
    assert await found(database, report) == ["a2", "a1"]


async def test_records_of_another_home_are_neither_found_nor_forgotten(
    database: Database, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b5.jsonl").write_text("sold-prices closed 0.5")
    read = FakeRecords()
    await index_records(database, folder, read)
    report = await index_records(database, other, read)
    assert await found(database, report) == ["b5"]
    read.read.clear()
    report = await index_records(database, folder, read)
    assert read.read == ["a2"]
    assert await found(database, report) == ["a3", "a2", "a1"]


async def test_a_record_that_is_gone_is_found_no_more(database: Database, folder: Path) -> None:
    await index_records(database, folder, FakeRecords())
    (folder / "a3.jsonl").unlink()
    report = await index_records(database, folder, FakeRecords())
    assert await found(database, report) == ["a2", "a1"]


async def test_a_home_without_records_has_none(database: Database, tmp_path: Path) -> None:
    report = await index_records(database, tmp_path / "none", FakeRecords())
    assert await found(database, report) == []


@pytest.mark.both_databases
async def test_two_programs_that_index_the_same_records_at_once_both_succeed(
    database: Database, folder: Path
) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(index_records, database, folder, FakeRecords())
    report = await index_records(database, folder, FakeRecords())
    assert await found(database, report) == ["a3", "a2", "a1"]


@pytest.mark.both_databases
async def test_texts_that_no_database_holds_are_indexed_without_them(
    database: Database, tmp_path: Path
) -> None:
    def read(path: Path) -> EpisodeDigest:
        return replace(FakeRecords()(path), source="a\0b", failure="half \ud800")

    (tmp_path / "a1.jsonl").write_text("x closed 1.0")
    report = await index_records(database, tmp_path, read)
    assert await found(database, report, source="a\ufffdb") == ["a1"]


@pytest.mark.both_databases
async def test_a_long_list_of_servers_is_a_source(database: Database, tmp_path: Path) -> None:
    names = ",".join(sha256(str(number).encode()).hexdigest() for number in range(200))
    (tmp_path / "a1.jsonl").write_text(f"{names} closed 1.0")
    report = await index_records(database, tmp_path, FakeRecords())
    assert await found(database, report, source=names[-20:]) == ["a1"]


@pytest.mark.both_databases
async def test_ids_are_found_by_their_beginning(database: Database) -> None:
    ids = ("abcd9", "abce0", "abcef", "abceff", "abcf0")
    heard = {
        id_: EpisodeDigest(
            opened_at=NEW_YEAR,
            source="harbour",
            endpoint=None,
            status="open",
            calls=0,
            reward=None,
            failure=None,
        )
        for id_ in ids
    }
    await database.write(lambda s: store_digests(s, heard, dict.fromkeys(heard, 100)))

    async def begin(beginning: str, limit: int = 9) -> list[str]:
        query = partial(episodes_that_begin, beginning=beginning, limit=limit)
        return [each.id for each in await database.read(query)]

    assert await begin("abce") == ["abce0", "abcef", "abceff"]
    assert await begin("abce", 2) == ["abce0", "abcef"]
    assert await begin("abcef") == ["abcef", "abceff"]
    assert await begin("abd") == []
