"""What is made of a server document: verdicts, names, hashes, language and domain."""

import re
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from astra_mcp.domains import Domain
from astra_mcp.types import canonical_json
from registry.documents.preparation import prepare_server
from registry.documents.prepared import PreparedServer
from registry.documents.sources import (
    Provenance,
    Rejection,
    ServerDocument,
    ServerReason,
    ToolDocument,
)
from registry.importers import toucan

from real_documents import TOUCAN, prepare_once, real_data


def tool(
    name: str, description: str | None = "Find the cheapest train", **members: Any
) -> ToolDocument:
    told: dict[str, Any] = {"input_schema": {"type": "object"}, **members}
    return ToolDocument(name=name, description=description, **told)


def server(*tools: ToolDocument, **members: Any) -> ServerDocument:
    told: dict[str, Any] = {
        "source": "test",
        "key": "k",
        "name": "Züge & Bahnen",
        "description": "Trains of all countries, their times and their prices",
        "labels": ("Travel & Maps",),
        "provenance": Provenance.LIVE,
    }
    return ServerDocument(tools=tools, **{**told, **members})


def reasons(prepared: PreparedServer) -> list[str | None]:
    return [tool.rejection and tool.rejection.reason.value for tool in prepared.tools]


def names_of(prepared: PreparedServer) -> set[str]:
    """The different names of the tools that are kept."""
    return {t.spec.name for t in prepared.tools if t.spec and t.rejection is None}


def test_a_server_of_three_good_tools_is_kept() -> None:
    prepared = prepare_server(server(tool("a"), tool("b"), tool("c")))

    assert (prepared.rejection, reasons(prepared)) == (None, [None] * 3)
    named = (prepared.name, prepared.domain, prepared.language)
    assert named == ("Zuge_Bahnen", Domain.TRAVEL, "en")
    assert prepared.tools[0].words.startswith("a\n")


@pytest.mark.claim("P18")
@pytest.mark.claim("P19")
def test_tools_are_judged_before_their_server() -> None:
    bad = {"type": "array"}
    tools = (
        tool("a"),
        tool("b", None),
        tool("c", "A tool"),
        tool("d", input_schema=bad),
        tool("e"),
    )
    prepared = prepare_server(server(*tools))

    detail = "tools: 2 of 5 are left, 3 are needed"
    assert prepared.rejection == Rejection(ServerReason.TOO_FEW_TOOLS, detail)
    assert reasons(prepared) == [
        "server_rejected",
        "no_description",
        "vague_description",
        "not_convertible",
        "server_rejected",
    ]


def test_a_server_without_tools_is_rejected() -> None:
    prepared = prepare_server(server())

    assert prepared.rejection is not None
    assert prepared.rejection.reason is ServerReason.NO_TOOLS
    assert prepared.tools_hash is None


def test_a_tool_whose_namesake_was_rejected_is_no_duplicate() -> None:
    prepared = prepare_server(server(tool("a", None), tool("a"), tool("a"), tool("b"), tool("c")))

    assert reasons(prepared) == ["no_description", None, "duplicate", None, None]


def test_names_are_unique_among_the_tools_that_are_kept() -> None:
    names = ("find it", "find.it", "find_it", "find it", "查", "找")
    prepared = prepare_server(server(*(tool(name) for name in names)))

    assert len(names_of(prepared)) == 5
    assert reasons(prepared) == [None, None, None, "duplicate", None, None]


def test_a_name_that_looks_like_a_renamed_one_is_told_apart_too() -> None:
    digits = sha256(b"find it").hexdigest()[:8]
    names = ("find_it", "find it", f"find_it_{digits}")
    for order in (names, names[::-1]):
        prepared = prepare_server(server(*(tool(name) for name in order)))

        assert len(names_of(prepared)) == 3


