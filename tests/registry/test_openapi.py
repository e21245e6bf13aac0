"""An OpenAPI document as a server: operations, arguments, outputs, and what is broken."""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.documents.sources import DocumentFault, DocumentStream, ServerDocument, ToolDocument
from registry.importers.detection import detect
from registry.importers.openapi.document import read, read_document

Paths = dict[str, Any]
INFO = {"title": "Ferry timetable", "version": "1.0"}
TEXT = {"type": "string"}


def document(paths: Paths, **more: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "info": INFO, "paths": paths, **more}


def server_of(value: dict[str, Any]) -> ServerDocument:
    return found_in(read_document(value, "ferry.json"))[0]


def found_in(stream: DocumentStream) -> tuple[ServerDocument, list[str]]:
    """The server that a document describes, and why parts of it are left out."""
    *faults, server = stream
    assert isinstance(server, ServerDocument)
    return server, reasons_of(faults)


def reasons_of(stream: DocumentStream) -> list[str]:
    return [fault.reason for fault in stream if isinstance(fault, DocumentFault)]


def tool_of(operation: dict[str, Any], path: str = "/ferries", **more: Any) -> ToolDocument:
    (tool,) = server_of(document({path: {"post": operation}}, **more)).tools
    return tool


def schema_of(tool: ToolDocument) -> dict[str, Any]:
    assert isinstance(tool.input_schema, dict)
    return tool.input_schema


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def body(schema: dict[str, Any], kind: str = "application/json", **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {kind: {"schema": schema}}, **more}}


def parameter(name: str, place: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, **more}


def ok(
    schema: dict[str, Any], kind: str = "application/json", status: str = "200"
) -> dict[str, Any]:
    return {"responses": {status: {"description": "OK", "content": {kind: {"schema": schema}}}}}


def faults_of(value: Any) -> list[str]:
    return reasons_of(read_document(value, "ferry.json"))


# --- the server ------------------------------------------------------------------------------------


def test_what_a_document_says_of_itself_becomes_the_server() -> None:
    info = {
        "title": "Ferry timetable",
        "version": "2.3",
        "description": "Departures.",
        "x-long-description": "Departures and fares of all ferries.",
        "x-category": "Travel",
        "license": {"name": "MIT"},
    }
    operation = {"operationId": "list", "tags": ["departures"]}
    paths = {"/a": {"get": operation, "put": operation}, "/b": {"get": {"tags": ["fares"]}}}
    servers = [{"url": "/relative"}, {"url": "https://me:pw@api.ferry.example/v1?token=t"}]
    server = server_of(document(paths, info=info, servers=servers))
    assert (server.name, server.version) == ("Ferry timetable", "2.3")
    assert server.description == "Departures and fares of all ferries."
    assert server.labels == ("Travel", "departures", "fares")
    assert server.key == "https://api.ferry.example/v1#Ferry timetable#ferry.json"
    assert server.origin["url"] == "https://api.ferry.example/v1"
    assert server.origin["license"] == "MIT"


def test_security_schemes_stand_in_the_origin_and_their_parameters_in_no_tool() -> None:
    components: Paths = {
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "query", "name": "api_key", "x-value": "secret-1"},
            "login": {
                "type": "oauth2",
                "flows": {"clientCredentials": {"tokenUrl": "https://l.example", "scopes": {}}},
            },
        }
    }
    operation = {
        "parameters": [
            parameter("api_key", required=True, example="secret-2"),
            parameter("X-RapidAPI-Key", "header", required=True, example="secret-3"),
            parameter("X-RapidAPI-Host", "header"),
            parameter("Authorization", "header"),
            parameter("Accept-Language", "header"),
            parameter("island"),
        ]
    }
    server = server_of(document({"/a": {"get": operation}}, components=components))
    assert list(schema_of(server.tools[0])["properties"]) == ["island", "Accept-Language"]
    assert server.origin["security"] == [
        {"name": "key", "type": "apiKey", "in": "query", "parameter": "api_key"},
        {"name": "login", "type": "oauth2", "flows": ["clientCredentials"]},
    ]
    assert "secret" not in repr(server)


