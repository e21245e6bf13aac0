"""What is made up fits the question, its trade and the form that the tool is said to give."""

import csv
import io
import json
import re
from base64 import b64decode
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.types import JsonObject
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.finding import find_subject
from astra_mcp.values.subjects.portraits import portrait_of
from astra_mcp.values.wording import Wording
from servers.emulated.offline.promises import Form, read_promise
from servers.emulated.offline.series import steadied

from emulated_worlds import World, document_of, spec, text

number: dict[str, Any] = {"type": "integer"}
degrees: dict[str, Any] = {"type": "number"}


def rows_of(told: Any) -> list[Any]:
    """The list that an answer holds."""
    return next(cast("list[Any]", value) for value in told.values() if isinstance(value, list))


def world_of(*tools: Any, language: str = "en", seed: int = 1) -> World:
    return World(document_of(*tools, language=language), seed=seed)


@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("Count words. Returns: int: the number of words", Form.NUMBER),
        ("Returns the total number of accounts.", Form.NUMBER),
        ("Returns true if the page is public, false otherwise.", Form.FLAG),
        ("Show all.\n\nReturns:\n    List of matching posts", Form.LIST),
        ("Returns: A Markdown-formatted table of coins", Form.MARKDOWN),
        ("Returns: CSV of all rows", Form.CSV),
        ("Returns: base64-encoded PNG", Form.IMAGE),
        ("Returns the URL of the page", Form.URL),
        ("Returns: Dictionary with the details", Form.RECORD),
        ("Returns: A message confirming that it was sent", Form.NOTICE),
        ("返回\uff1a匹配的文章列表", Form.LIST),
        ("List posts. Args: limit: how many to return", None),
    ],
)
def test_the_form_is_what_the_description_says(said: str, form: Form | None) -> None:
    assert read_promise(spec("look", said)).form is form


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("Get a hotel. Returns name, address, rating and price.", ["name", "address", "rating", "price"]),
        ("Get a film, including title, rating, and language.", ["title", "rating", "language"]),
        ('Returns: {"temperature": 3, "windSpeed": 4}', ["temperature", "windSpeed"]),
        ("Returns:\n- title: of the book\n- author: who wrote it\n", ["title", "author"]),
        (":return: total Number 总数 name String 股东名 type Number 0-机构 1-人", ["total", "name", "type"]),
    ],
)  # fmt: skip
def test_members_are_those_that_the_description_names(said: str, names: list[str]) -> None:
    found = [member.name for member in read_promise(spec("get_it", said)).members]
    assert found == names or {*names} <= {*found}


def test_a_number_a_flag_a_list_and_a_table_are_given_as_such() -> None:
    world = world_of(
        spec("get_account_total", "Returns the total number of accounts."),
        spec("is_open_access", "Returns true if it is open access.", pmid=text),
        spec("get_city_facts", "Returns: List of cities", country=text),
        spec("export_city_csv", "Returns: CSV of cities", country=text),
        spec("city_table", "Returns: a Markdown table of cities", country=text),
        spec("get_map_image", "Returns: base64 PNG image", city=text),
    )
    assert isinstance(world.call("get_account_total"), int)
    assert isinstance(world.call("is_open_access", pmid="34567890"), bool)
    rows = world.call("get_city_facts", country="France")
    assert isinstance(rows, list)
    assert rows
    table = list(csv.DictReader(io.StringIO(world.call("export_city_csv", country="France"))))
    assert table
    assert "|" in world.call("city_table", country="France") or "**" in world.call(
        "city_table", country="France"
    )
    picture = world.call("get_map_image", city="Lyon")
    assert b64decode(picture["data"]).startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("said", "member"),
    [
        ("List schemas. Returns: a list of schema names", "name"),
        ("List schemas. Returns: list[str]", "name"),
        ("列出日志库。返回所有日志库。Returns: 日志库名称的字符串列表", "name"),
        ("List schemas. Returns: list of the ids", "id"),
        ("List schemas. Returns: a list of names and sizes", None),
        ("List schemas. Returns: a list of schemas", None),
    ],
)
def test_a_list_of_names_holds_names(said: str, member: str | None) -> None:
    assert read_promise(spec("list_schemas", said)).of == member
    rows = world_of(spec("list_schemas", said)).call("list_schemas")
    assert rows
    assert all(isinstance(row, dict if member is None else str) for row in rows)


