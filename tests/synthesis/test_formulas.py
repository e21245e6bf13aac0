"""Whether a main answer follows from sub-answers by its formula: what code knows, and what it leaves open."""

from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from astra_mcp.synthesis.environments.questions.formulas import (
    Derived,
    check_derivation,
    derivation_fault,
)
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
ASKED = "How many km, crates, EUR or 元 do the two warehouses hold, 一共?"
CRATES = ["14 crates", "21 crates"]
FOLLOWS = Derived()
EXACT = 60
"""Digits of the longest product of five numbers, and more."""


def derived(formula: str, answers: list[str], final: str, *ids: int, asked: str = ASKED) -> Derived:
    """What code knows of an answer; of all answers, unless ids are said."""
    subs = [sub(n, answer=answer) for n, answer in enumerate(answers, 1)]
    taken = ids or tuple(range(1, len(answers) + 1))
    derivation = {"formula": formula, "sub_questions": taken}
    return check_derivation(
        draft(*subs, main_question=asked, final_answer=final, derivation=derivation)
    )


def fault(formula: str, answers: list[str], final: str, *ids: int) -> str:
    """What is wrong with an answer; empty where nothing is, or a judge has to say."""
    return derived(formula, answers, final, *ids).fault or ""


@pytest.mark.claim("P33")
@given(
    st.sampled_from(sorted(RESULTS)),
    st.lists(st.decimals(-9999, 9999, places=2), min_size=2, max_size=5),
    st.sampled_from(["{:f}", "{:,f} EUR", "about {:f} km in all", "\u5171 {:f}\u5143"]),
    st.integers(1, 9999),
)
def test_what_the_formula_gives_follows_and_another_number_does_not(
    formula: str, numbers: list[Decimal], words: str, more: int
) -> None:
    with localcontext() as context:
        context.prec = EXACT
        result = Decimal(RESULTS[formula](numbers)) + 0
        other = result + more
        assume(other != abs(result))
        told = f"{result.normalize():f}"
        answers = [words.format(number) for number in numbers]
        right, wrong = (derived(formula, answers, words.format(n)) for n in (result, other))
    has_odd_unit = formula == "product" and words != "{:f}"
    assert right == Derived(is_open=has_odd_unit)
    assert told in (wrong.fault or "")


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([*Formula]))
def test_any_text_is_judged_by_code_or_left_open(one: str, other: str, formula: Formula) -> None:
    found = derived(formula, [one or "x", other or "y"], f"{one} {other}")
    assert not (found.fault and found.is_open)


@pytest.mark.claim("P33")
@pytest.mark.parametrize(
    ("formula", "answers", "final", "words"),
    [
        ("join", ["EC 87", "7A"], "EC 87", "does not state '7A'"),
        ("join", ["EC 8"], "EC 87", "does not state"),
        ("average", ["1", "2", "2"], "1.6", "average is about 1.66667"),
        ("average", ["18", "18", "19"], "18.4", "average is about 18.3333"),
        ("max", ["12 km", "9 km"], "9 km", "max is 12"),
        ("sum", CRATES, "The two warehouses hold 36 crates in all.", "sum is 35"),
        ("sum", CRATES, "-35 crates", "sum is 35"),
        ("sum", CRATES, "35.4 crates", "sum is 35"),
        ("sum", ["0.001 kg", "0.002 kg"], "0.007 kg", "sum is 0.003"),
        ("sum", ["K-7: 14 crates", "K-9: 21 crates"], "36 crates", "sum is 35"),
        ("difference", ["21 crates", "14 crates"], "-7 crates", "difference is 7"),
        ("count", CRATES, "3 crates", "count is 2"),
        ("product", ["9" * 40, "9" * 40], "1", "product is about 1.00000e+80"),
    ],
)
def test_code_refuses_what_it_knows_to_be_wrong_and_says_why(
    formula: str, answers: list[str], final: str, words: str
) -> None:
    assert words in fault(formula, answers, final)


@pytest.mark.claim("P33")
@pytest.mark.parametrize(
    ("formula", "answers", "final"),
    [
        ("join", ["EC 87", "7A"], "EC 87 from 7A"),
        ("join", ["Martha Lund"], "It is Martha Lund."),
        ("average", ["1", "2", "2"], "1.67"),
        ("average", ["18", "18", "19"], "18.3"),
        ("difference", ["\u22125", "3"], "-8"),
        ("difference", CRATES, "7 crates"),
        ("sum", CRATES, "35"),
        ("sum", CRATES, "35.0 crates"),
        ("sum", CRATES, "\uff13\uff15 crates"),
        ("sum", ["K-7: 14 crates", "K-9: 21 crates"], "35 crates"),
        ("sum", ["$1.5 million", "$2.5 million"], "$4 million"),
        ("sum", ["1,205 EUR", "500 EUR"], "1,705 EUR"),
        ("sum", ["3\u4e07\u5143", "2\u4e07\u5143"], "\u4e00\u51715\u4e07\u5143\u3002"),
        ("product", ["3", "14 crates"], "42 crates"),
        ("count", CRATES, "There are 2 warehouses."),
    ],
)
def test_code_accepts_what_it_knows_to_follow(formula: str, answers: list[str], final: str) -> None:
    assert derived(formula, answers, final) == FOLLOWS


