"""What supports the required arguments of a chain: schemas, joins, earlier results, the query, or a judge."""

from itertools import islice
from typing import Any

import pytest

from astra_mcp.errors import ModelError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.trajectories.chain import Chain
from astra_mcp.synthesis.trajectories.checks.dependency import Dependency
from astra_mcp.synthesis.trajectories.checks.results import DocumentFields, SchemaFields
from astra_mcp.synthesis.trajectories.checks.shown_chain import shown_servers
from astra_mcp.synthesis.trajectories.checks.support import weigh
from astra_mcp.synthesis.trajectories.server import DocumentedServer
from astra_mcp.types import ToolSpec, canonical_json
from registry.documents.sources import ServerDocument
from registry.importers.toucan import read as read_toucan

from chain_servers import (
    CANCEL,
    FAILURE,
    ORDERS,
    TEXT,
    Outcome,
    chain,
    chain_task,
    join,
    reason,
    server,
    tool,
)
from real_documents import TOUCAN, prepare_once, real_data
from scripted_synthesis import ScriptedAsks


def verdicts(**ids: bool) -> dict[str, Any]:
    """A judge's answer; ``s2_reason`` stands for ``2.reason``."""
    named = {id[1:].replace("_", ".", 1): value for id, value in ids.items()}
    return {
        "verdicts": [
            {"id": id, "reason": f"because of {id}", "is_supported": value}
            for id, value in named.items()
        ]
    }


async def dependent(
    query: str, found: Chain, answer: Any = FAILURE, of: DocumentedServer = ORDERS
) -> tuple[Outcome, list[str]]:
    """What the stage makes of a task, and the prompts that it asked."""
    judge = ScriptedAsks(dependency=answer)
    stage = Dependency({of.name: of}, judge, "m")
    return await stage.run(Item(id="i", value=chain_task(query, found))), judge.names()


@pytest.mark.claim("P59")
async def test_what_fields_of_earlier_results_and_the_query_support_is_asked_of_nobody() -> None:
    found = chain("find_customer", "list_orders")
    outcome, asked = await dependent("Which orders has ann@example.com?", found)
    assert isinstance(outcome, Made)
    assert asked == []


@pytest.mark.claim("P59")
async def test_an_id_that_nothing_gives_is_unsupported_in_code() -> None:
    outcome, asked = await dependent("Which orders has Ann?", chain("list_orders"))
    assert outcome == Rejected(
        "unsupported_argument",
        "step 1 (list_orders) needs 'customer_id', which only a server can give; no earlier result holds"
        " it, and the query has no token of its form",
    )
    assert asked == []


@pytest.mark.claim("P59")
async def test_an_id_that_only_a_later_step_gives_is_in_the_wrong_order() -> None:
    found = chain("list_orders", "find_customer")
    outcome, _ = await dependent("Which orders has ann@example.com?", found)
    assert reason(outcome) == "wrong_order"
    assert "only step 2 finds out" in str(outcome)


@pytest.mark.claim("P59")
async def test_an_id_that_the_user_holds_is_no_fault() -> None:
    outcome, asked = await dependent("Which orders has customer C-1044?", chain("list_orders"))
    assert isinstance(outcome, Made)
    assert asked == []


@pytest.mark.claim("P59")
async def test_a_join_supports_an_argument_and_one_from_behind_does_not() -> None:
    unknown = server("s", tool("who"), tool("look", person_id=TEXT))
    joined = chain("who", "look", joins=[join(0, "person", 1, "person_id")], of=unknown)
    outcome, asked = await dependent("Who is it?", joined, of=unknown)
    assert isinstance(outcome, Made)
    assert asked == []
    clock = tool("now", returns={"time": TEXT})
    known = server("s", clock, tool("who"), tool("look", person_id=TEXT))
    back = [join(2, "person", 1, "person_id")]
    outcome, _ = await dependent(
        "Who is it?", chain("now", "look", "who", joins=back, of=known), of=known
    )
    assert reason(outcome) == "unsupported_argument"


@pytest.mark.claim("P59")
async def test_a_result_of_which_nothing_is_known_leaves_it_to_the_judge() -> None:
    unknown = server("s", tool("who"), tool("look", person_id=TEXT))
    for holds, expected in ((True, Made), (False, Rejected)):
        outcome, asked = await dependent(
            "Who is it?", chain("who", "look", of=unknown), verdicts(s2_person_id=holds), unknown
        )
        assert isinstance(outcome, expected)
        assert asked == ["dependency"]
    assert outcome == Rejected(
        "unsupported_argument", "step 2 (look), 'person_id': because of 2.person_id"
    )


