"""Saved answers to ``tools/list``: the message, its result alone, and pages of one or of several servers."""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.documents.sources import DocumentFault, ServerDocument
from registry.importers.detection import detect
from registry.importers.mcp_tools import FORMAT, read

from import_forms import tools


def result(prefix: str, cursor: str | None = None) -> dict[str, Any]:
    listed: dict[str, Any] = {"tools": tools(prefix, "inputSchema")}
    return listed if cursor is None else {**listed, "nextCursor": cursor}


def message(number: int, *args: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result(*args)}


def servers_of(path: Path) -> dict[str, int]:
    """The number of tools of each server, by key; there is no fault."""
    assert detect(path) is FORMAT
    found = [each for each in read(path) if isinstance(each, ServerDocument)]
    assert found == list(read(path))
    return {each.key: len(each.tools) for each in found}


@pytest.mark.parametrize("value", [message(1, "a"), result("a"), [message(1, "a")], [result("a")]])
@pytest.mark.parametrize("indent", [None, 1])
def test_an_answer_is_a_server_named_by_its_file(
    tmp_path: Path, value: Any, indent: int | None
) -> None:
    path = tmp_path / "pier.json"
    path.write_text(json.dumps(value, indent=indent))
    assert servers_of(path) == {"pier.json": 3}
    [server] = read(path)
    assert isinstance(server, ServerDocument)
    assert server.name == "pier"
    assert server.tools[0].input_schema == {"type": "object", "properties": {}}


@pytest.mark.parametrize("as_lines", [True, False])
def test_pages_are_one_server_until_one_names_no_further_page(
    tmp_path: Path, as_lines: bool
) -> None:
    pages = [message(1, "a", "p2"), message(2, "b", "p3"), message(3, "c"), message(4, "d")]
    path = tmp_path / "pier.jsonl"
    lines = "\n".join(map(json.dumps, pages))
    path.write_text(lines if as_lines else json.dumps(pages))
    assert servers_of(path) == {"pier.jsonl": 9, "pier.jsonl#2": 3}


def test_a_page_that_is_missing_is_told_and_what_is_there_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pier.json"
    path.write_text(json.dumps(message(1, "a", "p2")))
    fault, server = read(path)
    assert isinstance(fault, DocumentFault)
    assert "nextCursor" in fault.reason
    assert "these 3 tools are not all" in fault.reason
    assert isinstance(server, ServerDocument)
    assert len(server.tools) == 3


def test_rows_of_functions_under_tools_are_still_functions(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps({"query": "q", "tools": tools("a", "inputSchema")}))
    assert detect(path).name == "functions"
    path.write_text(json.dumps({"tools": tools("a", "parameters")}))
    assert detect(path).name == "functions"
