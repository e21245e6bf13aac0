"""The environment bundle: one question-answer instance made executable, as a folder on disk.

``environment.json`` (this schema), ``tools.py`` (the tool code, standard library only) and
``server.json`` (the MCP registry's format). The models here check what a field can know alone; what
needs several fields or the tool code is checked in :mod:`astra_mcp.environments.loading`.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, JsonValue, field_validator

from astra_mcp.domains import Domain
from astra_mcp.reward import JobItem
from astra_mcp.types import FrozenModel, JsonObject, ToolSpec, canonical_json

__all__ = [
    "SCHEMA_VERSION",
    "ArgumentRole",
    "Bundle",
    "EnvironmentDocument",
    "ExampleCall",
    "GoldArgument",
    "GoldCall",
    "GoldMember",
    "Provenance",
    "ScenarioType",
    "SubTask",
]

SCHEMA_VERSION = 1
NAME_PATTERN = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
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


class EnvironmentDocument(FrozenModel):
    """The contents of ``environment.json``."""

    schema_version: Literal[1]
    name: str = Field(pattern=NAME_PATTERN, max_length=48)
    title: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1, max_length=400)
    version: str = Field(default="1.0.0", pattern=r"^\d+\.\d+\.\d+$")
    status: Literal["verified", "unverified"] = "unverified"
    """``verified`` claims that the acceptance passes; ``unverified`` may lack DAG and gold calls."""
    domain: Domain
    language: Literal["en", "zh"]
    scenario_type: ScenarioType | None = None
    question: str = Field(min_length=1)
    """The main question q0: all that an agent is told."""
    answer: str | None = None
    """The main answer a0."""
    sub_tasks: Annotated[tuple[SubTask, ...], Field(min_length=1)]
    tools: Annotated[tuple[ToolSpec, ...], Field(min_length=1)]
    gold: tuple[GoldCall, ...] = ()
    examples: tuple[ExampleCall, ...] = Field(default=(), exclude_if=_is_empty)
    clock: datetime = DEFAULT_CLOCK
    """Where the virtual clock of every episode starts; must carry a time zone."""
    load_seed: int = Field(default=0, ge=0, lt=2**63)
    """Seed under which the module is executed once, before any episode."""
    provenance: Provenance

    @field_validator("tools", mode="before")
    @classmethod
    def _keep_annotations(cls, tools: object) -> object:
        """Take ``annotations`` as MCP lists them: beside the name of a tool."""
        if not isinstance(tools, list):
            return tools
        return tuple(_with_extra(tool) for tool in cast("list[object]", tools))


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

    @property
    def name(self) -> str:
        """The environment's name, unique in a catalog."""
        return self.document.name

    @property
    def content_hash(self) -> str:
        """64 hex digits of SHA-256 over the document and the code."""
        document = self.document.model_dump(mode="json")
        return sha256(canonical_json([document, self.code])).hexdigest()

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
