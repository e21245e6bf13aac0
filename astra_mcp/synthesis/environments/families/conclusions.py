"""What is made of the findings about several subjects: each told, all added up, or compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.draft import Draft
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["Conclusion", "Found", "conclusion_of", "tell"]


class Conclusion(StrEnum):
    """How the findings are concluded from."""

    NONE = "none"
    SUM = "sum"
    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True, slots=True)
class Found:
    """What was found about one subject."""

    subject: str
    answers: tuple[str, ...]
    step: int
    """The sub-task of the last answer."""
    amount: int = 0
    """The last answer as a number, where it is one."""


def conclusion_of(brief: Brief) -> Conclusion:
    """The conclusion that the layout asks for."""
    if not brief.layout.concludes:
        return Conclusion.NONE
    return brief.draw("conclusion").pick([Conclusion.SUM, Conclusion.LEAST, Conclusion.MOST])


def tell(
    draft: Draft, found: Sequence[Found], question: str = "", written: Callable[[int], str] = str
) -> None:
    """Write the main answer, with the sub-task without a tool where the layout concludes.

    Args:
        draft: What is being written.
        found: One finding for each subject.
        question: Of the sub-task that concludes.
        written: How an amount is written.
    """
    kind, language = conclusion_of(draft.brief), draft.brief.language
    if kind is Conclusion.NONE:
        colon, stop = ("：", "；") if language == "zh" else (": ", "; ")
        parts = [listed(f.answers, language) for f in found]
        named = [f"{f.subject}{colon}{p}" for f, p in zip(found, parts, strict=True)]
        draft.answer = stop.join(named) if len(found) > 1 else parts[0]
        return
    amounts = [f.amount for f in found]
    if kind is Conclusion.SUM:
        draft.answer = written(sum(amounts))
    else:
        wanted = min(amounts) if kind is Conclusion.LEAST else max(amounts)
        draft.answer = found[amounts.index(wanted)].subject
    draft.conclude(question, draft.answer, [f.step for f in found])
