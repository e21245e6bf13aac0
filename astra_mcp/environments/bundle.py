"""The environment bundle: questions with their answers made executable, as a folder on disk.

``environment.json`` (this schema), ``tools.py`` (the tool code, standard library only) and
``server.json`` (the MCP registry's format). The models here check what a field can know alone; what
needs several fields or the tool code is checked in :mod:`astra_mcp.environments.loading`.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BeforeValidator, Field, JsonValue, field_validator

from astra_mcp.domains import Domain
from astra_mcp.errors import UnknownNameError
from astra_mcp.types import FrozenModel, JobItem, JsonObject, ToolSpec, canonical_json

__all__ = [
    "BACKGROUND_HEADING",
    "SCHEMA_VERSION",
    "ArgumentRole",
    "Bundle",
    "EnvironmentDocument",
    "ExampleCall",
    "FurtherQuestion",
    "GoldArgument",
    "GoldCall",
    "GoldMember",
    "Provenance",
    "Question",
    "ScenarioType",
    "SubTask",
    "told_prompt",
]

SCHEMA_VERSION = 1
NAME_PATTERN = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
BACKGROUND_HEADING = "## some information related to the user"
"""Stands before a background in a prompt, as in the published RL rows (ASTRA-RL-1k)."""
DEFAULT_CLOCK = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class ScenarioType(StrEnum):
    """Shape of the decomposition. Source: ASTRA sec. 2.2.1 and appendix A.1."""

    SINGLE_HOP = "Single-Hop"
    """Exactly one sub-task."""
    MULTI_HOP = "Multi-Hop"
    """Each hop level has one sub-task that builds on earlier ones."""
    PARALLEL_SINGLE_HOP = "Parallel Single-Hop"
    """Several independent sub-tasks, all on the first hop level."""
    PARALLEL_MULTI_HOP = "Parallel Multi-Hop"
    """Several hop levels, at least one of them with parallel sub-tasks."""


def _is_empty(value: object) -> bool:
    return not value


def _is_none(value: object) -> bool:
    return value is None


class ArgumentRole(StrEnum):
    """What a gold argument does to the answer."""

    IDENTIFYING = "identifying"
    """Picks the record: another value must lose the answer."""
    MODIFYING = "modifying"
    """Shapes the output (a unit, a page size); another value may keep the answer."""


class SubTask(FrozenModel):
    """A sub-question with its answer. Source: ASTRA sec. 2.2.1, eq. (11) and (13)."""

    id: int = Field(ge=1)
    question: str | None = None
    answer: str = Field(min_length=1)
    hop_level: int | None = Field(default=None, ge=1)
    """1 for a sub-task without dependencies, else one more than its deepest dependency."""
    is_parallel: bool | None = None
    """True where another sub-task stands on the same hop level."""
    dependencies: tuple[int, ...] = ()
    """Ids of the sub-tasks whose answers this one needs."""
    tool: str | None = None
    """The tool that answers it; None for a leaf that needs none (to compare, to summarise)."""


def _listed(value: object) -> object:
    if isinstance(value, list):
        return tuple(cast("list[object]", value))
    return (value,) if isinstance(value, str | int) else value


class GoldMember(FrozenModel):
    """What an argument, or a member of an object that is one, does to the answer."""

    role: ArgumentRole
    neighbours: tuple[JsonValue, ...] = ()
    """Other values of the same kind that exist in the data, where the schema cannot name any."""
    derived_from: Annotated[tuple[str | int, ...], BeforeValidator(_listed)] = Field(
        default=(), alias="from", exclude_if=_is_empty
    )
    """What its value is worked out from: spans of the question, and ids of earlier sub-tasks."""
    forgiving: bool = Field(default=False, exclude_if=_is_empty)
    """A search that finds its record in spite of a misspelling."""
    any_value: bool = Field(default=False, exclude_if=_is_empty)
    """Any value has a result of its own, as in a conversion or a checksum: none is unknown."""


class GoldArgument(GoldMember):
    """One argument of a gold call."""

    value: JsonValue
    members: dict[str, GoldMember] = Field(
        default_factory=dict[str, GoldMember], exclude_if=_is_empty
    )
    """Members of an object, by their names, ``outer.inner`` for deeper ones."""

    def parts(self, name: str) -> Iterator[tuple[str, GoldMember]]:
        """Each part of it that has a role of its own, by its path: members where it has some, else itself."""
        if not self.members:
            yield name, self
        for path, member in self.members.items():
            yield f"{name}.{path}", member


class GoldCall(FrozenModel):
    """A call that solves sub-tasks, in the order in which an oracle plays it."""

    tool: str
    arguments: dict[str, GoldArgument] = Field(default_factory=dict[str, GoldArgument])
    solves: Annotated[tuple[int, ...], Field(min_length=1)]
    """Ids of the sub-tasks whose answers the result contains."""
    after: tuple[int, ...] = Field(default=(), exclude_if=_is_empty)
    """Ids of sub-tasks whose calls must come first, though their answers are not needed."""

    @property
    def values(self) -> JsonObject:
        """The plain arguments of the call."""
        return {name: a.value for name, a in self.arguments.items()}

    @property
    def modifying(self) -> frozenset[str]:
        """The arguments, and members of them as ``outer.inner``, in which nothing identifies a record."""
        return frozenset(
            path
            for name, argument in self.arguments.items()
            for path, part in argument.parts(name)
            if part.role is ArgumentRole.MODIFYING
        )


class ExampleCall(FrozenModel):
    """A call that shows what a parameter does, where no gold call does."""

    tool: str
    arguments: JsonObject = Field(default_factory=JsonObject)


class Provenance(FrozenModel):
    """Where the scenario comes from."""

    source: str = Field(min_length=1)
    """``original``, or the name of the data set that the scenario is modelled on."""
    rows: tuple[int, ...] = ()
    """1-based line numbers in that data set."""
    family: str | None = Field(default=None, min_length=1, max_length=100, exclude_if=_is_empty)
    """The generator of environments that made it, where one did."""
    authors: tuple[str, ...] = ("The astra-mcp authors",)
    license: str = "Apache-2.0"
    notes: str = ""


class Question(FrozenModel):
    """What an episode asks: a question-answer instance. Source: ASTRA sec. 2.2.1, eq. (11)."""

    scenario_type: ScenarioType | None = None
    question: str = Field(min_length=1)
    """The main question q0: all that an agent is told."""
    answer: str | None = None
    """The main answer a0."""
    sub_tasks: Annotated[tuple[SubTask, ...], Field(min_length=1)]
    gold: tuple[GoldCall, ...] = ()

    @property
    def scored(self) -> tuple[SubTask, ...]:
        """The sub-tasks that an episode is scored on: those that have a tool."""
        return tuple(sub for sub in self.sub_tasks if sub.tool is not None)


class FurtherQuestion(Question):
    """A question that a bundle carries beside its main one, over the same tools."""

    id: str = Field(pattern=NAME_PATTERN, max_length=48)
    """Unique in the bundle."""


class EnvironmentDocument(Question):
    """The contents of ``environment.json``; its own question is the bundle's main one."""

    schema_version: Literal[1]
    name: str = Field(pattern=NAME_PATTERN, max_length=48)
    title: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1, max_length=400)
    version: str = Field(default="1.0.0", pattern=r"^\d+\.\d+\.\d+$")
    status: Literal["verified", "unverified"] = "unverified"
    """``verified`` claims that the acceptance passes; ``unverified`` may lack DAG and gold calls."""
    domain: Domain | None = None
    """None where nobody has said it; required of a verified environment."""
    language: Literal["en", "zh"]
    background: str | None = Field(default=None, exclude_if=_is_none)
    """What the agent is told of the user beside the question."""
    tools: Annotated[tuple[ToolSpec, ...], Field(min_length=1)]
    questions: tuple[FurtherQuestion, ...] = Field(default=(), exclude_if=_is_empty)
    """What else can be asked of the same tools."""
    examples: tuple[ExampleCall, ...] = Field(default=(), exclude_if=_is_empty)
    clock: datetime = DEFAULT_CLOCK
    """Where the virtual clock of every episode starts; must carry a time zone."""
    load_seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed under which the module is executed once, before any episode."""
    provenance: Provenance

    @property
    def prompt(self) -> str:
        """All that an agent is told: the question, after the background where there is one."""
        return told_prompt(self.told_background, self.question)

    @property
    def told_background(self) -> JsonObject | None:
        """The background as the object that prompts show: itself where it is the text of one."""
        if self.background is None:
            return None
        try:
            value = json.loads(self.background)
        except (ValueError, RecursionError):
            value = None
        is_object = isinstance(value, dict)
        return cast("JsonObject", value) if is_object else {"background": self.background}

    @field_validator("tools", mode="before")
    @classmethod
    def _keep_annotations(cls, tools: object) -> object:
        """Take ``annotations`` as MCP lists them: beside the name of a tool."""
        if not isinstance(tools, list):
            return tools
        return tuple(_with_extra(tool) for tool in cast("list[object]", tools))

    def asking(self, further: FurtherQuestion) -> Self:
        """Copy with one of the further questions in the place of the main one, and without the others."""
        asked = {name: getattr(further, name) for name in Question.model_fields}
        return self.model_copy(update={**asked, "questions": ()})


def told_prompt(background: JsonObject | None, question: str) -> str:
    """Write a prompt as published RL rows do."""
    if background is None:
        return question
    told = json.dumps(background, ensure_ascii=False, indent=2)
    return f"{BACKGROUND_HEADING}\n{told}\n\n{question}"


def _with_extra(tool: object) -> object:
    fields = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
    if "annotations" not in fields:
        return cast("object", tool)
    rest = {name: value for name, value in fields.items() if name != "annotations"}
    return {**rest, "extra": {**rest.get("extra", {}), "annotations": fields["annotations"]}}


class Bundle(FrozenModel):
    """A loaded environment: its document, its tool code and the hash of both."""

    document: EnvironmentDocument
    code: str
    """Source text of ``tools.py``."""
    server: dict[str, Any]
    """Contents of ``server.json``."""
    question_id: str | None = None
    """The further question that it is seen as; None for the main one."""
    whole: "Bundle | None" = None
    """What it is a view of, where it is one."""

    @property
    def name(self) -> str:
        """The environment's name, unique in a catalog."""
        return self.document.name

    @property
    def content_hash(self) -> str:
        """64 hex digits of SHA-256 over the document, with all questions, and the code."""
        if self.whole is not None:
            return self.whole.content_hash
        document = self.document.model_dump(mode="json")
        return sha256(canonical_json([document, self.code])).hexdigest()

    def asking(self, question: str | None) -> "Bundle":
        """See the bundle as one of its questions, which takes the place of the main one.

        Sessions of all questions begin alike, since their worlds follow from the content hash.

        Args:
            question: Its id; None is the main one.

        Raises:
            UnknownNameError: There is no such question; names the closest ones.
        """
        if question is None:
            return self
        further = {q.id: q for q in self.document.questions}
        if question not in further:
            hint = f"`astra-mcp environments show {self.name}` names all"
            what = f"further question of {self.name}"
            raise UnknownNameError.among(what, question, further, hint)
        document = self.document.asking(further[question])
        return self.model_copy(
            update={"document": document, "question_id": question, "whole": self}
        )

    @property
    def asked(self) -> Sequence["Bundle"]:
        """The bundle as each of its questions, the main one first."""
        return [self, *(self.asking(further.id) for further in self.document.questions)]

    @property
    def job(self) -> tuple[JobItem, ...]:
        """The sub-tasks that an episode is scored on: those that have a tool."""
        return tuple(
            JobItem(id=s.id, answer=s.answer, tools=(s.tool,), modifying=self._modifying(s.tool))
            for s in self.document.sub_tasks
            if s.tool is not None
        )

    def _modifying(self, tool: str) -> dict[str, tuple[str, ...]]:
        calls = [call.modifying for call in self.document.gold if call.tool == tool]
        names = frozenset[str]().union(*calls).intersection(*calls)
        return {tool: tuple(sorted(names))} if names else {}