@pytest.mark.claim("P59")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "default": "x"},
        {"const": "x"},
        {"enum": ["x"]},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "boolean"},
        {"$ref": "#/$defs/one"},
    ],
)
async def test_what_needs_no_knowledge_is_supported_by_its_schema(schema: dict[str, Any]) -> None:
    given = tool("act", record_id=schema)
    given.input_schema["$defs"] = {"one": {"const": 1}}
    of = server("s", given)
    outcome, asked = await dependent("Do it.", chain("act", of=of), of=of)
    assert isinstance(outcome, Made)
    assert asked == []


def one(tool: str, argument: str, schema: dict[str, Any]) -> ToolSpec:
    """A tool that requires one argument."""
    document = {"type": "object", "properties": {argument: schema}, "required": [argument]}
    return ToolSpec(name=tool, description="It works.", input_schema=document)


NUMBER, DAY = {"type": "integer"}, {"type": "string", "format": "date"}


@pytest.mark.claim("P59")
@pytest.mark.parametrize(
    ("name", "schema", "query", "is_told"),
    [
        ("state", {"enum": ["open", "in_progress"]}, "Show those in progress.", True),
        ("state", {"enum": ["open", "in_progress"]}, "Show all.", False),
        ("region", {"enum": ["NA", "ME"]}, "Tell me of NA players.", True),
        ("region", {"enum": ["ME", "to"]}, "Tell me what to do.", False),
        ("nights", NUMBER, "I stay for 3 nights.", True),
        ("nights", NUMBER, "I stay for a while, with 3 others and their dogs at the sea.", False),
        ("title", TEXT, 'Call the page titled "Spring".', True),
        ("day", DAY, "It is on 3 May 2026.", True),
        ("day", DAY, "It is soon.", False),
        ("website", {"type": "string", "format": "uri"}, "Read https://a.org/x please", True),
        ("url", TEXT, "Read the page.", False),
        ("city", TEXT, "Is it warm in the city of Oslo?", True),
        ("city", TEXT, "Is it warm in the city?", False),
        ("name", TEXT, "Look for somebody.", False),
        ("state", {"enum": ["open", "closed"]}, "Tell me of the open source licence.", False),
        ("state", {"enum": ["open", "closed"]}, "Show those in the state open.", True),
        ("region", {"enum": ["NA", "EU"]}, "Tell me of NA and EU players.", False),
        ("amount", NUMBER, "The amount of my 3 bills, pay one of them.", False),
        ("ticket_price", NUMBER, "I take 3 tickets.", False),
        ("nights", NUMBER, "I stay 3 nights or 4 nights.", False),
        ("phone", TEXT, "My phone broke, order A12 please.", False),
        ("phone_number", TEXT, "On 2026-05-03 my phone broke.", False),
        ("phone", TEXT, "Call me on (030) 123-4567.", True),
        ("order_id", {"type": "string", "description": "The order id"}, "Order 3 huts.", False),
    ],
)
async def test_the_query_supports_what_it_clearly_gives_and_the_rest_is_judged(
    name: str, schema: dict[str, Any], query: str, is_told: bool
) -> None:
    of = server("s", one("act", name, schema))
    answer = {"verdicts": [{"id": f"1.{name}", "is_supported": True}]}
    outcome, asked = await dependent(query, chain("act", of=of), answer, of)
    assert isinstance(outcome, Made)
    assert asked == ([] if is_told else ["dependency"])


@pytest.mark.claim("P59")
@pytest.mark.parametrize(
    ("names", "schema", "query", "are_told"),
    [
        (("check_in", "check_out"), DAY, "A room from 3 May 2026.", False),
        (("check_in", "check_out"), DAY, "A room from 3 to 5 May 2026 or 2026-05-06.", True),
        (("from_email", "to_email"), TEXT, "I am bob@example.com.", False),
        (("from_email", "to_email"), TEXT, "From bob@example.com to ann@example.com.", True),
    ],
)
async def test_one_token_of_the_query_is_of_one_argument(
    names: tuple[str, str], schema: dict[str, Any], query: str, are_told: bool
) -> None:
    properties: dict[str, Any] = dict.fromkeys(names, schema)
    of = server("s", tool("act", **properties))
    answer = {"verdicts": [{"id": f"1.{name}", "is_supported": True} for name in names]}
    _, asked = await dependent(query, chain("act", of=of), answer, of)
    assert asked == ([] if are_told else ["dependency"])


async def test_arguments_of_one_name_share_a_token_over_the_steps() -> None:
    of = server("s", tool("find", email=TEXT), tool("send", email=TEXT))
    _, asked = await dependent("I am ann@example.com.", chain("find", "send", of=of), of=of)
    assert asked == []