def test_a_word_of_another_trade_is_not_taken_for_its_thing() -> None:
    elsewhere, at_home = (
        world_of(spec("get_token", "Get the token.", label=text), spec("list_users", said))
        for said in ("List the users.", "List the users of the blockchain wallet.")
    )
    assert "market_cap" not in elsewhere.call("get_token", label="one")
    assert find_subject("token") is None
    assert at_home.call("list_users")
    found = find_subject("token", near=frozenset(("blockchain", "wallet", "crypto")))
    assert found is not None
    assert found.subject.name == "coin"


def test_what_has_to_do_with_a_thing_borrows_no_category_of_it() -> None:
    found = find_subject("vulnerability") or find_subject("product")
    assert found is not None
    subject = replace(found.subject, categories=("only here",), columns=(), rows=())
    dice = RandomStream.of_seed(3)
    thing, related = (
        portrait_of(replace(found, subject=subject, is_thing=is_thing), dice, {}, None)
        for is_thing in (True, False)
    )
    assert [*thing.member("category")] == ["only here"]
    assert [*related.member("category")] == []


def test_a_tool_of_which_nothing_is_known_takes_note_of_its_arguments() -> None:
    world = world_of(spec("dialecticize", "Reason in steps.", claim=text, steps=number))
    told = world.call("dialecticize", claim="Bridges age", steps=3)
    assert told == {"claim": "Bridges age", "steps": 3, "status": "completed"}


def test_a_change_says_that_it_succeeded_where_the_tool_confirms_it() -> None:
    said = "Rename a note. Returns: A message confirming the change"
    world = world_of(
        spec("create_note", "", title=text), spec("update_note", said, note_id=text, title=text)
    )
    made = world.call("create_note", title="a")
    assert "success" not in made
    told = world.call("update_note", note_id=made["id"], title="b")
    assert (told["success"], told["title"]) == (True, "b")


@given(st.lists(st.floats(1, 1000), min_size=2, max_size=20))
def test_numbers_of_one_thing_do_not_leap_from_day_to_day(prices: list[float]) -> None:
    rows: list[JsonObject] = [{"price": price, "up": True, "note": "x"} for price in prices]
    steadied(rows)
    told = [cast("float", row["price"]) for row in rows]
    assert max(told) - min(told) <= (max(prices) - min(prices)) * 0.5 + 0.01
    assert min(prices) - 0.01 <= min(told)
    assert max(told) <= max(prices) + 0.01
    assert all(row["up"] is True and row["note"] == "x" for row in rows)


@pytest.mark.parametrize(
    ("tool", "said", "told"),
    [
        ("check_domain", "Check if a domain name is available.", {"available": True}),
        (
            "check_secret",
            "Check whether a password has been exposed in a leak.",
            {"exposed": False},
        ),
        ("validate_iban", "Validates an IBAN.", {"valid": True}),
        ("check_api_status", "Check that the weather API can be reached.", {"available": True}),
    ],
)
def test_a_check_tells_what_it_is_said_to_find_out(
    tool: str, said: str, told: dict[str, bool]
) -> None:
    answer = world_of(spec(tool, said, value=text)).call(tool, value="x")
    assert answer == {"value": "x", **told, "status": "ok"}


def test_what_is_checked_for_is_listed() -> None:
    said = "Check for known vulnerabilities in a package."
    told = world_of(spec("check_vulnerabilities", said, package=text)).call(
        "check_vulnerabilities", package="left-pad"
    )
    assert rows_of(told)
    assert "valid" not in told


def test_the_history_of_a_channel_holds_messages_that_differ() -> None:
    said = "Message history of an account. Returns: List of messages"
    rows = world_of(spec("get_message_history", said, account=text)).call(
        "get_message_history", account="a"
    )
    assert len({json.dumps(row.get("text")) for row in rows}) > 1


def test_labels_are_words_and_not_their_number() -> None:
    world = world_of(spec("list_tasks", "List the tasks."), spec("create_task", "", title=text))
    for row in world.call("list_tasks")["tasks"]:
        assert all(isinstance(label, str) for label in row.get("labels", []))


