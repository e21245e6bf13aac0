"""Who is told of something, and for how long."""

from astra_mcp.mcp.listeners import Hearers


def test_every_hearer_is_told_in_the_order_of_coming() -> None:
    hearers = Hearers[[str]]()
    told: list[tuple[str, str]] = []
    for who in ("first", "second"):
        hearers.add(lambda name, who=who: told.append((who, name)))

    hearers.tell("weather")

    assert told == [("first", "weather"), ("second", "weather")]


def test_a_function_that_was_added_twice_is_told_until_both_have_ended() -> None:
    hearers = Hearers[[str]]()
    told: list[str] = []
    ends = [hearers.add(told.append), hearers.add(told.append)]

    hearers.tell("both")
    ends[0]()
    ends[0]()
    hearers.tell("one")
    ends[1]()
    hearers.tell("none")

    assert told == ["both", "both", "one"]
    assert not hearers


def test_a_hearer_that_leaves_while_all_are_told_disturbs_nobody() -> None:
    hearers = Hearers[[str]]()
    told: list[str] = []
    ends = [hearers.add(lambda _: ends[0]()), hearers.add(told.append)]

    hearers.tell("first")
    hearers.tell("second")

    assert told == ["first", "second"]
