"""A tool with its code and its calls: a sub-environment of ASTRA sec. 2.2.3."""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field, JsonValue

from astra_mcp.synthesis.asking import FreeAnswer
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import FrozenModel, JsonObject

__all__ = [
    "Attempt",
    "BuildAttempts",
    "Built",
    "SolvingCall",
    "Tool",
    "ToolDocument",
    "step_of",
    "steps_of",
]

Roles = Mapping[str, Literal["identifying", "modifying"]]


class ToolDocument(FreeAnswer):
    """What a tool finds, and what it takes."""

    name: str = Field(min_length=1)
    description: str = ""
    input_schema: JsonObject
    roles: Roles = Field(default_factory=dict[str, Literal["identifying", "modifying"]])
    """Of the parameters; one that is not named is identifying."""


class SolvingCall(FreeAnswer):
    """A call whose result states the answer of a sub-question."""

    solves: int
    arguments: JsonObject
    sources: Mapping[str, tuple[str | int, ...]] = Field(
        default_factory=dict[str, tuple[str | int, ...]]
    )
    """What values that stand nowhere are worked out from, by argument."""
    neighbours: Mapping[str, tuple[JsonValue, ...]] = Field(
        default_factory=dict[str, tuple[JsonValue, ...]]
    )
    """Other values that have records, by argument."""


class Tool(FrozenModel):
    """A document with an implementation."""

    document: ToolDocument
    code: str
    calls: tuple[SolvingCall, ...]

    @property
    def solves(self) -> tuple[int, ...]:
        """Ids of the sub-questions that it answers."""
        return tuple(call.solves for call in self.calls)


class Attempt(FrozenModel):
    """One attempt that did not succeed."""

    step: str
    """``implement``, ``merge``, ``accept`` or ``attack``."""
    sub_questions: tuple[int, ...]
    complaint: str


class BuildAttempts(FrozenModel):
    """How often a model may try; the paper says "a fixed number of attempts"."""

    inner: int = Field(default=5, ge=1)
    """From the call, for one document."""
    outer: int = Field(default=3, ge=1)
    """From the document."""


class Built(FrozenModel):
    """An instance with its tools."""

    instance: Instance
    tools: tuple[Tool, ...]
    attempts: tuple[Attempt, ...] = ()
    """Those that failed on the way, in order."""

    def told(self, attempts: Iterable[Attempt]) -> "Built":
        """Copy with further attempts."""
        return self.model_copy(update={"attempts": (*self.attempts, *attempts)})


def step_of(instance: Instance, id: int, *, has_answer: bool = True) -> JsonObject:
    """What a model is told of a sub-question: what whoever calls the tool knows, and the answer where it may.

    Args:
        instance: It is part of.
        id: Of the sub-question.
        has_answer: False where the model has to find arguments without it.
    """
    sub = instance.sub(id)
    known = {other.id: other for other in instance.sub_questions}
    told: JsonObject = {
        "id": id,
        "main_question": instance.main_question,
        "question": sub.question,
        "known_answers": [
            {"step": d, "question": known[d].question, "answer": known[d].answer}
            for d in sub.dependencies
            if d in known  # a control run has no gate that refuses others
        ],
    }
    return {**told, "answer": sub.answer} if has_answer else told


def steps_of(instance: Instance, tool: Tool) -> JsonObject:
    """What a model is told of a tool that it is to change."""
    return {
        **tool.model_dump(mode="json"),
        "steps": [step_of(instance, id) for id in tool.solves],
    }