# --- names and descriptions ------------------------------------------------------------------------


def test_a_tool_is_named_by_its_operation_or_by_method_and_path() -> None:
    paths: Paths = {
        "/ferries": {"get": {"operationId": "findFerries"}},
        "/ferries/{ferryId}/crew": {"get": {"parameters": [parameter("ferryId", "path")]}},
        "/a/b": {"get": {}},
        "/a-b": {"get": {}},
    }
    names = [tool.name for tool in server_of(document(paths)).tools]
    assert names == ["findFerries", "get_ferries_ferryId_crew", "get_a_b", "get_a_b_2"]


@pytest.mark.parametrize(
    ("said", "description"),
    [
        ({}, None),
        ({"summary": "Find a ferry"}, "Find a ferry"),
        ({"description": "Finds one."}, "Finds one."),
        ({"summary": "Find", "description": "The next one."}, "Find\n\nThe next one."),
        ({"summary": "Finds", "description": "Finds one."}, "Finds one."),
    ],
)
def test_summary_and_description_are_joined(said: dict[str, Any], description: str | None) -> None:
    assert tool_of(said).description == description


def test_a_tool_remembers_its_method_and_path() -> None:
    assert tool_of({"deprecated": True}).extra == {
        "_meta": {
            "dev.astra-mcp/operation": {"method": "POST", "path": "/ferries", "deprecated": True}
        }
    }


# --- arguments ---------------------------------------------------------------------------------------


def test_parameters_of_all_places_and_the_body_make_one_object() -> None:
    operation = {
        "parameters": [
            parameter("lang", "cookie"),
            parameter("X-Trace", "header"),
            parameter("port", description="Where from.", example="Horta"),
            parameter("ferryId", "path", required=True),
        ],
        **body({**object_of(day=TEXT), "required": ["day"]}),
    }
    schema = schema_of(tool_of(operation, "/ferries/{ferryId}"))
    assert list(schema["properties"]) == ["ferryId", "port", "X-Trace", "lang", "day"]
    assert schema["required"] == ["ferryId", "day"]
    port = {"type": "string", "description": "Where from.", "examples": ["Horta"]}
    assert schema["properties"]["port"] == port


def test_a_name_of_several_places_is_called_after_each_of_them() -> None:
    operation = {
        "parameters": [parameter("id", "path"), parameter("id"), parameter("path_id")],
        **body(object_of(id={"type": "integer"})),
    }
    tool = tool_of(operation, "/ferries/{id}")
    properties = schema_of(tool)["properties"]
    assert set(properties) == {"path_id", "path_id_2", "query_id", "body_id"}
    assert properties["body_id"] == {"type": "integer"}
    meta: Any = tool.extra["_meta"]
    assert meta["dev.astra-mcp/operation"]["arguments"] == {
        "path_id_2": {"in": "path", "name": "id"},
        "query_id": {"in": "query", "name": "id"},
        "body_id": {"in": "body", "name": "id"},
    }


def test_an_operation_has_its_own_parameter_in_place_of_that_of_its_path() -> None:
    shared = [parameter("port", description="Of the path."), parameter("day")]
    own = {"parameters": [parameter("port", description="Its own.")]}
    (tool,) = server_of(document({"/a": {"parameters": shared, "get": own}})).tools
    properties = schema_of(tool)["properties"]
    assert properties["port"]["description"] == "Its own."
    assert "day" in properties


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": TEXT},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"oneOf": [TEXT, {"type": "object"}]},
        {**object_of(a={}), "minProperties": 1},
        {**object_of(a={}), "nullable": True},
    ],
)
def test_a_body_that_is_more_than_its_members_is_one_argument(schema: dict[str, Any]) -> None:
    found = schema_of(tool_of(body(schema, description="What to send.")))
    assert found["required"] == ["body"]
    assert found["properties"] == {"body": {**schema, "description": "What to send."}}


