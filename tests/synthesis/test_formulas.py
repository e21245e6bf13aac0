"""Whether a main answer follows from sub-answers by its formula, decided in code."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.environments.questions.formulas import derivation_fault
from astra_mcp.synthesis.environments.questions.instance import Formula

from scripted_synthesis import draft, sub

RESULTS: Mapping[str, Callable[[list[Decimal]], Decimal | int]] = {
    "sum": sum,
    "difference": lambda numbers: 2 * numbers[0] - sum(numbers),
    "product": prod,
    "max": max,
    "min": min,
    "count": len,
}


def fault(formula: str, answers: list[str], final: str, *ids: int) -> str | None:
    """What is wrong with an answer; of all answers, unless ids are said."""
    subs = [sub(n, answer=answer) for n, answer in enumerate(answers, 1)]
    taken = ids or tuple(range(1, len(answers) + 1))
    derivation = {"formula": formula, "sub_questions": taken}
    return derivation_fault(draft(*subs, final_answer=final, derivation=derivation))


@pytest.mark.claim("P33")
@given(
    st.sampled_from(sorted(RESULTS)),
    st.lists(st.decimals(-9999, 9999, places=2), min_size=1, max_size=5),
    st.sampled_from(["{:f}", "{:,f} EUR", "about {:f} km in all", "\u5171{:f}\u5143"]),
)
def test_what_the_formula_gives_follows_and_another_number_does_not(
    formula: str, numbers: list[Decimal], words: str
) -> None:
    answers = [words.format(number) for number in numbers]
    result = Decimal(RESULTS[formula](numbers))
    assert fault(formula, answers, words.format(result)) is None
    told = fault(formula, answers, words.format(result + 1))
    assert told is not None
    assert f"{result.normalize():f}" in told


@pytest.mark.claim("P33")
@pytest.mark.parametrize(
    ("formula", "answers", "final", "words"),
    [
        ("join", ["EC 87", "7A"], "EC 87 from 7A", None),
        ("join", ["EC 87", "7A"], "EC 87", "does not state '7A'"),
        ("join", ["EC 8"], "EC 87", "does not state"),
        ("average", ["1", "2", "2"], "1.67", None),
        ("average", ["1", "2", "2"], "1.6", "average is 1.6"),
        ("max", ["12 km", "9 km"], "the first one", "max is 12"),
        ("sum", ["from 3 to 5"], "8", "holds 2"),
        ("sum", ["none"], "0", "holds 0"),
        ("difference", ["\u22125", "3"], "-8", None),
    ],
)
def test_each_formula_says_what_does_not_follow(
    formula: str, answers: list[str], final: str, words: str | None
) -> None:
    told = fault(formula, answers, final)
    assert told is None if words is None else words in (told or "")


def test_a_formula_takes_sub_questions_that_are_there_each_once_and_in_its_order() -> None:
    assert "takes [3]" in (fault("sum", ["1", "2"], "3", 1, 3) or "")
    assert "twice" in (fault("count", ["a"], "2", 1, 1) or "")
    assert fault("difference", ["3", "10"], "7", 2, 1) is None
    assert fault("difference", ["3", "10"], "7", 1, 2) is not None
    nothing = {"formula": "sum", "sub_questions": ()}
    assert "takes nothing" in (derivation_fault(draft(derivation=nothing)) or "")


def test_only_a_formula_in_words_is_left_to_a_judge() -> None:
    assert fault("other", ["1"], "anything") is None
    assert {f for f in Formula if fault(f, ["no number here"], "anything else") is None} == {
        "other"
    }
