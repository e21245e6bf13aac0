"""What section 2.1.1 of the paper says of tool documents, on documents of several sources."""

import json
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.domains import Domain
from registry.documents.preparation import prepare_server
from registry.documents.sources import DocumentStream
from registry.importers.detection import detect
from registry.intake.importing import ImportReport, import_documents
from registry.store.database import Database
from registry.store.servers import ServerFilter, StoredServer, find_server, list_servers
from registry.store.stats import read_stats

TEXTS = {
    "tide": "Tell the height of the tide at an hour",
    "fee": "Compute what a ship pays for a night",
    "ships": "List the ships that lie in the harbour",
}


def function(name: str, text: str, **further: Any) -> dict[str, Any]:
    schema = {"type": "dict", "properties": {"hour": {"type": "float"}}}
    return {"name": name, "description": text, "parameters": schema, **further}


def written(path: Path, value: object) -> DocumentStream:
    path.write_text(json.dumps(value))
    return detect(path).read(path)


async def import_value(database: Database, path: Path, value: object) -> ImportReport:
    return await import_documents(database, written(path, value), prepare=prepare_server)


async def servers_of(database: Database, **where: Any) -> tuple[StoredServer, ...]:
    return await database.read(lambda session: list_servers(session, ServerFilter(**where)))


@pytest.mark.claim("P16")
async def test_documents_of_platforms_registries_and_data_sets_stand_side_by_side(
    database: Database, tmp_path: Path
) -> None:
    responses = {"200": {"description": "done"}}
    api = {
        "openapi": "3.0.3",
        "info": {"title": "Harbour API", "version": "1"},
        "paths": {
            f"/{name}": {"get": {"operationId": name, "summary": text, "responses": responses}}
            for name, text in TEXTS.items()
        },
    }
    tools = [
        {"name": f"port_{name}", "description": text, "inputSchema": {"type": "object"}}
        for name, text in TEXTS.items()
    ]
    server = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "org.example/port",
        "description": "A port",
        "version": "1.0.0",
        "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"tools": tools}},
    }
    functions = [function(f"quay_{name}", text) for name, text in TEXTS.items()]
    for name, value in {"api.json": api, "server.json": server, "set.json": functions}.items():
        report = await import_value(database, tmp_path / name, value)
        assert (report.servers.kept, report.tools.kept, report.errors) == (1, 3, ())
    assert {s.source for s in await servers_of(database)} == {"openapi", "server_json", "functions"}


@pytest.mark.claim("P17")
async def test_loose_tools_are_grouped_by_the_service_that_they_come_from(
    database: Database, tmp_path: Path
) -> None:
    functions = [
        function(f"{service}.{name}", f"{text} of the {service}")
        for name, text in TEXTS.items()
        for service in ("harbour", "river")
    ]
    await import_value(database, tmp_path / "set.json", functions)
    assert {s.name: len(s.specs) for s in await servers_of(database)} == {"harbour": 3, "river": 3}


@pytest.mark.claim("P13")
async def test_every_kept_tool_has_the_one_form_of_openai_functions(
    database: Database, tmp_path: Path
) -> None:
    functions = [function(f"harbour.{name}", text) for name, text in TEXTS.items()]
    await import_value(database, tmp_path / "set.json", functions)
    [server] = await servers_of(database)
    for tool in server.specs:
        rendered: Any = tool.as_openai()
        assert rendered["type"] == "function"
        parameters = rendered["function"]["parameters"]
        assert parameters["type"] == "object"
        assert parameters["properties"]["hour"]["type"] == "number"


@pytest.mark.claim("P18")
async def test_a_server_of_fewer_than_three_tools_is_not_kept(
    database: Database, tmp_path: Path
) -> None:
    functions = [function(f"harbour.{name}", text) for name, text in list(TEXTS.items())[:2]]
    report = await import_value(database, tmp_path / "set.json", functions)
    assert report.servers.rejected == {"too_few_tools": 1}
    assert report.tools.rejected == {"server_rejected": 2}


@pytest.mark.claim("P19")
@pytest.mark.parametrize(
    ("description", "reason"),
    [(None, "no_description"), ("  ", "no_description"), ("tool", "vague_description")],
)
async def test_a_tool_that_does_not_say_what_it_does_is_not_kept(
    database: Database, tmp_path: Path, description: str | None, reason: str
) -> None:
    functions = [function(f"harbour.{name}", text) for name, text in TEXTS.items()]
    unclear = function("harbour.mooring", "", description=description)
    report = await import_value(database, tmp_path / "set.json", [*functions, unclear])
    assert (report.tools.kept, report.tools.rejected) == (3, {reason: 1})


@pytest.mark.claim("P20")
async def test_a_tool_whose_schema_cannot_be_mapped_is_not_kept_and_stays_as_it_was_found(
    database: Database, tmp_path: Path
) -> None:
    functions = [function(f"harbour.{name}", text) for name, text in TEXTS.items()]
    odd = function("harbour.mooring", "Moor a ship at a berth", parameters="two strings, please")
    report = await import_value(database, tmp_path / "set.json", [*functions, odd])
    assert report.tools.rejected == {"not_convertible": 1}
    server = await database.read(lambda session: find_server(session, "harbour"))
    [rejected] = [tool for tool in server.tools if tool.status == "rejected"]
    assert rejected.document is not None
    assert "two strings, please" in json.dumps(rejected.document)


@pytest.mark.claim("P21")
async def test_what_is_kept_is_counted_by_one_vocabulary_of_41_domains(
    database: Database, tmp_path: Path
) -> None:
    assert len(Domain) == 41
    functions = [
        function(f"harbour.{name}", text, category="Weather") for name, text in TEXTS.items()
    ]
    await import_value(database, tmp_path / "set.json", functions)
    stats = await database.read(read_stats)
    assert stats.domains == {"weather": 1}
    assert stats.labelled_by == {"label": 1}