async def test_generic_names_join_nothing_by_themselves() -> None:
    first = tool("find", name={"const": "x"}, returns={"name": TEXT, "query": TEXT})
    of = server("s", first, tool("look", query=TEXT))
    _, asked = await dependent("Do.", chain("find", "look", of=of), verdicts(s2_query=True), of)
    assert asked == ["dependency"]


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("coin_id", "Coin ID (e.g. bitcoin, ethereum)"),
        ("session_id", "Unique identifier for this session"),
        ("project_id", "ID or name of the project"),
        ("max_tokens", "So many"),
        ("repo_id", "Die Kennung des Verzeichnisses, früher vergeben"),
    ],
)
async def test_an_id_that_a_caller_may_know_or_make_up_is_judged(
    name: str, description: str
) -> None:
    of = server("s", one("look", name, {"type": "string", "description": description}))
    answer = {"verdicts": [{"id": f"1.{name}", "is_supported": True}]}
    outcome, asked = await dependent("Do it.", chain("look", of=of), answer, of)
    assert isinstance(outcome, Made)
    assert asked == ["dependency"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"verdicts": []}, r"does not speak of \['3.reason'\]"),
        (verdicts(s9_reason=True, s3_status=True), "does not speak of"),
        (
            {"verdicts": [{"id": "3.reason", "is_supported": v} for v in (True, False)]},
            "contradicts",
        ),
    ],
)
async def test_a_judge_that_leaves_one_out_or_contradicts_itself_has_failed(
    answer: Any, words: str
) -> None:
    query = "Cancel what ann@example.com bought."
    with pytest.raises(ModelError, match=words):
        await dependent(query, CANCEL, answer)


def named(*tools: str) -> dict[str, Any]:
    """What a translator answers."""
    return {"calls": [{"tool": name} for name in tools]}


def test_no_real_document_breaks_the_weighing_and_its_prompt_is_bounded() -> None:
    documents = (d for d in read_toucan(real_data(TOUCAN)) if isinstance(d, ServerDocument))
    prepared = [prepare_once(document) for document in islice(documents, 60)]
    kept = [p for p in prepared if p.rejection is None]
    servers = [server(p.name, *(t.spec for t in p.tools if t.spec)) for p in kept]
    for each in servers:
        found = chain(*(t.name for t in each.tools[:5]), of=each)
        weighed = weigh(found, {each.name: each}, "Please do it for me, soon.", SchemaFields())
        assert all(w.is_open or (w.support is None) is (w.fault is not None) for w in weighed)
        assert len(canonical_json(shown_servers(found, (each,)))) <= 64_000
    assert len(servers) > 20


LIBRARY = server(
    "library",
    tool("search_books", "Search the books of the library.", title=TEXT),
    tool("list_branches", "List all branches."),
    tool("reserve_book", "Reserve a book.", book_id=TEXT),
)


@pytest.mark.claim("P59")
async def test_without_output_schemas_what_a_later_tool_does_tells_a_wrong_order_in_code() -> None:
    found = chain("reserve_book", "search_books", of=LIBRARY)
    stage = Dependency({LIBRARY.name: LIBRARY}, ScriptedAsks(), "m", DocumentFields())
    outcome = await stage.run(
        Item(id="i", value=chain_task("Reserve the novel Dune for me.", found))
    )
    assert reason(outcome) == "wrong_order"


@pytest.mark.claim("P59")
async def test_what_a_judge_refuses_is_in_the_wrong_order_where_a_later_step_finds_it() -> None:
    found = chain("list_branches", "reserve_book", "search_books", of=LIBRARY)
    model = ScriptedAsks(dependency=verdicts(s2_book_id=False, s3_title=True))
    stage = Dependency({LIBRARY.name: LIBRARY}, model, "m", DocumentFields())
    outcome = await stage.run(
        Item(id="i", value=chain_task("Reserve the novel Dune for me.", found))
    )
    assert reason(outcome) == "wrong_order"


@pytest.mark.claim("P59")
async def test_what_a_tool_only_seems_to_give_supports_nothing_without_the_judge() -> None:
    found = chain("search_books", "reserve_book", of=LIBRARY)
    model = ScriptedAsks(dependency=verdicts(s1_title=True, s2_book_id=True))
    stage = Dependency({LIBRARY.name: LIBRARY}, model, "m", DocumentFields())
    assert isinstance(
        await stage.run(Item(id="i", value=chain_task("Reserve the novel Dune for me.", found))),
        Made,
    )
    assert len(model.asked) == 1


@pytest.mark.claim("P59")
async def test_an_id_that_the_judge_refuses_and_a_later_step_gives_is_in_the_wrong_order() -> None:
    found = chain("list_orders", "find_customer")
    answer = {"verdicts": [{"id": "1.customer_id", "is_supported": False, "reason": "nobody says"}]}
    outcome, asked = await dependent("Which orders since 2026 has ann@example.com?", found, answer)
    assert asked == ["dependency"]
    assert outcome == Rejected(
        "wrong_order",
        "step 1 (list_orders), 'customer_id', which step 2 finds out, after it: nobody says",
    )
