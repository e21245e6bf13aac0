"""Reading the documents of the Toucan data set."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.documents.preparation import prepare_server
from registry.documents.sources import DocumentFault, Provenance, ServerDocument, ToolDocument
from registry.importers.toucan import read

from random_json import random_json
from real_documents import TOUCAN, real_data

TOOL: dict[str, Any] = {"name": "now", "description": "Now", "input_schema": {}}
CRAWLED: dict[str, Any] = {"overview": "Weather of Cologne", "license": "MIT", "tools": []}


def row(number: int = 1, **metadata: Any) -> dict[str, Any]:
    """A document as the data set has them."""
    return {
        "file": f"{number:04}.json",
        "labels": {
            "primary_label": "Weather",
            "secondary_labels": ["API Integration", "Weather"],
            "custom_label": None,
            "is_remote_tool_valid": False,
        },
        "metadata": {
            "server_id": number,
            "server_name": "Wetterdienst für Köln",
            "usage_count": "1,234",
            "remote_server_response": {
                "url": "https://user:pw@host.example/x/mcp?api_key={smithery_api_key}#f",
                "is_success": True,
                "tools": [{**TOOL, "annotations": None}],
            },
            "server_info_crawled": CRAWLED,
            **metadata,
        },
    }


def crawled(*tools: Any) -> dict[str, Any]:
    """The metadata of a server that did not answer."""
    return {
        "remote_server_response": {"url": "", "tools": []},
        "server_info_crawled": {"overview": "", "tools": list(tools)},
    }


def lines_of(path: Path, *lines: Any) -> Path:
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(encoded) + b"\n")
    return path


def read_one(folder: Path, line: Any) -> ServerDocument:
    (document,) = read(lines_of(folder / "x.jsonl", line))
    assert isinstance(document, ServerDocument), document
    return document


def test_a_document_keeps_what_is_told_of_its_server(tmp_path: Path) -> None:
    document = read_one(tmp_path, row())

    assert document == ServerDocument(
        source="toucan",
        key="0001.json",
        name="Wetterdienst für Köln",
        description="Weather of Cologne",
        labels=("Weather", "API Integration"),
        provenance=Provenance.LIVE,  # although its tools are marked as not valid
        tools=(ToolDocument(**TOOL),),
        origin={"url": "https://host.example/x/mcp", "license": "MIT", "uses": 1234},
    )


@pytest.mark.parametrize(
    ("count", "uses"),
    [("722", 722), ("15,097", 15097), ("None", None), ("9" * 5000, None), (7, 7), (None, None)],
)
def test_counts_of_use_are_read_with_commas_and_without(
    tmp_path: Path, count: Any, uses: int | None
) -> None:
    assert read_one(tmp_path, row(usage_count=count)).origin.get("uses") == uses


def test_a_server_that_did_not_answer_has_the_tools_of_its_page(tmp_path: Path) -> None:
    tool = {
        "name": "search",
        "description": "Search for places",
        "parameters": [
            {"name": "query", "type": "string", "required": True},
            {"name": "limit", "type": "string", "required": False},
        ],
    }
    document = read_one(tmp_path, row(**crawled(tool)))

    assert document.provenance is Provenance.CRAWLED
    assert document.tools[0].input_schema == {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "string"}},
        "required": ["query"],
    }
    assert "url" not in document.origin


@pytest.mark.parametrize("parameters", [[], None])
def test_a_crawled_tool_without_parameters_takes_none(tmp_path: Path, parameters: Any) -> None:
    tool: Any = {"name": "list", "description": "List all places", "parameters": parameters}
    (listed,) = read_one(tmp_path, row(**crawled(tool))).tools
    assert listed.input_schema == {"type": "object", "properties": {}, "required": []}


def test_parameters_that_cannot_be_read_reject_the_tool_alone(tmp_path: Path) -> None:
    tools = [
        {"name": f"t{n}", "description": "Find the places", "parameters": parameters}
        for n, parameters in enumerate([[{"type": "string"}], ["query"], [], [], []])
    ]
    server = prepare_server(read_one(tmp_path, row(**crawled(*tools))))

    assert [tool.rejection and tool.rejection.reason for tool in server.tools] == [
        "not_convertible", "not_convertible", None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("entry", [None, 5, "name", [], {}, {"name": 5}, {"name": None}])
def test_an_entry_that_is_no_tool_is_kept_as_it_is_and_rejected(tmp_path: Path, entry: Any) -> None:
    answer = {"tools": [entry]}
    server = prepare_server(read_one(tmp_path, row(remote_server_response=answer)))
    (tool,) = server.tools

    assert tool.rejection is not None
    assert tool.rejection.detail.startswith("name")
    assert tool.document.input_schema == entry


def test_a_corrupted_line_is_reported_with_its_number_and_the_rest_is_read(tmp_path: Path) -> None:
    path = lines_of(
        tmp_path / "x.jsonl",
        row(1),
        b'{"file": "0002.json", "met',
        b"",
        b"\xff\xfe{}",
        row(3),
        b"[1, 2]",
        b'{"file": NaN}',
        b'{"metadata": {"server_name": "\\ud800"}}',
        b'{"a":' * 300 + b"1" + b"}" * 300,
        row(4),
    )
    found = list(read(path))

    keys = [d.key for d in found if isinstance(d, ServerDocument)]
    assert keys == ["0001.json", "0003.json", "0004.json"]
    assert [d.line for d in found if isinstance(d, DocumentFault)] == [2, 4, 6, 7, 8, 9]
    assert all(d.reason for d in found if isinstance(d, DocumentFault))


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"file": "x"}, "metadata: Field required"),
        ({"file": "x", "metadata": []}, "metadata: Input should be"),
        ({"file": 5, "metadata": {"server_name": "x"}}, "file: Input should be"),
        (row(server_name=5), "metadata.server_name: Input should be"),
        (row(server_name=""), "metadata.server_name: String should have"),
        (row(server_id="7"), "metadata.server_id: Input should be"),
        (row(usage_count=[]), "metadata.usage_count"),
        (row(remote_server_response=None), "metadata.remote_server_response: Input should be"),
        (row(remote_server_response={"tools": {}}), "metadata.remote_server_response.tools"),
        (row(server_info_crawled={"tools": "none"}), "metadata.server_info_crawled.tools"),
        (row(server_info_crawled={"overview": 1}), "metadata.server_info_crawled.overview"),
        ({**row(), "labels": ["Weather"]}, "labels: Input should be"),
        ({**row(), "labels": {"secondary_labels": [1]}}, "labels.secondary_labels.0"),
        ({"metadata": {"server_name": "x"}}, "metadata.server_id: neither"),
    ],
)
def test_a_field_of_a_wrong_type_is_named(tmp_path: Path, line: Any, field: str) -> None:
    (fault,) = read(lines_of(tmp_path / "x.jsonl", line))
    assert isinstance(fault, DocumentFault)
    assert fault.line == 1
    assert fault.reason.startswith(field)


def test_a_document_that_comes_twice_is_reported(tmp_path: Path) -> None:
    first, second = read(lines_of(tmp_path / "x.jsonl", row(1), row(1)))

    assert isinstance(first, ServerDocument)
    assert second == DocumentFault(line=2, reason="its key '0001.json' is that of line 1")


def test_a_packed_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(row()).encode()))

    assert [type(d) for d in read(path)] == [ServerDocument]


def test_a_packed_file_that_ends_too_early_gives_what_is_in_it(tmp_path: Path) -> None:
    content = b"".join(json.dumps(row(n)).encode() + b"\n" for n in range(200))
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(content, compresslevel=0)[: len(content) // 2])
    found = list(read(path))

    assert 50 < len(found) < 150
    assert all(isinstance(d, ServerDocument) for d in found[:-1])
    assert isinstance(found[-1], DocumentFault)
    assert found[-1].line == len(found)
    assert "cannot be read on" in found[-1].reason


def test_a_damaged_packed_file_is_reported(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(json.dumps(row()).encode()))
    packed[20] ^= 0xFF
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(packed)

    assert isinstance(list(read(path))[-1], DocumentFault)


texts = st.text(max_size=3)
json_values = random_json(st.integers(-9, 9) | texts, texts, max_leaves=5)


@given(data=st.data())
def test_whatever_stands_in_any_field_no_document_raises(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    document: Any = row(**crawled({"name": "x", "description": "y", "parameters": []}))
    part: Any = document
    while True:
        members: list[Any] = sorted(part) if hasattr(part, "keys") else list(range(len(part)))
        member = data.draw(st.sampled_from(members))
        inner = part[member]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            part[member] = data.draw(json_values)
            break
        part = cast("Any", inner)
    path = lines_of(tmp_path_factory.mktemp("rows") / "x.jsonl", document)

    (found,) = read(path)
    if isinstance(found, ServerDocument):
        assert prepare_server(found).rejection is not None, "it has one tool at most"
    else:
        assert found.line == 1
        assert found.reason


def test_the_real_documents_are_read_and_counted_as_their_readme_counts_them() -> None:
    documents = [d for d in read(real_data(TOUCAN)) if isinstance(d, ServerDocument)]
    live = [d for d in documents if d.provenance is Provenance.LIVE]
    crawled_only = [d for d in documents if d.provenance is Provenance.CRAWLED]
    names = Counter(d.name for d in documents)
    schemas = [tool.input_schema for d in crawled_only for tool in d.tools]
    parameters = [s.get("properties") for s in schemas if isinstance(s, dict)]

    assert len(documents) == len({d.key for d in documents}) == 1482
    assert len(live) == 592
    assert sum(len(d.tools) >= 3 for d in live) == 329
    assert sum(len(d.tools) for d in live) == 4034
    assert len({tool.name for d in live for tool in d.tools}) == 3457
    assert len(crawled_only) == 890
    assert len(parameters) == len(schemas) == 8311
    assert sum(not properties for properties in parameters) == 1918
    assert sum(names[d.name] > 1 for d in documents) == 220
    assert sum(not d.name.isascii() for d in documents) == 30
    assert sum("{" in str(d.origin.get("url")) for d in documents) == 0
