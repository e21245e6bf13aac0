"""Does the main answer follow from the answers of sub-questions by the formula that is declared?

Phi of ASTRA eq. (12). Code says so where it reads each answer as one quantity and knows that it does or does
not; what it cannot read, and the formula ``other``, it leaves to a judge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import prod

from astra_mcp.answers import contains_answer, tokenize
from astra_mcp.synthesis.environments.questions.instance import Draft, Formula, SubQuestion
from astra_mcp.synthesis.environments.questions.quantities import (
    Quantity,
    Wording,
    read_quantity,
)

__all__ = ["Derived", "check_derivation", "derivation_fault"]

_MAX_TOLD = 50
"""Digits of a number in a message."""
_SHARES = frozenset("%‰")
"""Units that are factors."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What code knows of a derivation."""

    fault: str | None = None
    """Why it is wrong, in words; None where code does not know that it is."""
    is_open: bool = False
    """Code knows neither: a judge has to say."""


_FOLLOWS = Derived()
_OPEN = Derived(is_open=True)


def derivation_fault(draft: Draft) -> str | None:
    """Say why the main answer does not follow, in words; None where it does, or a judge has to say."""
    return check_derivation(draft).fault


def check_derivation(draft: Draft) -> Derived:
    """Hold the main answer against its formula.

    Args:
        draft: Its ids are sound.
    """
    formula, ids = draft.derivation.formula, draft.derivation.sub_questions
    if formula is Formula.OTHER:
        return _OPEN
    subs = {sub.id: sub for sub in draft.sub_questions}
    unknown = [id for id in ids if id not in subs]
    if unknown or not ids:
        return Derived(
            f"the formula {formula} takes {unknown or 'nothing'}: name ids of sub-questions"
        )
    taken = [subs[id] for id in ids]
    if formula is Formula.JOIN:
        found = _check_join(draft, taken)
    elif len({*ids}) < len(ids):
        return Derived(f"the formula {formula} takes a sub-question twice")
    else:
        found = _check_number(draft, formula, taken)
    return _OPEN if found == _FOLLOWS and _leaves_out(draft, taken) else found


def _leaves_out(draft: Draft, taken: Sequence[SubQuestion]) -> bool:
    """Tell whether an answer that nothing else needs is neither taken nor stated."""
    used = {sub.id for sub in taken} | {id for s in draft.sub_questions for id in s.dependencies}
    ends = [sub for sub in draft.sub_questions if sub.id not in used]
    return not all(contains_answer(draft.final_answer, sub.answer) for sub in ends)


def _check_join(draft: Draft, taken: Sequence[SubQuestion]) -> Derived:
    for sub in taken:
        if not contains_answer(draft.final_answer, sub.answer):
            return Derived(f"the final answer does not state {sub.answer!r}")
    stated = {token for sub in draft.sub_questions for token in tokenize(sub.answer)}
    around = [token for token in tokenize(draft.final_answer) if token not in stated]
    wording = Wording.of(draft.main_question, *(sub.question for sub in draft.sub_questions))
    return _FOLLOWS if wording.allows(around) else _OPEN


def _check_number(draft: Draft, formula: Formula, taken: Sequence[SubQuestion]) -> Derived:
    asked = Wording.of(draft.main_question)
    if formula is Formula.COUNT:
        told = read_quantity(draft.final_answer, asked, ())
        if told is None or not asked.has(told.unit):
            return _OPEN
        return _compared(formula, Fraction(len(taken)), [], told, draft.final_answer)
    read = [
        read_quantity(sub.answer, Wording.of(draft.main_question, sub.question)) for sub in taken
    ]
    parts = [part for part in read if part is not None]
    unit = _unit_of(formula, parts)
    if len(parts) < len(read) or unit is None:
        return _OPEN
    labelled = Wording.of(draft.main_question, *(sub.answer for sub in taken))
    told = read_quantity(draft.final_answer, labelled, unit)
    if told is None or not _is_same_unit(told.unit, unit, asked):
        return _OPEN
    result = _result(formula, [part.value for part in parts])
    return _compared(formula, result, parts, told, draft.final_answer)


def _unit_of(formula: Formula, parts: Sequence[Quantity]) -> tuple[str, ...] | None:
    """The unit of the result; None where numbers of these units make none that code knows."""
    units = [part.unit for part in parts if formula is not Formula.PRODUCT or part.unit]
    if len({*units}) > 1:
        return None
    unit = units[0] if units else ()
    return None if formula is Formula.PRODUCT and _SHARES & {*unit} else unit


def _is_same_unit(told: Sequence[str], unit: Sequence[str], asked: Wording) -> bool:
    """Tell whether a result has its unit, or one that is left out because the question names it."""
    return tuple(told) == tuple(unit) or (not (told and unit) and asked.has((*told, *unit)))


def _result(formula: Formula, numbers: Sequence[Fraction]) -> Fraction:
    results = {
        Formula.SUM: sum(numbers, Fraction()),
        Formula.DIFFERENCE: numbers[0] - sum(numbers[1:], Fraction()),
        Formula.PRODUCT: prod(numbers, start=Fraction(1)),
        Formula.AVERAGE: sum(numbers, Fraction()) / len(numbers),
        Formula.MAX: max(numbers),
        Formula.MIN: min(numbers),
    }
    return results[formula]


def _compared(
    formula: Formula, result: Fraction, parts: Sequence[Quantity], told: Quantity, answer: str
) -> Derived:
    """Compare what is told with the result, to the last decimal place that is told.

    A difference may be told as its size, and an average rounded, to no fewer places than what it is made of
    and at least one; whether any other rounding is fair is not for code to say.
    """
    sizes = {result, abs(result)} if formula is Formula.DIFFERENCE else {result}
    off = min(abs(told.value - size) for size in sizes)
    if off <= Fraction(1, 2 * 10**told.places):
        least = max((1, *(part.places for part in parts)))
        is_rounded = formula is Formula.AVERAGE and told.places >= least
        is_told = off == 0 or is_rounded
        return _FOLLOWS if is_told and _is_certain(formula, parts) else _OPEN
    if told.is_ambiguous or any(part.is_ambiguous for part in parts):
        return _OPEN
    return Derived(
        f"the {formula} is {_shown(result)}, which the final answer {answer!r} does not state"
    )


def _is_certain(formula: Formula, parts: Sequence[Quantity]) -> bool:
    """Tell whether a formula has something to put together, in units that make sense."""
    if formula is Formula.PRODUCT and sum(bool(part.unit) for part in parts) > 1:
        return False
    return formula is Formula.COUNT or len(parts) > 1


def _shown(number: Fraction) -> str:
    """A number in full, or where that is too long what it is about."""
    with localcontext() as context:
        context.prec = _MAX_TOLD
        value = Decimal(number.numerator) / Decimal(number.denominator)
        return f"{value.normalize():f}" if Fraction(value) == number else f"about {value:.6g}"
