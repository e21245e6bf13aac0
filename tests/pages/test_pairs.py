"""Calls of two episodes stand beside those that they have in common."""

from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.call_record import CallRecord
from astra_mcp.serving.pages.trajectories import pairs
from astra_mcp.serving.pages.trajectories.pairs import differences_in, pairs_of


def calls(*names: str) -> list[CallRecord]:
    """One call each: a letter is a tool, what follows its argument."""
    return [
        CallRecord(
            n=n, call_id="", seq=None, shown=each[0], tool=each[0], arguments={"a": each[1:]}
        )
        for n, each in enumerate(names)
    ]


def kinds(left: Sequence[CallRecord], right: Sequence[CallRecord]) -> list[tuple[str, str]]:
    return [(pair.numbers, pair.words) for pair in pairs_of(left, right)]


def test_one_call_more_leaves_the_others_the_same() -> None:
    found = pairs_of(calls("x", "a1", "b2", "c3"), calls("a1", "b2", "c3"))
    assert [pair.kind for pair in found] == ["alone", "same", "same", "same"]
    assert [pair.numbers for pair in found] == ["0", "1 beside 0", "2 beside 1", "3 beside 2"]
    (only,) = differences_in(found)
    assert (only.words, [pair.numbers for pair in only.pairs]) == ("only on the left", ["0"])


def test_between_common_calls_those_of_one_tool_stand_together() -> None:
    assert kinds(calls("a1", "x", "b2", "z"), calls("a1", "b3", "z")) == [
        ("0", "same call"),
        ("1", "only on the left"),
        ("2 beside 1", "other arguments"),
        ("3 beside 2", "same call"),
    ]


def test_true_and_one_are_other_arguments() -> None:
    one, other = (
        CallRecord(n=0, call_id="", seq=None, shown="t", tool="t", arguments={"a": value})
        for value in (1, True)
    )
    assert kinds([one], [other]) == [("0", "other arguments")]


def test_many_calls_stand_by_their_places() -> None:
    many = calls(*(f"a{n}" for n in range(pairs.MAX_ALIGNED)))
    assert {pair.kind for pair in pairs_of(many, many[1:])} == {"same", "alone"}
    longer = [*many, many[0]]
    assert {pair.kind for pair in pairs_of(longer, longer[1:])} == {"other", "alone"}
    assert not pairs.are_aligned(longer, many)


_SIDE = st.lists(st.sampled_from(["a1", "a2", "b1"]), max_size=6)


@given(_SIDE, _SIDE)
def test_nothing_is_lost_or_moved_and_as_many_as_can_be_are_the_same(
    left: list[str], right: list[str]
) -> None:
    ours, theirs = calls(*left), calls(*right)
    found = pairs_of(ours, theirs)
    assert [pair.left for pair in found if pair.left] == ours
    assert [pair.right for pair in found if pair.right] == theirs
    chosen = (set(combinations(left, n)) & set(combinations(right, n)) for n in range(7))
    longest = max(n for n, common in enumerate(chosen) if common)
    assert sum(pair.kind == "same" for pair in found) == longest