def test_equal_documents_have_equal_hashes_and_others_have_not() -> None:
    schema = {"type": "object", "title": "x"}
    turned = dict(reversed(schema.items()))
    document = server(tool("a", input_schema=schema), tool("b"), tool("c"))
    again = replace(document, tools=(tool("a", input_schema=turned), *document.tools[1:]))
    others = (
        document,
        replace(document, description="Others"),
        replace(document, tools=document.tools[:2]),
        replace(document, tools=(*document.tools[:2], tool("d"))),
        replace(document, provenance=Provenance.CRAWLED),
    )
    hashes = {prepare_server(other).document_hash for other in others}

    assert prepare_server(again).document_hash in hashes
    assert len(hashes) == 5


def test_servers_with_the_same_tools_have_one_hash_of_them() -> None:
    one = prepare_server(server(tool("a"), tool("b"), tool("c"), tool("d", None)))
    other = prepare_server(server(tool("a"), tool("b"), tool("c"), name="Fork", key="other"))
    turned = prepare_server(server(tool("b"), tool("a"), tool("c")))

    assert one.tools_hash == other.tools_hash
    assert one.document_hash != other.document_hash
    assert one.tools_hash != turned.tools_hash


def nested(depth: int) -> Any:
    schema: Any = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    "schema",
    [nested(600), {"enum": [2**80]}, {"properties": {"\ud800": {}}}, {"properties": {"a\0": {}}}],
)
def test_what_no_database_can_hold_rejects_the_tool_alone(schema: Any) -> None:
    document = server(
        tool("a\0\ud800", "text \ud800 \0", input_schema=schema), tool("b"), tool("c"), tool("d"),
        name="x\0\ud800", description="\0", version="1\0",
    )  # fmt: skip
    prepared = prepare_server(document)

    assert prepared.rejection is None
    assert reasons(prepared) == ["not_convertible", None, None, None]
    canonical_json(prepared.document.name)
    canonical_json([t.document.name for t in prepared.tools])
    canonical_json(prepared.tools[0].document.description)


def test_what_cannot_be_written_down_is_left_out_of_the_origin_and_of_icons() -> None:
    origin: Any = {"url": "a\ud800\0", "license": "MIT", "size": float("inf"), "deep": nested(450)}
    icons: Any = [{"src": "https://host.example/\ud800"}, {"src": "https://host.example/a.png"}]
    prepared = prepare_server(server(tool("a", extra={"icons": icons}), origin=origin))

    assert prepared.document.origin == {"url": "a\ufffd\ufffd", "license": "MIT"}
    assert prepared.tools[0].spec is not None
    assert prepared.tools[0].spec.extra["icons"] == icons[1:]


def real_servers(provenance: Provenance) -> list[PreparedServer]:
    """The real documents of one provenance; all of them can be converted."""
    prepared = [
        prepare_once(document)
        for document in toucan.read(real_data(TOUCAN))
        if isinstance(document, ServerDocument) and document.provenance is provenance
    ]
    assert not any(reason == "not_convertible" for p in prepared for reason in reasons(p))
    assert all(p.rejection is None or p.rejection.detail for p in prepared)
    return prepared


def num_kept(prepared: list[PreparedServer]) -> int:
    """The number of kept servers of different tools."""
    return len({p.tools_hash for p in prepared if p.rejection is None})


def test_the_real_documents_give_as_many_servers_and_tools_as_were_counted() -> None:
    live = real_servers(Provenance.LIVE)
    tools = [t for p in live for t in p.tools]
    notes = [note for t in tools for note in t.notes]

    assert len(tools) == 4034
    assert num_kept(live) >= 250
    assert sum(reason == "no_description" for p in live for reason in reasons(p)) == 291 + 47
    assert sum(reason == "duplicate" for p in live for reason in reasons(p)) == 1
    numbers = {
        "^name: .* written as ": 27,
        "null left out, which the schema does not take$": 266,
        "default: left out": 3,
        "repeated values": 2,
        "'any' says nothing": 1,
        "'binary' left out": 1,
        "keywords outside JSON Schema": 1,
        "^annotations: ": 42,
    }
    assert {kind: sum(bool(re.search(kind, n)) for n in notes) for kind in numbers} == numbers


@pytest.mark.volume
def test_the_real_documents_that_were_crawled_are_kept_as_well() -> None:
    crawled = real_servers(Provenance.CRAWLED)

    assert num_kept([*real_servers(Provenance.LIVE), *crawled]) >= 600