@pytest.mark.parametrize(
    ("formula", "answers", "final"),
    [
        ("join", ["Martha Lund"], "Anybody but Martha Lund"),
        ("join", ["Martha Lund"], "Martha Lund's brother"),
        ("max", ["12 km", "9 km"], "the first one"),
        ("sum", ["from 3 to 5"], "8"),
        ("sum", ["none", "nobody"], "0"),
        ("sum", ["5 days", "2 kg"], "7 crates"),
        ("sum", ["$1.5 million", "$2.5 thousand"], "$4 million"),
        ("sum", ["\u5341\u56db\u7bb1", "\u4e8c\u5341\u4e00\u7bb1"], "\u4e09\u5341\u4e94\u7bb1"),
        (
            "sum",
            ["3\u4e07\u4e94\u5343\u5143", "2\u4e07\u4e94\u5343\u5143"],
            "5\u4e07\u4e94\u5343\u5143",
        ),
        ("sum", ["fourteen crates", "21 crates"], "thirty-five crates"),
        ("sum", ["1,5 kg", "2,5 kg"], "4 kg"),
        ("sum", ["1,00,000", "2,00,000"], "3,00,000"),
        ("sum", ["1.205 EUR", "500 EUR"], "1.705 EUR"),
        ("sum", ["B-12", "B-13"], "25"),
        ("average", ["18", "18", "19"], "18"),
        ("average", ["0.05", "0.06"], "0.1"),
        ("product", ["20 %", "50 crates"], "10 crates"),
        ("product", ["9" * 5000, "2"], "1"),
        ("count", CRATES, "2 May"),
        ("count", CRATES, "warehouse 2"),
    ],
)
def test_what_code_cannot_read_clearly_is_left_to_a_judge(
    formula: str, answers: list[str], final: str
) -> None:
    assert derived(formula, answers, final) == Derived(is_open=True)


@pytest.mark.parametrize(
    "final",
    [
        "Not 35 but 99 crates",
        "Not 35 crates",
        "Between 34 and 35 or 36",
        "minus 35 crates",
        "-$35",
        "35 crates short",
        "35 dozen crates",
        "half of 35 crates",
        "35 crates each",
        "nearly 35 crates",
        "two hundred 35 crates",
        "35 kg",
        "70/2 crates",
        "35 crates, 14 and 21",
        "They don't hold 35 crates",
    ],
)
def test_a_number_that_other_words_may_change_is_not_taken_for_what_it_shows(final: str) -> None:
    asked = "How many crates do the warehouses not hold, two or each, and which don't?"
    assert derived("sum", CRATES, final, asked=asked) == Derived(is_open=True)


def test_a_formula_over_less_than_the_question_asks_for_is_left_to_a_judge() -> None:
    assert derived("max", CRATES, "14 crates", 1) == Derived(is_open=True)
    assert derived("join", ["Martha Lund", "Elm Gate"], "Martha Lund", 1).is_open
    chain = draft(sub(1), sub(2, 1), final_answer="CODE-222")
    last = chain.model_copy(
        update={"derivation": chain.derivation.model_copy(update={"sub_questions": (2,)})}
    )
    assert check_derivation(last) == FOLLOWS


def test_a_formula_takes_sub_questions_that_are_there_each_once_and_in_its_order() -> None:
    assert "takes [3]" in fault("sum", ["1", "2"], "3", 1, 3)
    assert "twice" in fault("count", ["a"], "2", 1, 1)
    assert fault("difference", ["3", "10"], "7", 2, 1) == ""
    assert fault("difference", ["3", "10"], "-7", 1, 2) == ""
    assert fault("difference", ["3", "10"], "-7", 2, 1)
    nothing = {"formula": "sum", "sub_questions": ()}
    assert "takes nothing" in (derivation_fault(draft(derivation=nothing)) or "")


def test_a_formula_in_words_is_left_to_a_judge() -> None:
    assert derived("other", ["1"], "anything") == Derived(is_open=True)
