"""Who is told of something, and for how long."""

from astra_mcp.mcp.listeners import Listeners


def test_every_hearer_is_told_in_the_order_of_coming() -> None:
    listeners = Listeners[[str]]()
    told: list[tuple[str, str]] = []
    for who in ("first", "second"):
        listeners.add(lambda name, who=who: told.append((who, name)))

    listeners.tell("weather")

    assert told == [("first", "weather"), ("second", "weather")]


def test_a_function_that_was_added_twice_is_told_until_both_have_ended() -> None:
    listeners = Listeners[[str]]()
    told: list[str] = []
    ends = [listeners.add(told.append), listeners.add(told.append)]

    listeners.tell("both")
    ends[0]()
    ends[0]()
    listeners.tell("one")
    ends[1]()
    listeners.tell("none")

    assert told == ["both", "both", "one"]
    assert not listeners


def test_a_hearer_that_leaves_while_all_are_told_disturbs_nobody() -> None:
    listeners = Listeners[[str]]()
    told: list[str] = []
    ends = [listeners.add(lambda _: ends[0]()), listeners.add(told.append)]

    listeners.tell("first")
    listeners.tell("second")

    assert told == ["first", "second"]
