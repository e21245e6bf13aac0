"""What section 2.1.1 of the paper says of tool documents, on documents of several sources."""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.documents.preparation import prepare_server
from registry.importers.detection import detect
from registry.intake.importing import import_documents
from registry.store.database import Database
from registry.store.servers import list_servers

TEXTS = {
    "tide": "Tell the height of the tide at an hour",
    "fee": "Compute what a ship pays for a night",
    "ships": "List the ships that lie in the harbour",
}
HOUR = {"name": "hour", "in": "query", "schema": {"type": "number"}}
API: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Harbour API", "version": "1"},
    "paths": {
        f"/{name}": {"get": {"operationId": name, "summary": text, "parameters": [HOUR]}}
        for name, text in TEXTS.items()
    },
}
TOOLS = [
    {
        "name": f"port_{name}",
        "description": text,
        "inputSchema": {"type": "object", "properties": {"hour": {"type": "number"}}},
    }
    for name, text in TEXTS.items()
]
SERVER = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "org.example/port",
    "description": "A port",
    "version": "1.0.0",
    "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"tools": TOOLS}},
}
FUNCTIONS = [
    {
        "name": f"quay_{name}",
        "description": text,
        "parameters": {"type": "dict", "properties": {"hour": {"type": "float"}}},
    }
    for name, text in TEXTS.items()
]


@pytest.mark.claim("P13")
@pytest.mark.claim("P16")
async def test_documents_of_all_sources_stand_side_by_side_in_the_form_of_openai_functions(
    database: Database, tmp_path: Path
) -> None:
    for name, value in {"api.json": API, "server.json": SERVER, "set.json": FUNCTIONS}.items():
        path = tmp_path / name
        path.write_text(json.dumps(value))
        documents = detect(path).read(path)
        report = await import_documents(database, documents, prepare=prepare_server)
        assert (report.servers.kept, report.tools.kept, report.errors) == (1, 3, ())
    servers = await database.read(list_servers)
    assert {s.source for s in servers} == {"openapi", "server_json", "functions"}
    for server in servers:
        for tool in server.specs:
            rendered: Any = tool.as_openai()
            assert rendered["type"] == "function"
            parameters = rendered["function"]["parameters"]
            assert parameters["type"] == "object"
            assert parameters["properties"]["hour"]["type"] == "number"
