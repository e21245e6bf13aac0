"""Three APIs of the size of real ones: every operation becomes a tool that can be called and published."""

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from astra_mcp.domains import Domain
from astra_mcp.schemas import compile_schema
from astra_mcp.types import JsonValue
from registry.documents.preparation import prepare_server
from registry.documents.prepared import PreparedServer
from registry.documents.sources import ServerDocument
from registry.importers.detection import detect
from registry.importers.openapi.document import read
from registry.published.server_json import PublishedServer, parse_server, render_server

DOCUMENTS = Path(__file__).parent / "documents"
SIZES = {"property-management.yaml": 130, "freight.json": 115, "clinic.yaml": 87}
OFFICIAL = jsonschema_rs.validator_for(
    json.loads((Path(__file__).parent / "server.schema.json").read_text(encoding="utf-8")),
    validate_formats=True,
    offline=True,
)


@pytest.fixture(scope="module", params=sorted(SIZES))
def path(request: pytest.FixtureRequest) -> Path:
    """Of one of the documents."""
    return DOCUMENTS / request.param


@pytest.fixture(scope="module")
def server(path: Path) -> ServerDocument:
    """As it is read, without a fault."""
    (server,) = read(path)
    assert isinstance(server, ServerDocument)
    return server


@pytest.fixture(scope="module")
def prepared(server: ServerDocument) -> PreparedServer:
    """Ready to be stored."""
    return prepare_server(server)


def references(value: JsonValue) -> Iterator[str]:
    """Every ``$ref`` in a value."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from references(part)


def test_every_operation_is_a_tool_with_a_name_of_its_own(
    path: Path, server: ServerDocument
) -> None:
    names = [tool.name for tool in server.tools]
    assert len(names) == len(set(names)) == SIZES[path.name]
    assert all(tool.description for tool in server.tools)
    assert detect(path).name == "openapi"


def test_every_reference_names_a_definition_of_its_tool(server: ServerDocument) -> None:
    num_references = 0
    for tool in server.tools:
        for schema in (tool.input_schema, tool.output_schema):
            for reference in references(schema):
                assert isinstance(schema, dict)
                definitions = schema["$defs"]
                assert isinstance(definitions, dict)
                assert reference.removeprefix("#/$defs/") in definitions, tool.name
                num_references += 1
    assert num_references > 100


def test_every_schema_is_valid_once_it_is_normalised(prepared: PreparedServer) -> None:
    assert prepared.rejection is None
    for tool in prepared.tools:
        assert tool.rejection is None, tool.document.name
        assert tool.spec is not None
        compile_schema(tool.spec.input_schema)


def test_the_domain_is_known_by_the_labels(path: Path, prepared: PreparedServer) -> None:
    domains = {
        "property-management.yaml": {Domain.REAL_ESTATE},
        "freight.json": {Domain.TRANSPORTATION, Domain.LOGISTICS},
        "clinic.yaml": {Domain.HEALTHCARE},
    }
    assert prepared.domain in domains[path.name]


def test_its_server_json_is_valid_and_gives_the_same_tools_back(prepared: PreparedServer) -> None:
    specs = tuple(tool.spec for tool in prepared.tools if tool.spec is not None)
    document = prepared.document
    published = PublishedServer(
        name=prepared.name,
        title=document.name,
        description=document.description,
        version=document.version,
        labels=document.labels,
        origin=document.origin,
        tools=specs,
    )
    rendered = json.loads(json.dumps(render_server(published)))
    OFFICIAL.validate(rendered)
    again = prepare_server(parse_server(rendered))
    assert tuple(tool.spec for tool in again.tools) == specs
    assert [tool.hash for tool in again.tools] == [tool.hash for tool in prepared.tools]
