"""What belongs to the page of a crawled tool is taken out before the tool and its server are judged."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.documents.crawled import clean_page
from registry.documents.preparation import prepare_server
from registry.documents.sources import Provenance, ServerDocument, ToolDocument
from registry.importers.toucan import read

from real_documents import TOUCAN, prepare_once, real_data


def schema(*parameters: str) -> dict[str, Any]:
    """Parameters as a crawler writes them; one with a star is required."""
    names = [name.removesuffix("*") for name in parameters]
    required = [name.removesuffix("*") for name in parameters if name.endswith("*")]
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": required}


def page(*tools: ToolDocument, provenance: Provenance = Provenance.CRAWLED) -> ServerDocument:
    return ServerDocument(
        source="toucan", key="k", name="Harbour", provenance=provenance, tools=tools
    )


def tool(name: str, description: str | None, *parameters: str) -> ToolDocument:
    return ToolDocument(name=name, description=description, input_schema=schema(*parameters))


def left_of(name: str, description: str | None, *parameters: str) -> list[str]:
    [cleaned] = clean_page(page(tool(name, description, *parameters)))
    found: Any = cleaned.document.input_schema
    return list(found["properties"])


@pytest.mark.parametrize(
    ("description", "left"),
    [
        ("Deploy Server Boats @ann/boats Try in Playground list_boats", ""),
        ("Deploy Server Boats Claim Server @ann/boats Try in Playground", ""),
        ("Claim Server Boats @ann/boats Try in Playground show_boat", ""),
        ("Deploy Server Boats @ann/boats Try in Playground List all boats", "List all boats"),
        ("Deploy Server a container and watch it", "Deploy Server a container and watch it"),
        ("List all boats", "List all boats"),
        (None, None),
    ],
)
def test_the_heading_of_a_page_is_no_description(description: str | None, left: str) -> None:
    others = (tool("show_boat", "Show a boat"), tool("sell_boat", "Sell a boat"))
    cleaned, *_ = clean_page(page(tool("list_boats", description), *others))
    assert cleaned.document.description == left
    assert bool(cleaned.notes) is (description != left)


@pytest.mark.parametrize(
    ("name", "description", "parameters", "left"),
    [
        ("sell_boat", "Sell a boat", ("sell_boat", "boat_id*"), ["boat_id"]),
        ("moor", "Moor it", ("berths*", "Add", "Item", "isLate", "True", "False"), ["berths", "isLate"]),
        ("moor", "Moor. Args: ctx: The MCP context.", ("The", "MCP"), []),
        ("moor", "Keyword Arguments: berth", ("Keyword",), []),
        ("sell_boat", None, ("Sells", "a", "boat", "price*"), ["price"]),
        ("get_all_boats", "Description not available", ("Get", "all", "boats", "page"), ["page"]),
        ("find", "look for boats of a harbour", ("look", "for", "boats", "of", "length"), ["length"]),
        ("find", "Find boats by length", ("length", "limit"), ["length", "limit"]),
        ("route", "Plan a route from a harbour to another", ("from", "to"), ["from", "to"]),
        ("find", "Find boats between a start date and an end", ("start", "date"), ["start", "date"]),
        ("find", "Find boats", ("Name*", "Port", "Length"), ["Name", "Port", "Length"]),
        ("find", "The name of a boat", ("The*",), ["The"]),
        ("sell", "Sell", ("query", "limit", "order"), ["query", "limit", "order"]),
    ],
)  # fmt: skip
def test_words_of_a_page_are_no_parameters_and_parameters_are_no_words_of_it(
    name: str, description: str | None, parameters: tuple[str, ...], left: list[str]
) -> None:
    assert left_of(name, description, *parameters) == left


def test_the_name_of_another_tool_is_no_parameter_unless_it_is_a_plain_word() -> None:
    others = (tool("sell_boat", "Sell a boat"), tool("boat", "Show a boat"))
    first, *_ = clean_page(page(tool("moor", "Moor it", "sell_boat", "boat"), *others))
    found: Any = first.document.input_schema
    assert list(found["properties"]) == ["boat"]
    assert first.notes == ("input_schema: 1 words of its page left out: sell_boat",)


def test_a_tool_whose_only_parameter_is_its_own_name_is_rejected_with_a_reason() -> None:
    tools = (
        tool("moor_boat", "Moor a boat at a berth", "moor_boat"),
        tool("sell_boat", "Sell a boat to a buyer", "sell_boat", "Sell", "a", "boat"),
        tool("name", "Tell what a boat is called", "name*"),
        *(tool(f"t{n}", "Tell where the boats lie") for n in range(3)),
    )
    server = prepare_server(page(*tools))
    reasons = [each.rejection and each.rejection.reason for each in server.tools]
    assert reasons == ["unread_parameters", "unread_parameters", None, None, None, None]


def test_a_page_that_shows_a_whole_schema_is_read_as_it_is() -> None:
    whole: dict[str, Any] = schema("moor", "The", "boat")
    whole["properties"]["berth"] = {"type": "integer"}
    [cleaned] = clean_page(page(ToolDocument(name="moor", description="Moor", input_schema=whole)))
    assert cleaned.document.input_schema == whole
    assert not cleaned.is_unread


def test_documents_that_differ_in_their_pages_alone_have_the_same_tools() -> None:
    def crawled(owner: str) -> ServerDocument:
        heading = f"Deploy Server Boats @{owner}/boats Try in Playground list_boats"
        words = ("The", "moor_boat", "berth*") if owner == "ann" else ("berth*",)
        return page(
            tool("list_boats", heading),
            tool("moor_boat", "Moor a boat. The berth must be free.", *words),
            tool("sell_boat", "Sell a boat to a buyer"),
            tool("find_boat", "Find a boat by what it is called", "name*"),
        )

    ann, bob = prepare_server(crawled("ann")), prepare_server(crawled("bob"))
    assert ann.rejection is None
    assert ann.tools_hash == bob.tools_hash
    assert [t.rejection and t.rejection.reason for t in ann.tools] == [
        "no_description",
        *[None] * 3,
    ]


def test_what_a_server_lists_itself_is_left_alone() -> None:
    tools = (tool("a", "Deploy Server X @x Try in Playground a", "The", "a"),)
    [prepared] = prepare_server(page(*tools, provenance=Provenance.LIVE)).tools
    assert prepared.spec is not None
    assert list(prepared.spec.input_schema["properties"]) == ["The", "a"]


words = st.sampled_from(
    ["The", "a", "Get", "find_boat", "boat", "Add", "Item", "limit", "x_y", "é"]
)


@given(st.lists(st.tuples(words, st.booleans()), unique_by=lambda pair: pair[0]), st.lists(words))
def test_no_required_parameter_is_taken_out_and_none_is_added(
    parameters: list[tuple[str, bool]], description: list[str]
) -> None:
    written = [f"{name}{'*' if required else ''}" for name, required in parameters]
    left = left_of("find_boat", " ".join(description), *written)
    assert left == [name for name, _ in parameters if name in left]
    assert {name for name, required in parameters if required} <= set(left)


def test_no_kept_tool_of_the_real_pages_has_their_headings_or_buttons() -> None:
    documents = [d for d in read(real_data(TOUCAN)) if isinstance(d, ServerDocument)]
    crawled = [prepare_once(d) for d in documents if d.provenance is Provenance.CRAWLED]
    kept = [t.spec for s in crawled for t in s.tools if t.rejection is None and t.spec]
    assert len(crawled) == 890
    assert len(kept) > 1000
    assert not [spec for spec in kept if "Try in Playground" in spec.description]
    for spec in kept:
        assert (
            spec.input_schema["properties"]
            .keys()
            .isdisjoint({"The", "Add", "Item", "True", "False"})
        )
        own = spec.input_schema["properties"].keys() & {spec.name}
        assert own <= set(spec.input_schema.get("required", []))