def test_a_city_lies_where_it_lies_whichever_tool_is_asked() -> None:
    world = world_of(
        spec("get_weather", "Current weather of a city.", city=text),
        spec("get_forecast", "Weather forecast.", city=text, days=number),
        spec("geocode_city", "Get coordinates of a city: latitude, longitude.", city=text),
    )
    told = world.call("geocode_city", city="tokyo")

    assert (told["latitude"], told["longitude"]) == (35.6762, 139.6503)
    days = world.call("get_forecast", city="Tokyo", days=4)
    rows = rows_of(days)
    assert len(rows) == 4
    assert [row["date"] for row in rows] == sorted(row["date"] for row in rows)
    weather = world.call("get_weather", city="Tokyo")
    assert weather == world.call("get_weather", city="Tokyo")
    assert weather["city"] == "Tokyo"


def test_two_tools_that_tell_of_one_share_agree() -> None:
    world = world_of(
        spec("get_stock_quote", "Quote of a stock.", symbol=text),
        spec("get_stock_price", "Current price of a stock.", symbol=text),
    )
    quote, price = (
        world.call(tool, symbol="MSFT") for tool in ("get_stock_quote", "get_stock_price")
    )
    assert quote["price"] == price["price"]
    assert quote["name"] == "Microsoft Corporation"
    assert quote["currency"] == "USD"


def test_of_a_thing_that_is_not_known_no_name_is_made_up() -> None:
    world = world_of(spec("get_stock_quote", "Quote of a stock.", symbol=text))
    told = world.call("get_stock_quote", symbol="ZZQX")

    assert told["symbol"] == "ZZQX"
    assert "name" not in told


def test_days_lie_in_the_range_that_is_asked_for() -> None:
    world = world_of(
        spec("get_stock_history", "Daily prices of a stock.", symbol=text, start_date=text, end_date=text)
    )  # fmt: skip
    told = world.call(
        "get_stock_history", symbol="AAPL", start_date="2025-03-03", end_date="2025-03-07"
    )
    rows = rows_of(told)

    assert [row["date"] for row in rows] == [f"2025-03-0{day}" for day in range(3, 8)]
    assert all(row["low"] <= min(row["open"], row["close"]) for row in rows)
    assert all(row["high"] >= max(row["open"], row["close"]) for row in rows)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_more_is_told_than_is_asked_for(limit: int) -> None:
    world = world_of(
        spec("get_news", "Latest news.", limit=number),
        spec("search_papers", "Search papers.", query=text, limit=number),
    )
    for told in (
        world.call("get_news", limit=limit),
        world.call("search_papers", query="quantum sensors", limit=limit),
    ):
        rows = rows_of(told)
        assert 0 < len(rows) <= limit


def test_a_search_finds_real_things_by_their_names_and_others_by_the_words_asked() -> None:
    world = world_of(spec("search_movies", "Search movies.", query=text))
    real = world.call("search_movies", query="Inception")["movies"]
    assert [row["director"] for row in real] == ["Christopher Nolan"]
    other = world.call("search_movies", query="glass harbour")["movies"]
    assert all("glass harbour" in row["title"] for row in other)


def test_a_query_is_answered_by_rows_of_its_columns() -> None:
    world = world_of(spec("execute_query", "Run SQL.", sql=text))
    told = world.call("execute_query", sql="SELECT id, email AS mail FROM users LIMIT 2")

    assert [[*row] for row in told["rows"]] == [["id", "mail"]] * len(told["rows"])
    assert 0 < len(told["rows"]) <= 2


def test_a_page_is_titled_by_its_address_and_a_program_prints_its_literals() -> None:
    world = world_of(
        spec("fetch_markdown", "Fetch a page as Markdown.", url=text),
        spec("run_code", "Run Python.", code=text),
    )
    page = world.call("fetch_markdown", url="https://docs.acme.dev/guide/solar-power.html")
    assert page.startswith("# Solar Power\n")
    assert world.call("run_code", code="print('hello')")["stdout"] == "hello\n"


def test_what_only_a_translator_or_a_model_could_say_is_refused() -> None:
    world = world_of(
        spec("translate_text", "Translate.", text=text, target=text),
        spec("ask_question", "Ask the model.", question=text),
        spec("summarize_url", "Summarize a page.", url=text),
    )
    assert "not available" in world.refusal("translate_text", text="Hello", target="fr")
    assert "not available" in world.refusal("ask_question", question="Why?")
    assert "not available" in world.refusal("summarize_url", url="https://a.dev/x")


def test_a_text_is_summarized_by_its_own_sentences() -> None:
    world = world_of(spec("summarize_text", "Summarize.", text=text))
    given = "The bridge opened. It took three years. Traffic fell."
    assert world.call("summarize_text", text=given) == {
        "summary": "The bridge opened. It took three years."
    }


