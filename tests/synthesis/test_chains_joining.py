"""What a result holds, what an argument needs, and which of them may be joined; by documents alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.trajectories.chain import Join
from astra_mcp.synthesis.trajectories.chains.deeds import Deed
from astra_mcp.synthesis.trajectories.chains.fields import Evidence, ResultField, fields_of
from astra_mcp.synthesis.trajectories.chains.joining import Fit, fit, joins_for, steps_of
from astra_mcp.synthesis.trajectories.chains.meanings import shared_meanings
from astra_mcp.synthesis.trajectories.server import DocumentedServer
from astra_mcp.types import ToolSpec

from documented_servers import server, tool

INTEGER = {"type": "integer"}


def results(spec: ToolSpec, **more: Any) -> set[tuple[str, str, str, str]]:
    """Path, noun, attribute and evidence of the fields of a result."""
    read = fields_of(server("s", spec, tool("other", **more)))[spec.name]
    return {(f.path, f.noun, f.attribute, f.evidence.value) for f in read.results}


def joined(first: ToolSpec, second: ToolSpec, *others: ToolSpec) -> dict[str, str]:
    """The fields that arguments of the second tool are joined to, by the names of the arguments."""
    steps = steps_of(server("s", first, second, *others))
    fits = {need.name: fit(steps[0], steps[1], need) for need in steps[1].fields.needs}
    return {name: found.field for name, found in fits.items() if found}


def across(first: DocumentedServer, second: DocumentedServer) -> dict[str, str]:
    """As :func:`joined`, for the first tools of two servers."""
    source, target = steps_of(first)[0], steps_of(second)[0]
    fits = {need.name: fit(source, target, need) for need in target.fields.needs}
    return {name: found.field for name, found in fits.items() if found}


@pytest.mark.parametrize(
    ("name", "deed", "noun"),
    [
        ("listOrders", Deed.LISTS, "order"),
        ("get_all_users", Deed.LISTS, "user"),
        ("getOrder", Deed.SHOWS, "order"),
        ("orders.get", Deed.LISTS, "order"),
        ("create-pull-request", Deed.MAKES, "pull_request"),
        ("update_repository", Deed.CHANGES, "repo"),
        ("delete_user_by_email", Deed.REMOVES, "user"),
        ("calculate", Deed.OTHER, "calculate"),
        ("", Deed.OTHER, ""),
    ],
)
def test_the_name_of_a_tool_says_what_it_does_to_what(name: str, deed: Deed, noun: str) -> None:
    spec = tool(name or "订单")
    read = fields_of(server("s", spec))[spec.name]
    assert (read.deed, read.noun if name else "") == (deed, noun)


def test_a_first_word_that_most_names_have_says_whose_tools_they_are() -> None:
    names = ["slack_list_channels", "slack_get_user", "slack_post_message"]
    read = fields_of(server("s", *(tool(name) for name in names)))
    assert [each.noun for each in read.values()] == ["channel", "user", "message"]


@pytest.mark.claim("P57")
def test_an_output_schema_says_what_a_result_holds_with_places_in_nested_objects() -> None:
    member = {"type": "object", "properties": {"orderId": INTEGER, "total": {"type": "number"}}}
    customer = {"$ref": "#/$defs/customer"}
    schema = {
        "type": "object",
        "properties": {"results": {"type": "array", "items": member}, "customer": customer},
        "$defs": {"customer": {"type": "object", "properties": {"id": {"type": "string"}}}},
    }
    found = results(tool("find_orders", returns=schema))
    assert ("results.orderId", "order", "id", "declared") in found
    assert ("results.total", "order", "total", "declared") in found
    assert ("customer.id", "customer", "id", "declared") in found


def test_a_schema_that_holds_itself_is_read_to_a_depth() -> None:
    itself = {"$ref": "#"}
    members = {"id": INTEGER, "child": itself, "all": {"type": "array", "items": itself}}
    node: dict[str, Any] = {"type": "object", "properties": members}
    assert ("id", "node", "id", "declared") in results(tool("get_node", returns=node))


@pytest.mark.claim("P57")
@pytest.mark.parametrize(
    "told",
    [
        "Find shops. Returns: a list with name, phone number and website.",
        'Find shops.\n\nReturns:\n  {"name": ..., "phone_number": ..., "website": ...}',
    ],
)
def test_a_description_says_what_is_returned(told: str) -> None:
    found = {
        (noun, attribute)
        for _, noun, attribute, how in results(tool("search_shops", told))
        if how == "told"
    }
    assert {("shop", "name"), ("phone", "number"), ("shop", "site")} == found


@pytest.mark.claim("P57")
def test_what_is_listed_or_made_has_an_id_and_what_is_removed_leaves_nothing() -> None:
    assert results(tool("create_order")) == {("id", "order", "id", "implied")}
    assert ("name", "order", "name", "implied") in results(tool("list_orders"))
    assert results(tool("delete_order")) == set()


@pytest.mark.claim("P57")
@pytest.mark.parametrize("argument", ["order_id", "orderId", "id", "ORDER-ID"])
def test_an_id_is_joined_however_its_name_is_written(argument: str) -> None:
    assert joined(tool("list_orders"), tool("get_order", required=argument)) == {argument: "id"}


@pytest.mark.parametrize(
    ("first", "second", "argument", "field"),
    [
        ("search_pokemon", "get_pokemon", "name", "name"),
        ("list_channels", "post_message", "channel_id", "id"),
        ("list_branches", "merge_branch", "source_branch_name", "name"),
        ("list_databases", "run_query", "database", "name"),
        ("list_issues", "add_comment", "issue_number", "number"),
        ("get_user_repos", "get_readme", "repo_id", "id"),
    ],
)
def test_a_name_leads_to_the_thing_that_it_names(
    first: str, second: str, argument: str, field: str
) -> None:
    assert joined(tool(first), tool(second, required=argument)) == {argument: field}


GENERIC = [
    "name",
    "query",
    "limit",
    "text",
    "type",
    "content",
    "value",
    "status",
    "date",
    "key",
    "title",
]


@pytest.mark.claim("P57")
@given(
    st.sampled_from(GENERIC),
    st.sampled_from(["get_weather", "run_report", "create_note", "translate"]),
)
def test_words_that_name_anything_join_nothing(word: str, second: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in GENERIC}}
    first = tool("list_orders", returns=schema)
    assert joined(first, tool(second, required=word)) == {}
    assert across(server("a", first), server("b", tool(second, required=word))) == {}


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (tool("list_orders"), tool("create_order", required="order_id"), "it is to be made"),
        (tool("list_orders"), tool("get_customer", required="customer_id"), "another thing"),
        (tool("get_order", required="order_id"), tool("pay_order", required="order_id"), "known"),
        (tool("get_order", required="id"), tool("pay_order", required="order_id"), "known"),
        (tool("list_files", required="folder_path"), tool("pack", required="directory"), "known"),
        (tool("browse_directory", required="path"), tool("pack", required="directory"), "known"),
        (tool("delete_order"), tool("get_order", required="order_id"), "it is gone"),
        (tool("list_users"), tool("update_user", required="user_id name"), "a new value"),
        (tool("list_users"), tool("rename_user", required="new_name"), "a new value"),
        (tool("list_orders"), tool("get_order", required="id", id={"type": "object"}), "type"),
        (tool("list_orders"), tool("get_order", required="id", id={"enum": ["a"]}), "a choice"),
        (tool("list_keys"), tool("get_order", required="api_key"), "a secret"),
    ],
)
def test_what_makes_no_sense_is_not_joined(first: ToolSpec, second: ToolSpec, why: str) -> None:
    assert joined(first, second).keys() <= ({"user_id"} if "user_id" in str(second) else set()), why


def test_types_have_to_agree_where_they_are_known() -> None:
    schema = {"type": "object", "properties": {"order_id": INTEGER}}
    first = tool("create_order", returns=schema)
    text, number = {"type": "string"}, {"type": ["integer", "null"]}
    several = {"type": "array", "items": {"anyOf": [INTEGER, {"type": "null"}]}}
    for kind, found in ((text, {}), (number, {"id": "order_id"}), (several, {"id": "order_id"})):
        assert joined(first, tool("get_order", required="id", id=kind)) == found


def test_a_thing_that_a_server_lists_is_not_taken_for_one_of_a_longer_name() -> None:
    restart = tool("restart_instance", required="id")
    assert joined(tool("list_database_instances"), restart) == {"id": "id"}
    assert joined(tool("list_database_instances"), restart, tool("list_instances")) == {}


def test_the_best_evidence_is_the_strongest() -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    steps = steps_of(
        server(
            "s",
            tool("create_order", returns=schema),
            tool("list_orders"),
            tool("get_order", required="order_id"),
        )
    )
    need = steps[2].fields.needs[0]
    assert fit(steps[0], steps[2], need) == Fit("order_id", 1.0)
    assert fit(steps[1], steps[2], need) == Fit("id", 0.6)
    assert joins_for(steps[:2], steps[2]) == (
        Join(source=0, field="order_id", target=2, argument="order_id"),
    )


def test_a_step_that_needs_what_only_a_server_can_say_follows_who_says_it() -> None:
    steps = steps_of(
        server(
            "s",
            tool("list_orders"),
            tool("pay_order", required="order_id amount"),
            tool("search_papers", required="query"),
            tool("login", required="password"),
            tool("export", "Export it. Args: format: which"),
            tool("delete_everything"),
        )
    )
    orders, pay, papers, login, export, delete = steps
    assert joins_for([], pay) is None
    assert joins_for([papers], pay) is None
    assert joins_for([orders], pay) == (Join(source=0, field="id", target=1, argument="order_id"),)
    assert joins_for([], papers) == ()
    for step in (login, export, delete):
        assert joins_for([orders], step) is None


SEARCH = server(
    "search", tool("search_news", "News of the web.", required="query"), domain="news_and_media"
)


@pytest.mark.claim("P57")
@pytest.mark.parametrize(
    ("first", "second", "joins"),
    [
        (SEARCH, tool("fetch_page", "Read a web page.", required="url"), {"url": "url"}),
        (SEARCH, tool("set_webhook", "Be told at an address.", required="url"), {}),
        (SEARCH, tool("delete_news", "Delete.", required="id"), {}),
        (
            server("maps", tool("search_places", "Places on a map.", required="query")),
            tool("get_forecast", required="latitude longitude", latitude={"type": "number"}),
            {"latitude": "latitude", "longitude": "longitude"},
        ),
        (
            server("crm", tool("list_contacts", "Contacts of the CRM.")),
            tool("send_email", "Send a mail.", required="to subject body"),
            {"to": "email"},
        ),
        (
            server("wallets", tool("get_address", "Address of the wallet.")),
            tool("get_forecast", "Weather.", required="location"),
            {},
        ),
    ],
)
def test_servers_are_joined_by_what_means_the_same_to_all_of_them(
    first: DocumentedServer, second: ToolSpec, joins: dict[str, str]
) -> None:
    assert across(first, server("b", second)) == joins


INSTALL = tool("install_package", "Install from npm.", required="package_name")
SCAN = tool("scan_host", "Scan an IP.", required="ip")


@pytest.mark.parametrize(
    ("first", "second", "joins"),
    [
        (tool("search_packages", "Of npm.", required="query"), INSTALL, {"package_name": "name"}),
        (tool("get_package", "Of npm.", required="id"), INSTALL, {"package_name": "name"}),
        (tool("get_package", "Of npm.", required="name"), INSTALL, {}),
        (tool("get_package", "Of npm.", required="package_name"), INSTALL, {}),
        (tool("get_my_ip", "Of this host."), SCAN, {"ip": "ip"}),
        (tool("get_ip_address", "Of this host.", required="address"), SCAN, {}),
        (tool("view_image", required="url"), tool("crop_image", required="image_url"), {}),
    ],
)
def test_what_a_tool_is_told_it_does_not_give(
    first: ToolSpec, second: ToolSpec, joins: dict[str, str]
) -> None:
    assert across(server("a", first), server("b", second)) == joins


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (tool("list_domains", "Of macOS defaults."), tool("whois", required="domain")),
        (tool("get_organization", required="id"), tool("whois", required="domain")),
        (
            tool("billing_info", "Returns details including address, city.", required="id"),
            tool("get_forecast", "Weather.", required="location"),
        ),
    ],
)
def test_names_of_other_things_are_not_taken_for_what_all_know(
    first: ToolSpec, second: ToolSpec
) -> None:
    assert across(server("a", first), server("b", second)) == {}


def test_ids_of_one_server_mean_nothing_to_another() -> None:
    first = server(
        "a", tool("list_orders", returns={"type": "object", "properties": {"order_id": {}}})
    )
    assert across(first, server("b", tool("get_order", required="order_id"))) == {}


def test_every_meaning_is_one_that_results_can_hold_and_arguments_can_take() -> None:
    meanings = shared_meanings()
    assert len({meaning.name for meaning in meanings}) == len(meanings) > 30
    for meaning in meanings:
        assert all((meaning.arguments, meaning.fields, meaning.nouns, meaning.field))
        vague = meaning.arguments & {"name", "query", "limit", "type"}
        assert not vague, f"{meaning.name} is taken by {vague}"
        if meaning.arguments & {"text", "content", "title", "address", "to"}:
            assert meaning.about or meaning.taken_about or meaning.verbs


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "required",
                    "$ref",
                    "anyOf",
                    "enum",
                    "id",
                    "description",
                ]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=4), min_size=1, max_size=3),
    st.text(max_size=200),
    st.text("abz_- .订é", min_size=1, max_size=20),
    JSON,
)
def test_any_document_is_read_without_an_error(
    schemas: list[dict[str, Any]], told: str, name: str, inner: Any
) -> None:
    tools = [
        ToolSpec(
            name=f"{name}{n}",
            description=told,
            input_schema={"type": "object", "properties": schema, "required": [*schema]},
            output_schema={**schema, "properties": {"a": inner}},
        )
        for n, schema in enumerate(schemas)
    ]
    steps = steps_of(server("s", *tools))
    for step in steps:
        joins_for(steps, step)
        assert all(isinstance(field, ResultField) for field in step.fields.results)
        assert all(field.evidence in Evidence for field in step.fields.results)
