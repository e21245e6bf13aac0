"""An exported catalog is whole, equal for equal content, and never written over another one."""

import json
import sys
from collections.abc import AsyncGenerator
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from astra_mcp.errors import ConfigError, RegistryError
from astra_mcp.types import JsonObject
from registry.documents.preparation import prepare_server
from registry.documents.stored import ServerFacts
from registry.importers import toucan
from registry.intake.importing import import_documents
from registry.published.export import Export, export_catalog
from registry.published.export_files import ExportFormat
from registry.published.frozen import MANIFEST, read_catalog
from registry.store.database import Database, open_database
from registry.store.servers import ServerFilter, list_servers

from real_documents import TOUCAN, real_data
from stored_rows import BROKEN, RAIN, WIND, hash_of, store_rows

FORMATS = list(ExportFormat)


@pytest.fixture
async def stored(database: Database) -> Database:
    """A registry with two servers that are kept and two that are not."""
    await database.write(store_rows)
    return database


@pytest.fixture
async def other(tmp_path: Path) -> AsyncGenerator[Database]:
    """Another registry, whose servers were stored in another order."""
    async with open_database(f"sqlite:///{tmp_path / 'other.db'}") as opened:
        await opened.write(partial(store_rows, ids=(4, 3, 2, 1)))
        yield opened


async def export(database: Database, folder: Path, written_as: ExportFormat) -> Export:
    return await database.read(lambda s: export_catalog(s, folder, written_as))


def everything_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("written_as", FORMATS)
@pytest.mark.both_databases
async def test_what_is_read_back_is_what_was_stored(
    stored: Database, tmp_path: Path, written_as: ExportFormat
) -> None:
    await export(stored, tmp_path / "frozen", written_as)
    catalog = read_catalog(tmp_path / "frozen")
    assert [s.name for s in catalog.servers] == ["again", "pages", "wind-and-rain", "Ärger-風"]
    server = catalog.servers[2]
    assert (server.title, server.labels, server.version) == ("Wind-And-Rain", ("Weather",), None)
    assert server.origin == {"url": "https://harbour.example", "license": "MIT"}
    assert [place.tool_hash for place in server.tools] == [hash_of(RAIN), None, hash_of(WIND)]
    assert server.tools[1].document == BROKEN
    assert server.tools[2].notes == ("a: the default null is left out",)
    assert catalog.servers[3].reason == "too_few_tools"
    rain = next(tool for tool in catalog.tools if tool.hash == hash_of(RAIN))
    assert rain.model_dump(exclude={"hash"}) == RAIN.model_dump()
    assert list(rain.input_schema["properties"]) == ["z", "a"]


@pytest.mark.parametrize("written_as", FORMATS)
@pytest.mark.both_databases
async def test_equal_content_gives_equal_bytes(
    stored: Database, other: Database, tmp_path: Path, written_as: ExportFormat
) -> None:
    await export(stored, tmp_path / "one", written_as)
    await export(other, tmp_path / "two", written_as)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


async def test_both_formats_hold_the_same_content(stored: Database, tmp_path: Path) -> None:
    formats = (ExportFormat.JSONL, ExportFormat.PARQUET)
    lines, parquet = [(await export(stored, tmp_path / f, f)).manifest for f in formats]
    assert lines.content_hash == parquet.content_hash
    assert lines.servers == {"kept": 2, "rejected": 2}
    assert lines.tools == {"versions": 2, "kept": 3, "rejected": 3}
    assert set(lines.files) == {"servers.jsonl", "tools.jsonl"}


async def test_an_export_of_the_same_content_is_left_as_it_is(
    stored: Database, tmp_path: Path
) -> None:
    first = await export(stored, tmp_path / "frozen", ExportFormat.JSONL)
    before = (tmp_path / "frozen" / MANIFEST).stat().st_mtime_ns
    again = await export(stored, tmp_path / "frozen", ExportFormat.JSONL)
    assert (first.is_new, again.is_new) == (True, False)
    assert again.manifest == first.manifest
    assert (tmp_path / "frozen" / MANIFEST).stat().st_mtime_ns == before


