"""Reading the servers of the published ASTRA code."""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.documents.sources import DocumentFault, ServerDocument
from registry.importers.astra_servers import read

TOOL: dict[str, Any] = {
    "name": "now",
    "description": "Tell the time",
    "parameters": {"type": "dict", "properties": {}},
}


def row(**group: Any) -> dict[str, Any]:
    return {"base_info": {"group_info": group, "tool_list": [TOOL]}, "features": {"is_good": True}}


def read_rows(folder: Path, *rows: Any) -> list[ServerDocument | DocumentFault]:
    path = folder / "mcp_servers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return list(read(path))


def read_one(folder: Path, line: Any) -> ServerDocument:
    (document,) = read_rows(folder, line)
    assert isinstance(document, ServerDocument), document
    return document


def test_a_server_keeps_its_names_domain_and_tools(tmp_path: Path) -> None:
    named = {"server_title": "World Clock", "server_name": "clock", "group_id": 7}
    told = {"server_description": "Times everywhere", "domain": "Daily Productivity"}
    document = read_one(tmp_path, row(**named, **told))

    assert (document.source, document.key) == ("astra_servers", "7")
    assert (document.name, document.description) == ("World Clock", "Times everywhere")
    assert document.labels == ("Daily Productivity",)
    assert document.tools[0].input_schema == {"type": "dict", "properties": {}}


@pytest.mark.parametrize("member", ["server_name", "server_title", "name", "tool_name", "group_id"])
def test_any_name_of_the_group_will_do(tmp_path: Path, member: str) -> None:
    document = read_one(tmp_path, row(**{member: "clock"}))

    assert (document.key, document.name) == ("clock", "clock")


def test_a_server_stands_in_rows_of_later_stages_too(tmp_path: Path) -> None:
    first = {"mcp_info": row(server_name="clock"), "graph": {"num_chains": 1}}
    second = {"mcp_info": row(server_name="clock"), "graph": {"num_chains": 2}, "query_info": {}}

    assert len(read_rows(tmp_path, first, second)) == 1


def test_different_servers_of_one_name_are_told_apart(tmp_path: Path) -> None:
    described = row(server_name="clock", server_description="Another")
    documents = read_rows(tmp_path, row(server_name="clock"), described)

    assert [d.key for d in documents if isinstance(d, ServerDocument)] == ["clock", "clock#2"]


def test_how_a_server_was_called_is_kept_without_its_keys(tmp_path: Path) -> None:
    headers = {"Authorization": "s3cret"}
    call_info = {"url": "https://host.example/mcp?key=s3cret", "headers": headers}
    deployed = read_one(tmp_path, {**row(server_name="a"), "call_info": call_info})
    emulated = read_one(tmp_path, {**row(server_name="a"), "call_info": {"mock_tool": True}})

    assert deployed.origin == {"url": "https://host.example/mcp"}
    assert emulated.origin == {"emulated": True}


def test_a_tool_may_stand_in_a_function_member(tmp_path: Path) -> None:
    line = row(server_name="a")
    line["base_info"]["tool_list"] = [{"type": "function", "function": TOOL}, "no tool"]
    document = read_one(tmp_path, line)

    assert [tool.name for tool in document.tools] == ["now", ""]
    assert document.tools[1].input_schema == "no tool"


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({}, "base_info: Field required"),
        (row(), "base_info.group_info.server_name: Field required"),
        (row(server_name=[]), "base_info.group_info.server_name"),
        ({"base_info": {"group_info": {"name": "x"}, "tool_list": {}}}, "base_info.tool_list"),
        ({**row(name="x"), "call_info": "https://x.example"}, "call_info"),
        ([], "Input should be"),
    ],
)
def test_what_is_no_server_is_reported_with_the_field(
    tmp_path: Path, line: Any, field: str
) -> None:
    (fault,) = read_rows(tmp_path, line)

    assert isinstance(fault, DocumentFault)
    assert fault.reason.startswith(field)