def test_only_a_body_that_is_said_to_be_optional_is_optional() -> None:
    schema = {**object_of(a={}), "required": ["a"]}
    assert schema_of(tool_of(body(schema)))["required"] == ["a"]
    assert "required" not in schema_of(tool_of(body(schema, required=False)))


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("application/vnd.ferry+json; charset=utf-8", ["file", "note"]),
        ("multipart/form-data", ["file", "note"]),
        ("application/x-www-form-urlencoded", ["file", "note"]),
        ("application/xml", ["body"]),
        ("application/octet-stream", ["body"]),
    ],
)
def test_forms_are_spread_like_json_and_other_media_are_not(
    kind: str, arguments: list[str]
) -> None:
    schema = object_of(file={"type": "string", "format": "binary"}, note=TEXT)
    properties = schema_of(tool_of(body(schema, kind)))["properties"]
    assert list(properties) == arguments
    if "file" in properties:
        assert properties["file"] == {"type": "string", "contentEncoding": "base64"}


def test_json_is_chosen_among_media_types() -> None:
    content: Paths = {
        "application/xml": {"schema": TEXT},
        "application/json": {"schema": object_of(a={})},
    }
    schema = schema_of(tool_of({"requestBody": {"content": content}}))
    assert list(schema["properties"]) == ["a"]


# --- outputs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "output"),
    [
        (ok(object_of(a={})), object_of(a={})),
        (ok(TEXT, status="201"), TEXT),
        (ok(TEXT, status="2XX"), TEXT),
        (ok(TEXT, kind="text/csv"), None),
        (ok(TEXT, status="404"), None),
        (ok(TEXT, status="default"), None),
        (ok({}), None),
        ({}, None),
    ],
)
def test_the_first_successful_json_response_is_the_output(
    operation: dict[str, Any], output: dict[str, Any] | None
) -> None:
    assert tool_of(operation).output_schema == output


# --- what is broken ----------------------------------------------------------------------------------

OPERATION = "paths./ferries.post"
FIRST = f"{OPERATION}.parameters[0]"
DAY, CIRCLE = "#/components/parameters/Day", "#/components/parameters/Circle"
ELSEWHERE = "https://schemas.example/ferry.json"
BROKEN: list[tuple[Any, str]] = [
    ("text", f"{OPERATION}: must be an object"),
    ({"parameters": {}}, f"{OPERATION}.parameters: must be a list"),
    ({"parameters": ["x"]}, f"{FIRST}: must be an object"),
    ({"parameters": [{"name": "a"}]}, f"{FIRST}.in: Field required"),
    ({"parameters": [parameter("a", "body")]}, f"{FIRST}.in: Input should be 'query'"),
    ({"parameters": [{"$ref": DAY}]}, f"{FIRST}.$ref: '{DAY}' names nothing"),
    ({"parameters": [{"$ref": CIRCLE}]}, f"{FIRST}.$ref: leads in a circle"),
    (body({"$ref": ELSEWHERE}), f"schema.$ref: '{ELSEWHERE}' leads out of the document"),
    (
        body({"properties": {"a": {"$ref": "ferry.yaml#/Ferry"}}}),
        "schema.properties.a.$ref: 'ferry.yaml#/Ferry' leads out of the document",
    ),
    (
        body({"$ref": "#/components/schemas/Broken"}),
        "#/components/schemas/Broken.properties.deck: must be an object",
    ),
    ({"requestBody": {}}, f"{OPERATION}.requestBody.content: must be an object"),
    ({"operationId": 7}, f"{OPERATION}.operationId: Input should be a valid string"),
]


@pytest.mark.parametrize(("operation", "fault"), BROKEN)
def test_a_broken_operation_is_reported_with_its_place_and_the_rest_is_imported(
    operation: Any, fault: str
) -> None:
    components = {
        "parameters": {"Circle": {"$ref": CIRCLE}},
        "schemas": {"Broken": object_of(deck="upper")},
    }
    paths = {"/ferries": {"get": {"operationId": "well"}, "post": operation}}
    reported, server = read_document(document(paths, components=components), "ferry.json")
    assert isinstance(reported, DocumentFault)
    assert isinstance(server, ServerDocument)
    assert fault in reported.reason
    assert reported.line == 2
    assert [tool.name for tool in server.tools] == ["well"]


