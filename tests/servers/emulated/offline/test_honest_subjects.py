"""What a tool is about is taken from several words that agree; what nothing says is refused, not invented."""

import pytest

from astra_mcp.types import ToolSpec
from astra_mcp.values.subjects.finding import find_subject
from astra_mcp.values.subjects.plain_words import EVERYDAY, OF_ANY_TRADE

from emulated_worlds import World, document_of, spec, text

NUMBER = {"type": "number"}


def world_of(*tools: ToolSpec, name: str = "kept") -> World:
    """A session of a server with these tools."""
    return World(document_of(*tools, name=name))


@pytest.mark.parametrize("noun", ["device", "application", "volume", "component", "market", "llm"])
def test_one_word_of_many_trades_names_no_subject(noun: str) -> None:
    assert find_subject(noun) is None


def test_another_word_that_agrees_makes_a_homonym_sure() -> None:
    found = find_subject("volume", near=frozenset(("docker", "container", "image")))
    assert found is not None
    assert found.subject.name == "container"


@pytest.mark.parametrize("noun", ["project", "user", "task", "comment", "product"])
def test_an_everyday_word_alone_has_the_members_of_any_trade(noun: str) -> None:
    assert noun in EVERYDAY
    found = find_subject(noun)
    assert found is not None
    assert found.fields
    assert {*found.fields} <= OF_ANY_TRADE


def test_the_domain_makes_an_everyday_word_that_of_its_trade() -> None:
    alone, at_work = find_subject("task"), find_subject("task", domain="productivity")
    assert alone is not None
    assert at_work is not None
    assert len(at_work.fields) > len(alone.fields)


def test_members_of_the_documents_speak_for_a_subject() -> None:
    alone = find_subject("application")
    found = find_subject("application", members=frozenset(("pid", "cpu_usage", "memory_usage")))
    assert alone is None
    assert found is not None
    assert found.subject.name == "process"


def test_a_description_alone_does_not_say_what_an_unknown_noun_is() -> None:
    world = world_of(
        spec("list_honors", "List the honors of a company.", company=text),
        spec("get_honor", "Get an honor.", honor_id=text),
    )
    (row, *_) = world.call("list_honors", company="Kestrel")["honors"]
    assert not {"industry", "employees", "founded"} & row.keys()


def test_no_two_rows_of_a_list_are_called_the_same() -> None:
    world = world_of(
        spec("list_workflow_folders", "List workflow folders."),
        spec("list_gizmos", "List gizmos."),
        spec("list_comments", "List the comments of an issue.", issue=text),
    )
    asked: list[tuple[str, str, str, dict[str, str]]] = [
        ("list_workflow_folders", "workflow_folders", "name", {}),
        ("list_gizmos", "gizmos", "name", {}),
        ("list_comments", "comments", "text", {"issue": "A-1"}),
    ]
    for tool, many, key, arguments in asked:
        called: list[str] = [row[key] for row in world.call(tool, **arguments)[many]]
        assert len(called) > 1
        assert len({*called}) == len(called)


def test_a_list_whose_rows_would_all_be_the_same_has_one() -> None:
    world = world_of(spec("list_baselines", "List baselines by name.", name=text))
    told = world.call("list_baselines", name="United States")
    assert [row["name"] for row in told["baselines"]] == ["United States"]


def test_who_is_searched_by_a_name_is_called_by_it_and_not_titled_by_it() -> None:
    world = world_of(spec("search_players", "Search for players.", query=text))
    names = [row["name"] for row in world.call("search_players", query="Ada")["players"]]
    assert all(name.split()[0] == "Ada" for name in names)
    assert not any("Introduction" in name or ":" in name for name in names)


def test_a_thing_that_the_tool_names_is_told_of() -> None:
    world = world_of(
        spec(
            "get_bitcoin_price", "Current price of Bitcoin in the crypto market, with its volume."
        ),
        name="crypto coin wallet",
    )
    assert world.call("get_bitcoin_price")["symbol"] == "BTC"


def test_data_of_which_nothing_is_said_are_refused() -> None:
    world = world_of(
        spec("get_flux_capacity", "Flux capacity.", unit=text),
        spec("calculate_zeta_score", "Calculates the zeta score.", alpha=NUMBER, beta=NUMBER),
    )
    assert "not available" in world.refusal("calculate_zeta_score", alpha=1, beta=2)


def test_what_takes_note_of_its_arguments_gives_them_back() -> None:
    world = world_of(spec("lateralthinking", "A tool for lateral moves.", premise=text))
    assert world.call("lateralthinking", premise="Why?")["premise"] == "Why?"