async def test_another_export_or_another_folder_is_never_written_over(
    stored: Database, database: Database, tmp_path: Path
) -> None:
    await export(stored, tmp_path / "frozen", ExportFormat.JSONL)
    (tmp_path / "notes").mkdir()
    for name in ("notes/mine.txt", "file"):
        (tmp_path / name).write_text("mine")
    before = everything_in(tmp_path)
    with pytest.raises(ConfigError, match="holds another export"):
        await export(stored, tmp_path / "frozen", ExportFormat.PARQUET)
    for name in ("notes", "file"):
        with pytest.raises(ConfigError, match="is taken"):
            await export(stored, tmp_path / name, ExportFormat.JSONL)
    assert everything_in(tmp_path) == before


async def test_without_pyarrow_parquet_names_the_extra_and_lines_are_written(
    stored: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"install astra-mcp\[data\], or choose the format jsonl"):
        await export(stored, tmp_path / "frozen", ExportFormat.PARQUET)
    assert everything_in(tmp_path / "frozen") == []
    await export(stored, tmp_path / "frozen", ExportFormat.JSONL)
    assert len(read_catalog(tmp_path / "frozen").servers) == 4


async def test_an_export_into_an_empty_folder_leaves_nothing_beside_it(
    stored: Database, tmp_path: Path
) -> None:
    (tmp_path / "here" / "frozen").mkdir(parents=True)
    await export(stored, tmp_path / "here" / "frozen", ExportFormat.PARQUET)
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["frozen"]


@pytest.mark.parametrize("written_as", FORMATS)
@pytest.mark.parametrize("name", ["servers", "tools"])
async def test_a_file_that_was_changed_is_named(
    stored: Database, tmp_path: Path, written_as: ExportFormat, name: str
) -> None:
    await export(stored, tmp_path / "frozen", written_as)
    path = tmp_path / "frozen" / f"{name}.{written_as}"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RegistryError, match=path.name):
        read_catalog(tmp_path / "frozen")


async def test_content_that_is_not_the_manifests_is_noticed_where_every_hash_was_made_to_fit(
    stored: Database, tmp_path: Path
) -> None:
    folder = tmp_path / "frozen"
    await export(stored, folder, ExportFormat.JSONL)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, "content_hash": "0" * 64}))
    with pytest.raises(RegistryError, match="holds other content"):
        read_catalog(folder)


async def test_a_folder_that_is_no_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=MANIFEST):
        read_catalog(tmp_path)
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(RegistryError, match="format"):
        read_catalog(tmp_path)


@pytest.mark.parametrize("written_as", FORMATS)
async def test_real_documents_come_back_as_they_are_stored(
    tmp_path: Path, written_as: ExportFormat
) -> None:
    documents = islice(toucan.read(real_data(TOUCAN)), 60)
    async with open_database(f"sqlite:///{tmp_path / 'registry.db'}") as database:
        await import_documents(database, documents, prepare=prepare_server)
        stored = await database.read(lambda s: list_servers(s, ServerFilter(status=None)))
        await export(database, tmp_path / "frozen", written_as)
    catalog = read_catalog(tmp_path / "frozen")
    tools = {tool.hash: tool.model_dump(exclude={"hash"}) for tool in catalog.tools}
    assert [s.name for s in catalog.servers] == [s.name for s in stored]
    facts = set(ServerFacts.model_fields)
    for read, kept in zip(catalog.servers, stored, strict=True):
        assert read.model_dump(include=facts) == kept.model_dump(include=facts)
        for place, tool in zip(read.tools, kept.tools, strict=True):
            assert place.model_dump() == tool.model_dump(exclude={"spec"})
            if tool.spec is not None:
                assert canonical(tools[place.tool_hash or ""]) == canonical(tool.spec.model_dump())


def canonical(tool: JsonObject) -> str:
    """Write down a tool with its members in their order."""
    return json.dumps({"output_schema": None, "extra": {}, **tool})