def test_what_was_done_is_said_in_the_words_of_the_tool() -> None:
    world = world_of(spec("browser_click", "Click an element.", selector=text))
    told = world.call("browser_click", selector="#submit")
    assert told["success"] is True
    assert told["message"] == "Clicked browser: #submit"


def test_a_generated_picture_is_a_file_of_its_kind() -> None:
    world = world_of(spec("generate_image", "Generate an image from a prompt.", prompt=text))
    told = world.call("generate_image", prompt="a red bicycle")
    assert told["prompt"] == "a red bicycle"
    assert told["url"].endswith(".png")


SUBJECTS = (
    "weather", "stock", "coin", "paper", "flight", "recipe", "repository", "movie", "drug", "issue", "email",
    "tweet", "vulnerability", "container", "hotel", "order", "employee",
)  # fmt: skip


@settings(max_examples=60)
@given(noun=st.sampled_from(SUBJECTS), seed=st.integers(0, 2**32))
def test_members_of_one_thing_fit_each_other(noun: str, seed: int) -> None:
    found = find_subject(noun)
    assert found is not None
    portrait = portrait_of(found, RandomStream.of_seed(seed), {}, None)
    again = portrait_of(found, RandomStream.of_seed(seed), {}, None)
    for key in (*found.fields, "open", "high", "low", "close"):
        assert [*portrait.member(key)] == [*again.member(key)]
    for low, high in (
        ("low", "high"),
        ("temp_min", "temp_max"),
        ("low", "close"),
        ("open", "high"),
    ):
        pair = [*portrait.member(low), *portrait.member(high)]
        if len(pair) == 2 and all(isinstance(value, int | float) for value in pair):
            assert pair[0] <= pair[1]  # pyright: ignore[reportOperatorIssue]


@given(seed=st.integers(0, 2**32), what=st.sampled_from(["event", "flight", "trip"]))
def test_what_ends_does_so_after_it_began(seed: int, what: str) -> None:
    del what
    wording, dice = Wording("en", 1_750_000_000), RandomStream.of_seed(seed)
    assert wording.between(dice, "start_time") < wording.between(dice, "end_time")
    assert wording.between(dice, "departure_time") < wording.between(dice, "arrival_time")


FILLER = re.compile(r"team agreed|completed successfully|Budget Review|front desk|quarterly", re.I)
VERBS = ("get", "list", "search", "create", "analyze", "check", "run", "delete_all", "generate")


@settings(max_examples=80, deadline=None)
@given(
    verb=st.sampled_from(VERBS),
    noun=st.sampled_from((*SUBJECTS, "widget", "frobnication", "report")),
)
def test_no_answer_holds_sentences_of_an_office(verb: str, noun: str) -> None:
    tools = [
        spec(f"{verb}_{noun}s", f"{verb} {noun}s.", optional=("query",), query=text),
        spec(f"get_{noun}_details", f"Details of a {noun}.", name=text),
    ]
    world = world_of(*tools)
    for tool, arguments in ((tools[0], {"query": "blue"}), (tools[1], {"name": "Blue"})):
        told = json.dumps(world.ask(tool.name, **arguments).value)
        assert FILLER.search(told) is None


def test_every_subject_has_what_it_needs() -> None:
    for noun in SUBJECTS:
        found = find_subject(noun)
        assert found is not None, noun
        assert found.fields, noun
        for row in found.subject.rows:
            assert tuple(row) == found.subject.columns


@pytest.mark.parametrize("seed", range(4))
def test_what_a_search_that_gives_one_thing_names_is_there_for_later_calls(seed: int) -> None:
    found = {"type": "object", "properties": {"hut_id": text, "owner_id": text, "altitude": text}}
    world = World(
        document_of(
            spec("search_hut", "Searches for a hut near a place.", place=text, output=found),
            spec("book_beds", "Books beds in a hut.", hut_id=text, beds={"type": "integer"}),
            spec("get_hut", "Gets a hut.", hut_id=text),
        ),
        seed=seed,
    )
    hut = world.call("search_hut", place="the lake")
    assert hut["owner_id"] != hut["hut_id"]
    assert world.call("get_hut", hut_id=hut["hut_id"])
    assert world.call("book_beds", hut_id=hut["hut_id"], beds=2)