def test_an_argument_of_the_path_that_nobody_describes_is_a_fault() -> None:
    (fault,) = faults_of(document({"/ferries/{id}": {"get": {}}}))
    assert fault == "paths./ferries/{id}.get.parameters: the path has {id}, which none describes"


def test_a_broken_response_costs_the_output_alone() -> None:
    operation = {"operationId": "find", **ok({"$ref": "#/components/schemas/Lost"})}
    server, [fault] = found_in(read_document(document({"/a": {"get": operation}}), "ferry.json"))
    assert "responses.200.content.application/json.schema.$ref" in fault
    assert [(t.name, t.output_schema) for t in server.tools] == [("find", None)]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"info": {"title": "T", "version": 1, "license": "MIT"}}, "info.license"),
        ({"servers": [{"description": "none"}]}, "servers[0].url: Field required"),
        ({"paths": []}, "paths: must be an object"),
        ({"paths": {"/a": "text"}}, "paths./a: must be an object"),
        (
            {"components": {"securitySchemes": {"k": {"in": "header"}}}},
            "components.securitySchemes.k.type: Field required",
        ),
    ],
)
def test_a_broken_part_of_the_whole_is_reported_once(change: Paths, fault: str) -> None:
    (found,) = faults_of({**document({}), **change})
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"swagger": "2.0"}, "Swagger 2: convert it to OpenAPI 3"),
        ({"openapi": "4.0.0"}, "no OpenAPI 3 document"),
        ([], "no OpenAPI 3 document"),
        (None, "no OpenAPI 3 document"),
    ],
)
def test_another_format_is_a_fault(value: Any, fault: str) -> None:
    (found,) = faults_of(value)
    assert fault in found


def wide_document(num_operations: int, num_members: int) -> dict[str, Any]:
    """Operations that each reach a schema of very many members."""
    wide = object_of(**{f"p{i}": TEXT for i in range(num_members)})
    operation = body({"type": "array", "items": {"$ref": "#/components/schemas/Wide"}})
    paths = {f"/a{i}": {"post": operation} for i in range(num_operations)}
    return document(paths, components={"schemas": {"Wide": wide}})


def test_a_schema_that_reaches_too_much_is_a_fault_of_its_operation() -> None:
    (fault,) = faults_of(wide_document(1, 30_000))
    assert fault == "paths./a0.post: has more than 50,000 values with all it refers to"


def test_a_document_whose_tools_are_too_much_together_is_cut() -> None:
    server, faults = found_in(read_document(wide_document(130, 20_000), "a.json"))
    assert len(server.tools) == 124
    assert len(faults) == 6
    assert faults[0].endswith("the document has more than 5,000,000 values this way")


# --- files ---------------------------------------------------------------------------------------------


JSON = json.dumps(document({"/ferries": {"get": {"operationId": "list"}}}))
YAML = """openapi: 3.0.3
info: {title: Ferry timetable, version: 1.0}
paths:
  /ferries:
    get:
      operationId: list
      responses:
        200: {description: OK}
"""


@pytest.mark.parametrize(("name", "text"), [("a.json", JSON), ("a.yaml", YAML), ("a.txt", YAML)])
def test_json_and_yaml_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    server, _ = found_in(read(file))
    assert (server.name, server.version) == ("Ferry timetable", "1.0")
    assert [tool.name for tool in server.tools] == ["list"]
    assert detect(file).name == "openapi"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"{", "not JSON"),
        (b'{"openapi": NaN}', "NaN is no number of JSON"),
        (b"[" * 5000 + b"]" * 5000, "nested more than 100 levels deep"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested more than 100 levels deep"),
        (b"openapi: [", "not YAML"),
        (b"\xff\xfe\x00", "not UTF-8 at byte 0"),
        (b"", "the file is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_fault(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    file = tmp_path / "broken"
    file.write_bytes(content)
    (found,) = reasons_of(read(file))
    assert fault in found


def test_a_key_that_stands_twice_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    file.write_text('{"openapi": "3.1.0", "paths": {"/a": {"get": {}}, "/a": {"put": {}}}}')
    server, faults = found_in(read(file))
    assert faults == ["the key '/a' stands twice in one object; the first one counts"]
    assert [tool.name for tool in server.tools] == ["get_a"]
