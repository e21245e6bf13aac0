"""What is said of an episode, as values: a review turn by turn, and an analysis of the turn that erred.

A model may fill these forms. Where none does, they are filled from the record and the gold calls alone: no
model's words, and no thought beyond what both of them say.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from astra_mcp.errors import ConfigError
from astra_mcp.synthesis.asking import FreeAnswer
from astra_mcp.trajectory import AssistantMessage, CallNote, ToolMessage, Trajectory
from astra_mcp.types import JsonObject
from gateway.api.seams import GoldCall
from training.render.dialects.turns import Dialect, ParsedCall
from training.signals.supervision.questions import QuestionKey, QuestionRow, read_question_rows

__all__ = [
    "Analysis",
    "Review",
    "TextKind",
    "error_turn",
    "read_texts",
    "template_analysis",
    "template_review",
    "turns_of",
]

TextKind = Literal["review", "analysis"]
_KINDS: Final = ("review", "analysis")
_CUT = 200
"""Characters of what an episode holds that a template repeats."""


class IdealCall(FreeAnswer):
    """A call that would have been right."""

    name: str = Field(min_length=1)
    arguments: JsonObject


class TurnReview(FreeAnswer):
    """What is said of one turn."""

    intent: str
    success: str
    mistakes: str
    ideal_calls: tuple[IdealCall, ...] = ()


class Review(FreeAnswer):
    """A review of all turns, in their order."""

    turns: tuple[TurnReview, ...] = Field(min_length=1)

    def text(self, dialect: Dialect) -> str:
        """Write it, with calls as a turn has them."""
        parts = (
            f"Turn {number}\nIntent: {turn.intent}\nSuccess: {turn.success}\nMistakes: {turn.mistakes}\n"
            f"Ideal: {_written(turn.ideal_calls, dialect)}"
            for number, turn in enumerate(self.turns, start=1)
        )
        return "\n\n".join(parts)


class Scenario(FreeAnswer):
    """A situation in which the same kind of error could be made, and what is right there."""

    category: str
    situation: str
    calls: tuple[IdealCall, ...] = ()
    criteria: tuple[str, ...] = Field(min_length=1, max_length=2)


class Analysis(FreeAnswer):
    """An analysis of the turn that erred. Counts: the study of collapses, its second prompt."""

    root_cause: str
    evidence: tuple[str, ...] = Field(min_length=2, max_length=4)
    fix: str
    calls: tuple[IdealCall, ...] = ()
    scenarios: tuple[Scenario, ...] = Field(min_length=3, max_length=5)
    counter_case: Scenario
    """One in which the same fix would be wrong."""

    def text(self, dialect: Dialect) -> str:
        """Write it, with calls as a turn has them."""
        cases = [(f"Scenario {n}", each) for n, each in enumerate(self.scenarios, start=1)]
        cases.append(("Counter-case", self.counter_case))
        return "\n\n".join(
            [
                f"Root cause: {self.root_cause}",
                "\n".join(["Evidence:", *(f"- {each}" for each in self.evidence)]),
                f"Fix: {self.fix}\n{_written(self.calls, dialect)}",
                *(
                    f"{name} ({case.category}): {case.situation}\n{_written(case.calls, dialect)}\n"
                    f"Accepted when: {'; '.join(case.criteria)}"
                    for name, case in cases
                ),
            ]
        )


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """A turn of an episode, and what its calls came to."""

    message: AssistantMessage
    results: tuple[tuple[CallNote, str], ...]
    missing: tuple[GoldCall, ...]
    """Gold calls that solve something which was not solved before the turn."""
    solved: frozenset[int]
    """Sub-tasks that it solved, and no turn before."""


def turns_of(trajectory: Trajectory, gold: Sequence[GoldCall]) -> list[PlayedTurn]:
    """Divide an episode into its turns."""
    texts = {m.tool_call_id: m.content for m in trajectory.messages if isinstance(m, ToolMessage)}
    notes = {note.tool_call_id: note for note in trajectory.calls}
    known, found = set[int](), list[PlayedTurn]()
    for message in trajectory.messages:
        if isinstance(message, AssistantMessage):
            ids = [call.id for call in message.tool_calls if call.id in notes]
            solved = {one for id in ids for one in notes[id].solved or ()} - known
            missing = tuple(call for call in gold if not known.issuperset(call.solves))
            results = tuple((notes[id], texts[id]) for id in ids)
            found.append(PlayedTurn(message, results, missing, frozenset(solved)))
            known |= solved
    return found


def error_turn(trajectory: Trajectory, turns: Sequence[PlayedTurn]) -> int | None:
    """Find the first turn that did nothing for what was still to be solved.

    Returns:
        Its place, from 0; the last one where each turn solved something and they were too few. None where
        all was solved, or the policy never played.
    """
    if not turns or trajectory.reward is None or trajectory.reward.recall == 1:
        return None
    return next((at for at, turn in enumerate(turns) if not turn.solved), len(turns) - 1)


def template_review(turns: Sequence[PlayedTurn]) -> Review:
    """Fill the form from record and gold."""
    return Review(
        turns=tuple(
            TurnReview(
                intent=_intent(turn),
                success=_success(turn),
                mistakes=" ".join(_mistakes(turn)) or "none.",
                ideal_calls=tuple(map(_ideal, turn.missing[:1])),
            )
            for turn in turns
        )
    )


def template_analysis(turns: Sequence[PlayedTurn], at: int) -> Analysis:
    """Fill the form from record and gold; its scenarios are about the gold calls that were still missing.

    Args:
        turns: Of the episode.
        at: Place of the one that erred.
    """
    turn = turns[at]
    ideal = turn.missing[0]
    right, name = (_ideal(ideal),), ideal.tool
    return Analysis(
        root_cause=" ".join(_mistakes(turn)) or "the episode ended before all was solved.",
        evidence=(
            f"turn {at + 1}: {_intent(turn)}",
            *(f"its result: {_cut(text)}" for _, text in turn.results[:2]),
            f"{len(turn.missing)} gold calls were still to be made, the first of them to {name}.",
        ),
        fix=f"in turn {at + 1}, call {name} with what is known by then.",
        calls=right,
        scenarios=tuple(_scenarios(name, right)),
        counter_case=Scenario(
            category="ambiguous request",
            situation=f"the request leaves open what {name} should be asked about.",
            criteria=("no tool is called, and the user is asked what is meant.",),
        ),
    )


def _scenarios(name: str, right: tuple[IdealCall, ...]) -> Iterator[Scenario]:
    cases = (
        (
            "missing parameters",
            f"{name} was called without all that it needs.",
            "each required argument is there",
        ),
        (
            "wrong tool",
            "another tool was called, and its result says nothing of what is asked.",
            f"the next call is to {name}",
        ),
        (
            "output mismatch",
            f"{name} answered, and not about what is asked.",
            "the arguments are those of the request",
        ),
        (
            "timeout or failure",
            f"{name} failed, by no fault of its arguments.",
            "the same call is made again",
        ),
    )
    for category, situation, criterion in cases:
        yield Scenario(category=category, situation=situation, calls=right, criteria=(criterion,))


def _intent(turn: PlayedTurn) -> str:
    calls = turn.message.tool_calls
    if not calls:
        return "answer without a call."
    asked = (f"{call.function.name} with {_cut(call.function.arguments)}" for call in calls)
    return f"call {'; '.join(asked)}."


def _success(turn: PlayedTurn) -> str:
    if turn.solved:
        return f"{len(turn.solved)} sub-tasks were solved that were not solved before."
    if not turn.missing and not turn.message.tool_calls:
        return "nothing was left to be looked up."
    return "none."


def _mistakes(turn: PlayedTurn) -> Iterator[str]:
    for note, _ in turn.results:
        if note.server is None:
            yield "a call could not be read, or named a tool that is not listed."
        elif note.is_distractor:
            yield f"{note.tool} has nothing to do with the request."
        elif note.is_error:
            yield f"{note.tool} answered by an error."
        elif not note.solved:
            yield f"the result of {note.tool} holds no answer that was asked for."
    if turn.missing and not turn.message.tool_calls:
        yield "it was answered before everything was looked up."


def _ideal(call: GoldCall) -> IdealCall:
    return IdealCall(name=call.tool, arguments=call.arguments)


def _written(calls: Sequence[IdealCall], dialect: Dialect) -> str:
    """Spell calls as a turn does, each for itself."""
    made = (
        ParsedCall(c.name, json.dumps(c.arguments, ensure_ascii=False), "c00000000") for c in calls
    )
    return "\n".join(dialect.write("", [call]) for call in made) or "no call."


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _CUT else f"{flat[:_CUT]} [...]"


def read_texts(file: Path, questions: Collection[QuestionKey]) -> tuple[QuestionRow, ...]:
    """Read reviews and analyses that somebody wrote; those of other questions are left out.

    Raises:
        ConfigError: It cannot be read, a row is of another kind, or none is about one of the questions.
    """
    found = tuple(row for row in read_question_rows(file, _kind_fault) if row.key in questions)
    if not found:
        raise ConfigError(f"{file} has no text about a question of [[data]]")
    return found


def _kind_fault(row: QuestionRow) -> str | None:
    return None if row.kind in _KINDS else f"kind: has to be one of {', '.join(_KINDS)}"
