"""Unknown names: the closest ones are told, and no message grows with what was asked for."""

from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import UnknownNameError


def test_the_closest_names_are_told_or_what_to_do() -> None:
    near = UnknownNameError.among("server", "berts", ["berths", "tide"], "see all")
    far = UnknownNameError.among("server", "x", ["berths"], "see all")

    assert str(near) == "no server is named 'berts'; did you mean berths?"
    assert str(far) == "no server is named 'x'; see all"


@given(st.integers(1, 20_000))
def test_a_message_repeats_so_much_of_a_name_and_no_more(length: int) -> None:
    message = str(UnknownNameError.among("task", "t" * length, ["boats"], "see all"))

    assert len(message) < 400
    assert message.endswith("; see all")
    assert ("t" * min(length, 256)) in message
