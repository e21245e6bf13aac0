"""Lists of functions: where they stand in a file, how they are typed, and which server they come from."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.documents.preparation import prepare_server
from registry.documents.sources import DocumentFault, ServerDocument
from registry.importers.detection import detect
from registry.importers.function_groups import group_names
from registry.importers.function_types import shape_parameters
from registry.importers.functions import FORMAT, read

from random_json import random_json


def function(name: str, **more: Any) -> dict[str, Any]:
    parameters: Any = {"type": "dict", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    return {"name": name, "description": f"Does {name}.", "parameters": parameters, **more}


def written(tmp_path: Path, value: Any, name: str = "tools.json") -> Path:
    path = tmp_path / name
    if name.endswith("l"):
        path.write_text("\n".join(json.dumps(row) for row in value))
    else:
        path.write_text(json.dumps(value))
    return path


def servers_of(path: Path) -> list[ServerDocument]:
    found = list(read(path))
    assert all(isinstance(each, ServerDocument) for each in found), found
    return [each for each in found if isinstance(each, ServerDocument)]


def groups_of(path: Path) -> dict[str, list[str]]:
    return {server.name: [tool.name for tool in server.tools] for server in servers_of(path)}


# --- where functions stand -----------------------------------------------------------------------------

SYSTEM = (
    'You can call these functions:\n[{"name": "look", "parameters": {"type": "dict"}}]. Be brief.'
)


@pytest.mark.parametrize(
    "row",
    [
        function("look"),
        {"type": "function", "function": function("look")},
        {"functions": [function("look")]},
        {"tools": [{"type": "function", "function": function("look")}]},
        {"id": "simple_0", "question": [[{"role": "user"}]], "function": [function("look")]},
        {"function": function("look")},
        {"query": "q", "tools": json.dumps([function("look")])},
        {"system": SYSTEM, "conversations": []},
        {"name": "look", "description": "d", "inputSchema": {"type": "object"}},
    ],
)
@pytest.mark.parametrize("name", ["tools.json", "tools.jsonl", "cases.json"])
def test_functions_are_found_wherever_a_row_has_them(
    tmp_path: Path, row: dict[str, Any], name: str
) -> None:
    rows: Any = row if name == "cases.json" else [row]
    path = written(tmp_path, rows, name)
    (server,) = servers_of(path)
    assert [tool.name for tool in server.tools] == ["look"]
    assert detect(path).name == "functions"


def test_lines_are_read_as_lines_whatever_the_name(tmp_path: Path) -> None:
    rows = [{"id": str(i), "function": [function(f"find_{i}")]} for i in range(3)]
    path = written(tmp_path, rows, "lines.jsonl").rename(tmp_path / "BFCL_v3_simple.json")
    assert groups_of(path) == {"BFCL_v3_simple": ["find_0", "find_1", "find_2"]}


def test_a_function_that_many_rows_repeat_is_there_once_and_its_variants_are_kept(
    tmp_path: Path,
) -> None:
    other = function("look", description="Looks elsewhere.")
    rows = [{"functions": [function("look")]}, {"functions": [function("look"), other]}]
    (server,) = servers_of(written(tmp_path, rows))
    assert [tool.description for tool in server.tools] == ["Does look.", "Looks elsewhere."]


def test_rows_that_cannot_be_read_are_reported_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(f'{json.dumps(function("a"))}\n{{"id": 7}}\nnot json\n[1]\n')
    found = list(read(path))
    faults = [each for each in found if isinstance(each, DocumentFault)]
    assert [fault.line for fault in faults] == [2, 3, 4]
    assert "no function in it" in faults[0].reason
    assert [each.name for each in found if isinstance(each, ServerDocument)] == ["tools"]


def test_what_is_no_function_is_kept_for_the_reason_of_its_rejection(tmp_path: Path) -> None:
    (server,) = servers_of(written(tmp_path, [{"tools": [function("a"), {"x": 1}, "text"]}]))
    assert [tool.name for tool in server.tools] == ["a", "", ""]
    rejected = [tool for tool in prepare_server(server).tools if tool.spec is None]
    assert len(rejected) == 2


# --- types -----------------------------------------------------------------------------------------------


def test_a_system_message_of_openings_alone_is_given_up(tmp_path: Path) -> None:
    rows = [{"system": '[{"a":' * 100_000}, {"system": "[{" * 100_000}]
    faults = list(read(written(tmp_path, rows)))
    assert [each.line for each in faults if isinstance(each, DocumentFault)] == [1, 2]


def test_types_of_data_sets_become_json_schema(tmp_path: Path) -> None:
    text, number = {"type": "string"}, {"type": "number"}
    found: dict[str, Any] = {
        "filters": {"type": "dict", "properties": {"min": {"type": "float"}}},
        "point": {"type": "tuple", "items": {"type": "float"}},
        "anything": {"type": "any"},
        "type": text,
        "names": {"type": "List[str]"},
        "scores": {"type": "Dict[str, float]"},
        "limit": {"type": "int, optional", "default": 10},
        "id": {"type": "Union[int, str]"},
        "since": {"type": "Optional[str]"},
    }
    parameters = {"type": "dict", "properties": found, "required": ["filters"]}
    (server,) = servers_of(written(tmp_path, [function("look", parameters=parameters)]))
    (tool,) = prepare_server(server).tools
    assert tool.spec is not None, tool.rejection
    assert tool.spec.input_schema["properties"] == {
        "filters": {"type": "object", "properties": {"min": number}},
        "point": {"type": "array", "items": number},
        "anything": {},
        "type": text,
        "names": {"type": "array", "items": text},
        "scores": {"type": "object", "additionalProperties": number},
        "limit": {"type": "integer", "default": 10},
        "id": {"anyOf": [{"type": "integer"}, text]},
        "since": text,
    }


def test_a_flat_map_of_parameters_gets_an_object_around_it() -> None:
    flat: Any = {
        "query": {"type": "str", "description": "What to look for."},
        "limit": {"type": "int", "default": 5},
        "lang": {"type": "str, optional"},
    }
    shaped = {**flat, "lang": {"type": "str"}}
    expected = {"type": "object", "properties": shaped, "required": ["query"]}
    assert shape_parameters(flat) == expected


@pytest.mark.parametrize("parameters", [None, [], "text", {"a": 1}, {"type": "object"}])
def test_what_is_no_flat_map_stays_as_found(parameters: Any) -> None:
    assert shape_parameters(parameters) == parameters


# --- groups ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "service"),
    [
        (function("play", server="Spotify", category_name="Music"), "Spotify"),
        (function("play", api="Spotify"), "Spotify"),
        (function("play", category_name="Music"), "Music"),
        ({"tool_name": "Spotify", "api_name": "Play", "functions": [function("play")]}, "Spotify"),
        ({"server": "Row", "functions": [function("play", service="Own")]}, "Own"),
        ({"type": "function", "service_name": "Entry", "function": function("a.b")}, "Entry"),
    ],
)
def test_a_member_that_names_the_service_decides(
    tmp_path: Path, row: dict[str, Any], service: str
) -> None:
    assert list(groups_of(written(tmp_path, [row]))) == [service]


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["spotify.play", "spotify.player.stop", "maps/route"], ["spotify", "spotify", "maps"]),
        (["spotify__play", "std::sort"], ["spotify", "std"]),
        (["spotify_play", "spotify_stop", "spotify_seek"], ["spotify"] * 3),
        (["spotify_play", "spotify_stop"], ["file"] * 2),
        (["get_weather", "get_time", "get_news"], ["file"] * 3),
        (["spotify_play"] * 5, ["file"] * 5),
        (["play", ".hidden", "trailing.", "_x", ""], ["file"] * 5),
    ],
)
def test_names_tell_the_service_by_namespace_or_by_a_first_word_that_three_share(
    names: list[str], groups: list[str]
) -> None:
    assert list(group_names(names, "file")) == groups


@pytest.mark.claim("P17")
def test_functions_of_one_service_are_one_server_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [
        function("play", server="Spotify"),
        function("maps.route"),
        function("look"),
        function("stop", server="Spotify"),
    ]
    path = written(tmp_path, rows)
    groups = {"Spotify": ["play", "stop"], "maps": ["maps.route"], "tools": ["look"]}
    assert groups_of(path) == groups
    assert [server.key for server in servers_of(path)] == [f"tools.json#{name}" for name in groups]


def test_a_file_that_lies_elsewhere_or_is_packed_has_the_same_servers(tmp_path: Path) -> None:
    rows = [function("play", server="Spotify"), function("look")]
    (tmp_path / "elsewhere").mkdir()
    here = written(tmp_path, rows)
    there = written(tmp_path / "elsewhere", rows)
    packed = tmp_path / "elsewhere" / "tools.json.gz"
    packed.write_bytes(gzip.compress(here.read_bytes()))
    assert servers_of(here) == servers_of(there) == servers_of(packed)


def test_files_of_one_name_in_a_folder_are_told_apart_by_their_paths_below_it(
    tmp_path: Path,
) -> None:
    keys: list[str] = []
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        path = written(tmp_path / part, [function("look")])
        documents = [d for d in FORMAT.read_below(tmp_path, path) if isinstance(d, ServerDocument)]
        assert [document.name for document in documents] == ["tools"]
        keys += [document.key for document in documents]
    assert keys == ["train/tools.json#tools", "test/tools.json#tools"]


def test_categories_are_labels(tmp_path: Path) -> None:
    rows = [
        function("a", server="S", category="Music"),
        function("b", server="S", category="Music", tags=["audio"]),
    ]
    (server,) = servers_of(written(tmp_path, rows))
    assert server.labels == ("Music", "audio")


MEMBERS = "function functions tools name parameters type properties system api"
TEXTS = st.sampled_from(["a.b", "List[int]", "[{", "x"])


@given(value=random_json(st.integers() | TEXTS, st.sampled_from(MEMBERS.split()), max_leaves=12))
def test_any_value_is_read_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    path = written(tmp_path_factory.mktemp("any"), value)
    for each in read(path):
        assert isinstance(each, ServerDocument | DocumentFault)
