"""The questions to a judge about one trajectory: what each shows, and what becomes of the answer.

A judge grades in words, of which each is one value: no text is searched for a number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from pydantic import BaseModel, ConfigDict

from astra_mcp.errors import ModelError
from astra_mcp.synthesis.asking import Asks, PromptBook
from astra_mcp.trajectory import AssistantMessage, Trajectory, UserMessage
from astra_mcp.types import JsonValue
from training.rewards.conciseness import CallVerdicts, decided_by_code, verdicts_on
from training.rewards.score import Assessment, Dimension
from training.rewards.shown import (
    Shown,
    ShownMessages,
    TooLongError,
    calls_of,
    final_answer,
    first_question,
    from_first_question,
    rounds_of,
    show_exchange,
    show_messages,
    show_tools,
)

__all__ = [
    "JUDGED",
    "Asked",
    "Failed",
    "Grade",
    "Question",
    "Undefined",
    "prompts_version",
    "questions_of",
]

_BOOK: Final = PromptBook("training.rewards.prompts")
_PROMPTS: Final = (
    "query_understanding",
    "query_planning",
    "round_understanding",
    "round_planning",
    "conciseness",
    "correlation",
    "summary",
)
_RULES: Final = 2
"""Counted up when code decides otherwise than before; scores of both do not belong into one file."""
_SHARE_OF_TOOLS: Final = 3
"""Tools take up to such a part of a prompt."""
JUDGED: Final = tuple(dimension for dimension in Dimension if dimension is not Dimension.TCS)
"""What a judge decides; the record decides the other one."""


class Verdict(StrEnum):
    """A grade in a word."""

    RIGHT = "right"
    PARTLY = "partly"
    WRONG = "wrong"


_VALUES: Final[Mapping[Verdict, float]] = {
    Verdict.RIGHT: 1.0,
    Verdict.PARTLY: 0.5,
    Verdict.WRONG: 0.0,
}


class Grade(BaseModel):
    """What the judge says, its reason first: the grade then follows from it."""

    model_config = ConfigDict(frozen=True)

    reason: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Undefined:
    """A dimension that a trajectory does not have."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that the judge did not decide."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to the judge."""

    dimension: Dimension
    what: str
    """As assessments name it."""
    prompt: str
    shown: Mapping[str, Shown]
    """What the prompt takes, by name."""
    numbers: tuple[int, ...] = ()
    """Of the calls that conciseness is asked about."""

    async def ask(self, judge: Asks, sample: int) -> list[Assessment] | Failed:
        """Ask the judge; a failure of the model is an answer of its own.

        Raises:
            BudgetSpentError: The budget does not allow the call.
            PipelineError: The cache does not answer.
        """
        values = {name: shown.document for name, shown in self.shown.items()}
        try:
            if self.dimension is Dimension.TC:
                form = verdicts_on(self.numbers)
                found = await _BOOK.ask(
                    judge, self.prompt, form, sample=sample, calls=self._asked, **values
                )
                return self._of_calls(found, sample)
            grade = await _BOOK.ask(judge, self.prompt, Grade, sample=sample, **values)
        except ModelError as error:
            return Failed(f"{self.dimension.value}, {self.what}: {error}")
        return [self._assessed(self.what, _VALUES[grade.verdict], grade.reason, sample)]

    @property
    def _asked(self) -> str:
        return ", ".join(map(str, self.numbers))

    def _of_calls(self, found: CallVerdicts, sample: int) -> list[Assessment]:
        return [
            self._assessed(f"call {each.call}", float(each.necessary), each.reason, sample)
            for each in sorted(found.verdicts, key=lambda each: each.call)
        ]

    def _assessed(self, what: str, value: float, reason: str, sample: int) -> Assessment:
        cut = sum(shown.cut for shown in self.shown.values())
        return Assessment(what=what, value=value, reason=reason, sample=sample, cut=cut)


@dataclass(frozen=True, slots=True)
class Asked:
    """What decides one dimension: questions, and what code knows already."""

    questions: Sequence[Question] = ()
    known: Sequence[Assessment] = ()


def prompts_version() -> str:
    """Name the texts of all prompts and the rules beside them."""
    return _BOOK.version(*_PROMPTS, rules=_RULES)


def questions_of(
    trajectory: Trajectory, max_bytes: int
) -> dict[Dimension, Asked | Undefined | Failed]:
    """Find what to ask about a trajectory, in each dimension that a judge decides.

    Nothing is asked where one of them cannot be: those behind it are not tried.

    Args:
        trajectory: Has not failed.
        max_bytes: Of what is shown in one prompt.
    """
    asked = from_first_question(trajectory)
    case = _Case(asked, ShownMessages(asked.messages), max_bytes)
    found: dict[Dimension, Asked | Undefined | Failed] = {}
    unfit: Dimension | None = None
    for dimension in JUDGED:
        if unfit is None:
            found[dimension] = _asked(dimension, case)
            unfit = dimension if isinstance(found[dimension], Failed) else None
        else:
            found[dimension] = Failed(f"{dimension.value}: not asked, since {unfit.value} is not")
    return found


@dataclass(frozen=True, slots=True)
class _Case:
    """A trajectory from its first user message on, and how it is shown."""

    trajectory: Trajectory
    messages: ShownMessages
    max_bytes: int

    def show(self, num: int | None = None) -> Shown:
        """Show the first messages, or all."""
        most = len(self.trajectory.messages)
        return self.messages.up_to(most if num is None else num, self.max_bytes)


def _asked(dimension: Dimension, case: _Case) -> Asked | Undefined | Failed:
    try:
        return _ASKING[dimension](case)
    except TooLongError as error:
        return Failed(f"{dimension.value}: {error}")


def _query(dimension: Dimension, prompt: str) -> Callable[[_Case], Asked | Undefined]:
    """Eq. (3) and (4): the whole trajectory without m_0."""

    def asked(case: _Case) -> Asked | Undefined:
        if (missing := _missing(case.trajectory)) is not None:
            return missing
        shown = {"trajectory": case.show()}
        return Asked([Question(dimension=dimension, what="query", prompt=prompt, shown=shown)])

    return asked


def _missing(trajectory: Trajectory) -> Undefined | None:
    if (place := first_question(trajectory)) is None:
        return Undefined("no user message")
    later = trajectory.messages[place:]
    if not any(isinstance(message, AssistantMessage) for message in later):
        return Undefined("no answer of the agent")
    return None


def _rounds(dimension: Dimension, prompt: str) -> Callable[[_Case], Asked | Undefined]:
    """Eq. (5) to (7): each round from the second on, with what came before it and its own message."""

    def asked(case: _Case) -> Asked | Undefined:
        if (missing := _missing(case.trajectory)) is not None:
            return missing
        later = rounds_of(case.trajectory)[1:]
        if not later:
            return Undefined("fewer than two rounds of calls")
        return Asked(
            [
                Question(
                    dimension=dimension,
                    what=f"round {each.number}",
                    prompt=prompt,
                    shown={"history": case.show(each.place + 1)},
                )
                for each in later
            ]
        )

    return asked


def _conciseness(case: _Case) -> Asked | Undefined:
    """Eq. (9): all calls beside the tools; a call that code decides is not asked about."""
    trajectory, max_bytes = case.trajectory, case.max_bytes
    calls = calls_of(trajectory)
    if not calls:
        return Undefined("no calls")
    decided = decided_by_code(trajectory)
    known = [
        Assessment(what=f"call {number}", value=0, reason=reason, by="code")
        for number, reason in decided.items()
    ]
    numbers = tuple(n for n in range(1, len(calls) + 1) if n not in decided)
    if not numbers:
        return Asked(known=known)
    tools = show_tools(trajectory, max_bytes // _SHARE_OF_TOOLS)
    failed = [note.tool_call_id for note in trajectory.calls if note.is_error]
    rest = max_bytes - max_bytes // _SHARE_OF_TOOLS
    messages = show_messages(trajectory.messages, rest, failed=failed)
    # One document: a text of the one part cannot end the other one.
    session: JsonValue = {"tools": tools.document, "trajectory": messages.document}
    question = Question(
        dimension=Dimension.TC,
        what="calls",
        prompt="conciseness",
        shown={"session": Shown(session, tools.cut + messages.cut)},
        numbers=numbers,
    )
    return Asked([question], known)


def _answer(case: _Case) -> Asked | Undefined:
    """Eq. (10): the question beside the answer, and the answer beside the trajectory without m_0."""
    trajectory, max_bytes = case.trajectory, case.max_bytes
    answer = final_answer(trajectory)
    place = first_question(trajectory)
    if place is None:
        return Undefined("no user message")
    if answer is None:
        return Undefined("no final answer")
    asked = cast("UserMessage", trajectory.messages[place]).content
    exchange = {"exchange": show_exchange(asked, answer, max_bytes)}
    whole = {"trajectory": case.show()}
    return Asked(
        [
            Question(
                dimension=Dimension.FA, what="correlation", prompt="correlation", shown=exchange
            ),
            Question(dimension=Dimension.FA, what="summary", prompt="summary", shown=whole),
        ]
    )


_ASKING: Final[Mapping[Dimension, Callable[[_Case], Asked | Undefined]]] = {
    Dimension.QU: _query(Dimension.QU, "query_understanding"),
    Dimension.QP: _query(Dimension.QP, "query_planning"),
    Dimension.TCU: _rounds(Dimension.TCU, "round_understanding"),
    Dimension.TCP: _rounds(Dimension.TCP, "round_planning"),
    Dimension.TC: _conciseness,
    Dimension.FA: _answer,
}
