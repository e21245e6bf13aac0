"""Does the main answer follow from the answers of sub-questions by the formula that is declared?

Phi of ASTRA eq. (12), decided by code wherever it is one of the formulas; only ``other`` is left to a judge.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from math import prod

from astra_mcp.answers import contains_answer
from astra_mcp.synthesis.environments.questions.instance import Draft, Formula

__all__ = ["derivation_fault"]

_NUMBER = re.compile(r"[-\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-\u2212]?\d+(?:\.\d+)?")
_TOLERANCE = Decimal("0.005")
_MAX_TOLD = 100
"""Characters of a number in a message."""
"""Of an average that is told with two decimal places."""


def derivation_fault(draft: Draft) -> str | None:
    """Say why the main answer does not follow, in words; None where it does, or a judge has to say.

    Args:
        draft: Its ids are sound.
    """
    derivation = draft.derivation
    if derivation.formula is Formula.OTHER:
        return None
    answers = {sub.id: sub.answer for sub in draft.sub_questions}
    unknown = [id for id in derivation.sub_questions if id not in answers]
    if unknown or not derivation.sub_questions:
        return f"the formula {derivation.formula} takes {unknown or 'nothing'}: name ids of sub-questions"
    taken = [answers[id] for id in derivation.sub_questions]
    if derivation.formula is Formula.JOIN:
        missing = [a for a in taken if not contains_answer(draft.final_answer, a)]
        return f"the final answer does not state {missing[0]!r}" if missing else None
    if len({*derivation.sub_questions}) < len(taken):
        return f"the formula {derivation.formula} takes a sub-question twice"
    return _number_fault(derivation.formula, taken, draft.final_answer)


def _number_fault(formula: Formula, taken: Sequence[str], answer: str) -> str | None:
    numbers: list[Decimal] = []
    for text in taken if formula is not Formula.COUNT else ():
        found = _numbers(text)
        if len(found) != 1:
            return f"{formula} needs one number of each answer, and {text!r} holds {len(found)}"
        numbers.append(found[0])
    result = _result(formula, numbers, len(taken))
    if any(abs(told - result) <= _TOLERANCE for told in _numbers(answer)):
        return None
    told = f"{result.normalize():f}"[:_MAX_TOLD]
    return f"the {formula} is {told}, which the final answer {answer!r} does not state"


def _result(formula: Formula, numbers: Sequence[Decimal], count: int) -> Decimal:
    if formula is Formula.COUNT:
        return Decimal(count)
    results = {
        Formula.SUM: sum(numbers, Decimal()),
        Formula.DIFFERENCE: numbers[0] - sum(numbers[1:], Decimal()),
        Formula.PRODUCT: prod(numbers, start=Decimal(1)),
        Formula.AVERAGE: sum(numbers, Decimal()) / len(numbers),
        Formula.MAX: max(numbers),
        Formula.MIN: min(numbers),
    }
    return results[formula]


def _numbers(text: str) -> list[Decimal]:
    told = _NUMBER.findall(text)
    return [Decimal(number.replace(",", "").replace("\u2212", "-")) for number in told]
