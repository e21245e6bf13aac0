"""The official registry's documents: valid by its schema, and back without loss for the tools.

``server.schema.json`` beside this file has every rule of the schema that the MCP project publishes as
https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json (its repository
``modelcontextprotocol/static`` holds the file): each definition, type, pattern, format, length, enumeration
and list of required members, compared member by member. What says nothing about validity is left out:
descriptions, examples, defaults and the title.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject, ToolSpec
from registry.documents.sources import DocumentFault, Provenance, ServerDocument
from registry.importers import server_json
from registry.importers.detection import detect
from registry.importers.server_json import read, read_listing
from registry.published.server_json import (
    PUBLISHER_KEY,
    PublishedServer,
    official_version,
    parse_server,
    render_server,
)

from random_json import random_json

SCHEMA = json.loads((Path(__file__).parent / "server.schema.json").read_text(encoding="utf-8"))
OFFICIAL = jsonschema_rs.validator_for(SCHEMA, validate_formats=True, offline=True)

numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
json_values = random_json(numbers | st.text(max_size=20), st.text(max_size=8), max_leaves=12)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=5)
tools = st.builds(
    ToolSpec,
    name=st.text(min_size=1, max_size=64),
    description=st.text(max_size=300),
    input_schema=objects,
    output_schema=st.none() | objects,
    extra=st.dictionaries(
        st.sampled_from(["title", "annotations", "icons", "_meta", "execution"]), json_values
    ),
)
servers = st.builds(
    PublishedServer,
    name=st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
    title=st.text(min_size=1, max_size=150),
    description=st.text(max_size=300),
    version=st.none()
    | st.text(min_size=1, max_size=300)
    | st.sampled_from(["1.2.3", "^1.0", "latest"]),
    domain=st.none() | st.sampled_from(["weather", "finance"]),
    language=st.none() | st.just("en"),
    provenance=st.sampled_from(Provenance),
    tools=st.lists(tools, max_size=3).map(tuple),
)


@given(servers)
def test_what_is_rendered_is_valid_and_comes_back_without_loss(server: PublishedServer) -> None:
    rendered = json.loads(json.dumps(render_server(server)))
    OFFICIAL.validate(rendered)
    document = parse_server(rendered)
    back = [
        ToolSpec(
            name=tool.name,
            description=tool.description or "",
            input_schema=tool.input_schema,  # pyright: ignore[reportArgumentType]
            output_schema=tool.output_schema,  # pyright: ignore[reportArgumentType]
            extra=tool.extra,
        )
        for tool in document.tools
    ]
    assert tuple(back) == server.tools
    assert (document.name, document.description) == (server.title, server.description)
    assert (document.version, document.provenance) == (server.version, server.provenance)
    assert document.labels == ((server.domain,) if server.domain else ())


def test_a_server_is_named_in_our_namespace() -> None:
    assert render_server(PublishedServer(name="tide-tables", title="Tides"))["name"] == (
        "dev.astra-mcp/tide-tables"
    )
    for name in ("a/b", "", "x" * 200, "grüße"):
        with pytest.raises(ConfigError, match="is no name for a server"):
            render_server(PublishedServer(name=name, title="t"))


@pytest.mark.parametrize(
    ("versions", "official"),
    [
        (["1.4.0-rc.1+build.7"], "1.4.0-rc.1+build.7"),
        (["2026-04"], "2026-04"),
        ([None, "", "^1.2.3", ">=1", "1.x", "latest", "1" * 256], "0.0.0"),
    ],
)
def test_versions_that_the_format_refuses_become_zero(
    versions: list[str | None], official: str
) -> None:
    assert {official_version(version) for version in versions} == {official}


def test_the_schema_refuses_what_the_format_refuses() -> None:
    good = render_server(PublishedServer(name="n", title="t", version="1"))
    for change in ({"name": "no-slash"}, {"description": "x" * 101}, {"title": ""}, {"version": 1}):
        assert not OFFICIAL.is_valid({**good, **change})


FOREIGN: JsonObject = {
    "name": "io.github.somebody/tides",
    "description": "High and low water",
    "version": "2.1.0",
    "repository": {"url": "https://github.com/somebody/tides", "source": "github"},
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@somebody/tides",
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "TIDES_KEY", "isSecret": True, "default": "k-123456"},
                {"name": "TIDES_UNIT", "default": "metre"},
            ],
        }
    ],
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://user:pw@tides.example/mcp?key=abc",
            "headers": [{"name": "Authorization", "value": "Bearer abcdef"}],
        }
    ],
    "_meta": {PUBLISHER_KEY: {"tool": "publisher-cli", "version": "9.9.9"}},
}


def test_a_foreign_server_keeps_how_it_is_reached_and_no_secret() -> None:
    document = parse_server(FOREIGN)
    named = (document.key, document.name, document.version)
    assert named == ("io.github.somebody/tides", "tides", "2.1.0")
    assert document.tools == ()
    kept = json.dumps(document.origin)
    assert all(said in kept for said in ("@somebody/tides", "https://tides.example/mcp", "metre"))
    assert not any(secret in kept for secret in ("k-123456", "abcdef", "pw@", "key=abc"))


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://me:hunter2@{host}/mcp?key=hunter2", "https://{host}/mcp"),
        ("git+ssh://me:hunter2@host.example/a@b", "git+ssh://host.example/a@b"),
        ("https://me:hunter2@host.example:99999/mcp", "https://host.example:99999/mcp"),
    ],
)
def test_an_address_that_is_no_plain_one_is_kept_without_its_password(url: str, kept: str) -> None:
    remotes: list[Any] = [{"type": "streamable-http", "url": url}]
    document = parse_server({"name": "x/y", "remotes": remotes})
    assert document.origin["remotes"] == [{"type": "streamable-http", "url": kept}]


def test_tools_of_any_publisher_are_read_and_odd_ones_are_kept_for_their_rejection() -> None:
    listed: list[Any] = [
        {"name": "a", "description": "d", "inputSchema": {"type": "object"}, "title": "A"},
        "b",
        {"description": "nameless"},
        7,
    ]
    document = parse_server({"name": "x/y", "_meta": {PUBLISHER_KEY: {"tools": listed}}})
    assert [tool.name for tool in document.tools] == ["a", "b", "", ""]
    assert document.tools[0].extra == {"title": "A"}
    assert document.tools[2].input_schema == {"description": "nameless"}


def read_all(path: Path) -> tuple[list[ServerDocument], list[DocumentFault]]:
    found = list(read(path))
    servers = [d for d in found if isinstance(d, ServerDocument)]
    return servers, [d for d in found if isinstance(d, DocumentFault)]


def write_below(folder: Path, *names: str) -> None:
    """Write documents, each named by the first letter of its path."""
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"name": f"x/{name[0]}", "version": "1"}))


def test_a_folder_gives_every_server_json_below_it(tmp_path: Path) -> None:
    names = ("b/server.json", "a/deep/server.json", "a/other.json", "c/server.json")
    write_below(tmp_path, *names)
    (tmp_path / "c" / "server.json").write_text("{")
    servers, faults = read_all(tmp_path)
    assert [server.key for server in servers] == ["x/a", "x/b"]
    assert [(fault.line, fault.reason[:22]) for fault in faults] == [(3, "c/server.json: not JSO")]


def test_a_folder_without_any_is_the_mistake_of_who_named_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no server\.json in it"):
        list(read(tmp_path))


def test_a_folder_of_too_many_is_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_json, "MAX_FILES", 1)
    write_below(tmp_path, "a/server.json", "b/server.json")
    with pytest.raises(ConfigError, match="more than 1 files: import folders of it"):
        read_all(tmp_path)


def test_a_saved_page_names_the_entries_that_are_passed_over(tmp_path: Path) -> None:
    def entry(name: str, **official: Any) -> JsonObject:
        meta: JsonObject = {"io.modelcontextprotocol.registry/official": official}
        return {"server": {"name": name, "version": "1.0.0", "description": "d"}, "_meta": meta}

    page: JsonObject = {
        "servers": [
            entry("x/new", status="active", isLatest=True),
            entry("x/new", status="active", isLatest=False),
            entry("x/gone", status="deleted", isLatest=True),
            {"server": {"version": "1"}},
            {"name": "no-namespace", "version": "1"},
            "text",
        ],
        "metadata": {"count": 5},
    }
    file = tmp_path / "page.json"
    file.write_text(json.dumps(page))
    servers, faults = read_all(file)
    assert [server.key for server in servers] == ["x/new"]
    assert [(fault.line, fault.reason) for fault in faults] == [
        (2, "x/new 1.0.0: an older version of a server"),
        (3, "x/gone 1.0.0: deleted by its publisher"),
        (4, "name: must be a text such as org.example/weather"),
        (5, "name: must be a text such as org.example/weather"),
        (6, "must be an object"),
    ]


@given(json_values)
def test_any_value_is_read_without_an_exception(value: Any) -> None:
    for document in read_listing(value):
        assert isinstance(document, ServerDocument | DocumentFault)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("a.json", {"$schema": SCHEMA["$id"], "name": "x/y"}),
        ("server.json", {"name": "x/y", "version": "1"}),
        ("page.json", {"servers": [{"server": {"name": "x/y", "version": "1"}}]}),
    ],
)
def test_the_format_is_recognised(tmp_path: Path, name: str, value: JsonObject) -> None:
    file = tmp_path / name
    file.write_text(json.dumps(value))
    assert detect(file).name == "server_json"
