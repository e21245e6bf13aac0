"""Importing: what is stored, what an import again changes, and what becomes of duplicates."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any
from unittest.mock import ANY

import pytest
from sqlalchemy import select
from sqlmodel import col

from astra_mcp.errors import BudgetSpentError, ConfigError
from registry.documents.prepared import PreparedServer
from registry.documents.sources import (
    DocumentFault,
    Provenance,
    Rejection,
    ServerDocument,
    ServerReason,
    ToolDocument,
    ToolReason,
)
from registry.importers.toucan import read as read_toucan
from registry.intake.importing import ImportReport, import_documents
from registry.store.database import Database
from registry.store.servers import ServerFilter, StoredServer, find_server, list_servers
from registry.store.stats import Funnel
from registry.store.tables import ToolRow
from registry.store.version import catalog_version

from plain_documents import prepare, server, tool
from real_documents import TOUCAN, prepare_once, real_data
from registry_dumps import dump

Judge = Callable[[PreparedServer], Awaitable[PreparedServer]]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def _import(
    database: Database,
    documents: Iterable[ServerDocument | DocumentFault],
    now: datetime = NOON,
) -> ImportReport:
    return await import_documents(database, documents, prepare=prepare, now=lambda: now)


async def _find(database: Database, name: str) -> StoredServer:
    return await database.read(partial(find_server, name=name))


async def _list(database: Database, **where: str | None) -> tuple[StoredServer, ...]:
    return await database.read(partial(list_servers, where=ServerFilter(**where)))


async def _names(database: Database) -> list[str]:
    return [s.name for s in await _list(database)]


@pytest.mark.both_databases
async def test_a_document_is_stored_with_all_it_says(database: Database) -> None:
    document = server(
        "weather",
        *(tool("now"), tool("later"), tool("before")),
        name="The Weather",
        description="Tells the weather.",
        version="1.2",
        labels=("Weather",),
        origin={"url": "https://weather.example"},
    )
    await _import(database, [document])
    found = await _find(database, "the-weather")
    assert (found.source, found.key, found.title) == ("plain", "weather", "The Weather")
    assert (found.description, found.version) == ("Tells the weather.", "1.2")
    assert (found.labels, found.origin) == (("Weather",), {"url": "https://weather.example"})
    assert (found.status, found.reason, found.language) == ("kept", None, "en")
    assert (found.imported_at, found.changed_at) == (NOON, NOON)
    assert [t.original_name for t in found.tools] == ["now", "later", "before"]
    assert [spec.name for spec in found.specs] == ["now", "later", "before"]
    assert found.tools[0].notes == ("name: kept",)


async def test_rejected_servers_and_tools_are_stored_with_their_reasons(database: Database) -> None:
    stated: Any = {"name": "odd", "description": "Odd.", "input_schema": ["no object"]}
    small = server("small", "one", tool("two", None), ToolDocument(**stated))
    report = await _import(database, [small, server("empty", tools=())])
    judged = ["server_rejected", "no_description", "not_convertible"]
    assert report == ImportReport(
        servers=Funnel(kept=0, rejected={"no_tools": 1, "too_few_tools": 1}),
        tools=Funnel(kept=0, rejected=dict.fromkeys(judged, 1)),
        added=2,
        changed=0,
        unchanged=0,
        errors=(),
    )
    (found,) = await _list(database, status=None, reason="too_few_tools")
    assert (found.status, found.detail) == ("rejected", "tools: 1 are left")
    assert [t.reason for t in found.tools] == judged
    assert found.tools[2].spec is None
    assert found.tools[2].document == {**stated, "output_schema": None}


async def test_importing_again_changes_nothing(database: Database) -> None:
    documents = [server("a"), server("b"), server("a-copy", "a_find", "a_make", "a_drop")]
    await _import(database, documents)
    before = await database.read(dump)
    report = await _import(database, documents, NOON + timedelta(days=1))
    assert await database.read(dump) == before
    assert (report.added, report.changed, report.unchanged) == (0, 0, 3)
    assert (report.servers.kept, report.servers.rejected) == (2, {"duplicate": 1})


@pytest.mark.both_databases
async def test_a_changed_document_replaces_its_tools_and_nothing_else(database: Database) -> None:
    await _import(database, [server("a"), server("b")])
    other = await _find(database, "b")
    changed = server("a", "one", "two", "three", "four", name="Another title")
    report = await _import(database, [changed], NOON + timedelta(days=1))
    assert (report.added, report.changed, report.unchanged) == (0, 1, 0)
    found = await _find(database, "a")
    assert (found.title, len(found.specs)) == ("Another title", 4)
    assert (found.imported_at, found.changed_at) == (NOON, NOON + timedelta(days=1))
    assert await _find(database, "b") == other


async def test_what_other_rules_make_of_the_same_document_is_a_change(database: Database) -> None:
    document = server("a", tool("one"), tool("two"), tool("three"), tool("four"))

    def stricter(document: ServerDocument) -> PreparedServer:
        prepared = prepare(document)
        vague = Rejection(ToolReason.VAGUE_DESCRIPTION, "description: a new rule finds it vague")
        first, *rest = prepared.tools
        return replace(prepared, tools=(replace(first, rejection=vague), *rest))

    await _import(database, [document])
    report = await import_documents(database, [document], prepare=stricter)
    assert (report.changed, report.tools.rejected) == (1, {"vague_description": 1})
    assert (await import_documents(database, [document], prepare=stricter)).unchanged == 1


async def test_what_a_file_does_not_name_stays(database: Database) -> None:
    await _import(database, [server("a"), server("b")])
    await _import(database, [server("c")])
    assert await _names(database) == ["a", "b", "c"]


async def test_the_version_counts_transactions_that_change_something(database: Database) -> None:
    assert await database.read(catalog_version) == 0
    await _import(database, [server("a"), server("b")])
    assert await database.read(catalog_version) == 1
    await _import(database, [server("a"), server("b")])
    assert await database.read(catalog_version) == 1
    await _import(database, [server("a"), server("b", "x", "y", "z")])
    assert await database.read(catalog_version) == 2
    revisions = [(await _find(database, name)).revision for name in ("a", "b")]
    assert revisions == [1, 2]


async def test_of_servers_with_the_same_tools_the_first_stored_is_kept(database: Database) -> None:
    copies = [server(key, "one", "two", "three") for key in ("b", "a", "c")]
    report = await _import(database, copies)
    assert report.servers.rejected == {"duplicate": 2}
    assert report.tools.rejected == {"server_rejected": 6}
    assert await _names(database) == ["b"]
    (found, _) = await _list(database, status=None, reason="duplicate")
    assert (found.key, found.detail) == ("a", "tools: the same as those of b")


async def test_equal_tools_in_another_order_are_no_duplicate_and_are_stored_once(
    database: Database,
) -> None:
    turned = [server("a", "one", "two", "three"), server("b", "two", "one", "three")]
    report = await _import(database, [*turned, server("c", "one", "two", "four")])
    assert report.servers.kept == 3
    hashes = await database.read(lambda session: session.scalars(select(col(ToolRow.hash))).all())
    assert len(hashes) == 4


async def test_a_duplicate_is_kept_when_its_twin_changes(database: Database) -> None:
    await _import(database, [server(key, "one", "two", "three") for key in "ab"])
    report = await _import(database, [server("a")], NOON + timedelta(days=1))
    assert report.servers.kept == 1
    _, found = sorted(await _list(database), key=lambda s: s.key)
    assert found.changed_at == NOON + timedelta(days=1)
    assert (found.key, found.reason, found.detail) == ("b", None, "")
    assert [t.status for t in found.tools] == ["kept"] * 3


async def test_a_document_that_comes_to_repeat_another_is_rejected(database: Database) -> None:
    await _import(database, [server("a"), server("b", "one", "two", "three")])
    await _import(database, [server("a", "one", "two", "three")])
    assert await _names(database) == ["b"]
    found = await _find(database, "a")
    assert (found.reason, found.detail) == ("duplicate", "tools: the same as those of b")


@pytest.mark.both_databases
async def test_duplicates_name_the_one_that_is_kept_now(database: Database) -> None:
    copies = [server(key, "one", "two", "three") for key in ("a", "b", "c")]
    await _import(database, copies)
    await _import(database, [server("a")])
    (rejected,) = await _list(database, status="rejected")
    kept = {s.key: s.name for s in await _list(database)}
    assert rejected.key == "c"
    assert rejected.detail == f"tools: the same as those of {kept['b']}"


async def test_a_tool_with_a_fault_of_its_own_keeps_it_when_its_server_is_judged_again(
    database: Database,
) -> None:
    listed = ("one", "two", "three", tool("four", None))
    await _import(database, [server("a", *listed), server("b", *listed)])
    await _import(database, [server("a")])
    (found,) = [s for s in await _list(database) if s.key == "b"]
    assert [t.reason for t in found.tools] == [None, None, None, "no_description"]


async def test_a_live_server_takes_the_place_of_a_crawled_one(database: Database) -> None:
    tools = ("one", "two", "three")
    await _import(database, [server("read", *tools, provenance=Provenance.CRAWLED)])
    await _import(database, [server("live", *tools)])
    assert await _names(database) == ["live"]
    assert (await _find(database, "read")).detail == "tools: the same as those of live"


SUFFIXED = "weather-04be84"
"""6 digits of: printf '["plain","b"]' | sha256sum"""


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ([server("a", name="Weather")], ["weather", SUFFIXED]),
        ([server("a", "one", name="Weather")], ["weather"]),
        ([server("x", name=SUFFIXED), server("a", name="Weather")], ["weather", SUFFIXED, ANY]),
    ],
    ids=["kept", "rejected", "suffix taken too"],
)
async def test_a_name_that_a_kept_server_has_gets_a_suffix_of_its_own(
    database: Database, first: list[ServerDocument], names: list[str]
) -> None:
    await _import(database, [*first, server("b", name="Weather")])
    found = await _names(database)
    assert found == names
    assert len(set(found)) == len(names)
    assert all(name.startswith("weather") for name in found)


async def test_a_suffixed_name_is_no_longer_than_others(database: Database) -> None:
    await _import(database, [server("a", name="w" * 64), server("b", name="w" * 64)])
    assert [len(name) for name in await _names(database)] == [64, 64]


async def test_a_server_keeps_its_name_when_its_title_changes(database: Database) -> None:
    await _import(database, [server("a", name="Weather")])
    await _import(database, [server("a", name="Climate")])
    assert (await _find(database, "weather")).title == "Climate"


async def test_faults_are_reported_and_the_rest_is_imported(database: Database) -> None:
    fault = DocumentFault(line=2, reason="is no JSON")
    report = await _import(database, [server("a"), fault, server("b")])
    assert report.servers.kept == 2
    assert report.errors == (fault,)


async def test_of_documents_with_one_key_the_first_counts(database: Database) -> None:
    report = await _import(database, [server("a"), server("a", "one", "two", "three")])
    assert [fault.line for fault in report.errors] == [2]
    assert (await _find(database, "a")).specs[0].name == "a_find"
    assert (report.added, report.servers.imported) == (1, 1)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("a" * 513, "its key is longer than 512 characters: 'aaa"),
        ("nul\x00", "its key holds characters that no database keeps: 'nul"),
        ("half \ud83d", "its key holds characters that no database keeps: 'half"),
    ],
)
async def test_a_key_that_cannot_be_found_again_is_an_error(
    database: Database, key: str, said: str
) -> None:
    report = await _import(database, [server("a"), server(key)])
    (fault,) = report.errors
    assert fault.line == 2
    assert fault.reason.startswith(said)
    assert report.servers.imported == 1


@pytest.mark.parametrize("text", ["nul \x00 inside", "half \ud83d a character", "\U0001f324 天气"])
@pytest.mark.both_databases
async def test_texts_of_any_characters_are_stored(database: Database, text: str) -> None:
    prepared = prepare(server("a"))
    document = replace(
        prepared.document, name=text, description=text, origin={"url": text}, labels=(text,)
    )
    place = replace(prepared.tools[0], document=replace(prepared.tools[0].document, name=text))
    prepared = replace(prepared, document=document, tools=(place, *prepared.tools[1:]))
    await import_documents(database, [document], prepare=lambda _: prepared)
    found = await _find(database, "a")
    storable = text.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")
    assert (found.title, found.description) == (storable, storable)
    assert found.tools[0].original_name == storable
    assert (found.labels, found.origin) == ((text,), {"url": text})


@pytest.mark.both_databases
async def test_numbers_that_are_none_of_json_are_stored_as_texts(database: Database) -> None:
    prepared = prepare(
        server("a", *"bcd", ToolDocument(name="e", description="E.", input_schema=0))
    )
    odd = replace(prepared.tools[3].document, input_schema=[float("nan"), float("-inf")])
    document = replace(prepared.document, origin={"stars": float("inf")})
    tools = (*prepared.tools[:3], replace(prepared.tools[3], document=odd))
    prepared = replace(prepared, document=document, tools=tools)
    await import_documents(database, [document], prepare=lambda _: prepared)
    found = await _find(database, "a")
    assert found.origin == {"stars": "Infinity"}
    assert found.tools[3].document is not None
    assert found.tools[3].document["input_schema"] == ["NaN", "-Infinity"]


MANY = [server(f"server{i:03}") for i in range(119)]
NAMES_OF_A_BATCH = [document.name for document in MANY[:50]]


async def test_more_documents_than_a_batch_holds_are_told_batch_by_batch(
    database: Database,
) -> None:
    heard: list[tuple[int, int]] = []
    fault = DocumentFault(line=120, reason="is no JSON")
    report = await import_documents(
        database,
        iter([*MANY, fault]),
        prepare=prepare,
        hear=lambda read, errors: heard.append((read, errors)),
    )
    assert heard == [(50, 0), (100, 0), (120, 1), (120, 1)]
    assert (report.servers.kept, report.tools.kept) == (119, 357)


async def test_a_judge_is_asked_before_anything_is_stored(database: Database) -> None:
    async def judge(prepared: PreparedServer) -> PreparedServer:
        if prepared.document.key == "b":
            rejection = Rejection(ServerReason.TOO_FEW_TOOLS, "the judge finds them vague")
            return replace(prepared, rejection=rejection)
        return prepared

    documents = map(server, "abc")
    report = await import_documents(database, documents, prepare=prepare, judge=judge)
    assert await _names(database) == ["a", "c"]
    assert report.servers.rejected == {"too_few_tools": 1}


def judge_that_raises(error: Exception) -> Judge:
    """Judges 60 servers."""

    async def judge(prepared: PreparedServer) -> PreparedServer:
        if prepared.document.key == "server060":
            raise error
        return prepared

    return judge


async def test_an_import_whose_judge_may_cost_no_more_ends_and_reports_the_batches_before(
    database: Database,
) -> None:
    judge = judge_that_raises(BudgetSpentError("the budget of 60 calls is spent"))
    report = await import_documents(database, MANY[:70], prepare=prepare, judge=judge)
    assert await _names(database) == NAMES_OF_A_BATCH
    assert (report.added, report.servers.imported) == (50, 50)
    assert report.stopped == "the budget of 60 calls is spent"


async def test_a_judge_that_fails_otherwise_leaves_the_batches_before(database: Database) -> None:
    judge = judge_that_raises(ConfigError("no such model"))
    with pytest.raises(ConfigError):
        await import_documents(database, MANY[:70], prepare=prepare, judge=judge)
    assert await _names(database) == NAMES_OF_A_BATCH


async def test_an_empty_file_imports_nothing(database: Database) -> None:
    report = await _import(database, [])
    assert report.servers.imported == 0
    assert await database.read(catalog_version) == 0


@pytest.mark.parametrize(
    ("num_servers", "num_tools"),
    [(200, 1248), pytest.param(1482, 4034 + 8311, marks=pytest.mark.volume)],
)
async def test_real_documents_add_up_and_change_nothing_when_they_are_imported_again(
    database: Database, num_servers: int, num_tools: int
) -> None:
    documents = list(islice(read_toucan(real_data(TOUCAN)), num_servers))
    report = await import_documents(database, documents, prepare=prepare_once)
    before = await database.read(dump)
    assert report.servers.imported == report.added == len(before["server"]) == num_servers
    assert report.tools.imported == len(before["server_tool"]) == num_tools
    kept = [row["tools_hash"] for row in before["server"] if row["status"] == "kept"]
    assert len(kept) == len(set(kept)) == report.servers.kept > 0
    assert report.errors == ()
    again = await import_documents(database, documents, prepare=prepare_once)
    assert await database.read(dump) == before
    unchanged = (report.servers, report.tools, num_servers)
    assert (again.servers, again.tools, again.unchanged) == unchanged
