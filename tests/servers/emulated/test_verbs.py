"""What tools are taken for, by their names, parameters and first words."""

from typing import Any

import pytest

from astra_mcp.types import ToolSpec
from astra_mcp.values.nouns import is_plural, plural, singular, words_of
from servers.emulated.parameters import Role
from servers.emulated.verbs import ToolReading, Verb, read_tools

from emulated_worlds import spec, text


def read_alone(tool: ToolSpec) -> ToolReading:
    return read_tools((tool,))[tool.name]


@pytest.mark.parametrize(
    ("name", "parameters", "verb", "noun", "own"),
    [
        ("list_notes", ("limit",), "list", "note", None),
        ("getNote", ("noteId",), "get", "note", "noteId"),
        ("notes.get", ("id",), "get", "note", "id"),
        ("fetch-pull-request", ("number",), "get", "pull_request", "number"),
        ("get_order_details", ("order_id",), "get", "order", "order_id"),
        ("getPagesInSpace", ("spaceKey",), "list", "page", None),
        ("get_users", ("query",), "search", "user", None),
        ("find_files", ("pattern_query", "query"), "search", "file", None),
        ("get_related_topics", ("title",), "list", "related_topic", None),
        ("search_hotels", (), "list", "hotel", None),
        ("contact_create", ("email",), "create", "contact", None),
        ("new_ticket", ("title",), "create", "ticket", None),
        ("post_list", (), "list", "post", None),
        ("create_or_update_file", ("path",), "create", "file", None),
        ("add_comment_to_issue", ("issue_id", "body"), "create", "comment", None),
        ("modifyEvent", ("eventId", "title"), "update", "event", "eventId"),
        ("mark_task_complete", ("task_number",), "update", "task_complete", None),
        ("remove_tag", ("tag",), "delete", "tag", "tag"),
        ("delete_silences", ("ids",), "delete", "silence", "ids"),
        ("add", ("a", "b"), "create", None, None),
        ("execute_query", ("sql",), "other", "query", None),
        ("get_emojis_by_category_tool", ("category",), "list", "emoji", None),
        ("set_price", ("game_id", "price"), "update", "price", None),
        ("disconnect_database", (), "other", "database", None),
        ("convert", ("amount",), "other", "convert", None),
    ],
)
def test_a_tool_is_read_by_its_name_and_parameters(
    name: str, parameters: tuple[str, ...], verb: str, noun: str | None, own: str | None
) -> None:
    taken: Any = dict.fromkeys(parameters, text)
    reading = read_alone(spec(name, "Does it.", **taken))

    assert (reading.verb.value, reading.noun, reading.id_parameter) == (verb, noun, own)


def test_numbers_are_added_not_made() -> None:
    number: dict[str, Any] = {"type": "number"}

    assert read_alone(spec("add", "Add two numbers.", a=number, b=number)).verb is Verb.OTHER


def test_a_name_without_a_verb_is_read_by_its_description() -> None:
    assert read_alone(spec("open_issues", "Lists all open issues.")).verb is Verb.LIST
    assert read_alone(spec("weather", "获取城市的天气", city=text)).verb is Verb.GET
    assert read_alone(spec("查询订单", "按编号", order_id=text)).noun == "订单"
    crawled = spec("pages", "Deploy Server X @a/b Try in Playground Search pages")
    assert read_alone(crawled).noun == "page"


@pytest.mark.parametrize(
    ("form", "noun"), [("jira_{}_issue", "issue"), ("page.{}", "page")], ids=["prefix", "all"]
)
def test_a_word_that_all_names_begin_with_is_a_noun_of_last_resort(form: str, noun: str) -> None:
    tools = [spec(form.format(verb), "Does it.", id=text) for verb in ("get", "create", "delete")]

    assert {reading.noun for reading in read_tools(tools).values()} == {noun}


def test_tools_of_a_server_agree_on_their_nouns_and_refer_to_them() -> None:
    readings = read_tools(
        [
            spec("list_tasks"),
            spec("add_command_task", command=text, project_id=text),
            spec("update_task_status", task_id=text, status=text),
            spec("cancel_task", task_id=text),
            spec("send_task", task_id=text),
            spec("list_projects"),
        ]
    )

    assert readings["add_command_task"].noun == "task"
    assert readings["add_command_task"].references == {"project_id": "project"}
    changing = readings["update_task_status"]
    assert (changing.verb, changing.noun, changing.id_parameter) == (Verb.UPDATE, "task", "task_id")
    cancelling = readings["cancel_task"]
    assert (cancelling.verb, cancelling.state) == (Verb.UPDATE, "cancelled")


def test_what_makes_others_makes_them_where_no_tool_is_there_to_do_so() -> None:
    sending, listing = spec("send_message", text=text), spec("list_messages")

    assert read_tools([sending, listing])["send_message"].verb is Verb.CREATE
    assert read_alone(sending).verb is Verb.OTHER
    drafting = spec("create_message", text=text)
    assert read_tools([sending, listing, drafting])["send_message"].verb is Verb.OTHER


@pytest.mark.parametrize("word", ["save", "store", "write", "put", "upsert"])
def test_what_keeps_a_thing_makes_it_where_nothing_says_which_one_it_changes(word: str) -> None:
    keeping = spec(f"{word}_memo", content=text)
    for other in (spec("show_memos"), spec("read_memo", memo_id=text)):
        assert read_tools((keeping, other))[keeping.name].verb is Verb.CREATE
    named = spec(f"{word}_memo", memo_id=text, content=text)
    assert read_tools((named, spec("show_memos")))[named.name].verb is Verb.UPDATE
    maker = spec("create_memo", content=text)
    assert read_tools((keeping, maker, spec("show_memos")))[keeping.name].verb is Verb.UPDATE
    setting = (spec(f"{word}_theme", color=text), spec("get_theme"))
    assert read_tools(setting)[setting[0].name].verb is Verb.UPDATE


def test_parameters_are_told_apart_by_what_they_are_for() -> None:
    number, told = {"type": "integer"}, {"type": "string", "description": "Where to look."}
    expected: dict[str, tuple[Any, Role]] = {
        "q": (text, Role.QUERY),
        "maxResults": (number, Role.LIMIT),
        "startAt": (number, Role.OFFSET),
        "pageToken": (text, Role.CURSOR),
        "sortBy": (text, Role.SORT),
        "apiKey": (text, Role.OPTION),
        "space": (told, Role.FIELD),
        "search_pages": (text, Role.NOISE),
        "Add": (text, Role.NOISE),
    }
    schemas: Any = {name: schema for name, (schema, _) in expected.items()}
    optional = ("search_pages", "Add")
    tool = spec("search_pages", "Search pages. Add Item", optional=optional, **schemas)

    roles = {p.name: p.role for p in read_alone(tool).parameters}
    assert roles == {name: role for name, (_, role) in expected.items()}


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("order", "orders"), ("box", "boxes"), ("company", "companies"), ("person", "people"),
        ("status", "statuses"), ("news", "news"), ("search", "searches"), ("day", "days"),
        ("index", "indices"), ("pull_request", "pull_requests"), ("api", "apis"),
        ("database", "databases"), ("address", "addresses"),
    ],
)  # fmt: skip
def test_nouns_are_counted(one: str, many: str) -> None:
    assert (singular(many), plural(one), plural(many)) == (one, many, many)
    assert is_plural(many) == (one != many)


def test_names_are_split_where_programmers_join_words() -> None:
    assert words_of("getHTTPServerIDs-v2.list_all") == (
        "get", "http", "server", "ids", "v2", "list", "all",
    )  # fmt: skip
