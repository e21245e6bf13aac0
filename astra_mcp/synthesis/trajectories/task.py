"""A task: what a user asks, of which servers, where it came from, and how it was judged."""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from pydantic import Field

from astra_mcp.synthesis.trajectories.chain import Chain, ExecutedCall, ToolRef
from astra_mcp.types import FrozenModel, canonical_json

__all__ = ["Axis", "Task", "TaskDraft", "TaskOrigin", "TaskScores", "TaskStore", "task_id"]


class TaskOrigin(StrEnum):
    """What a task was made of: T = T_chain with T_server (ASTRA sec. 2.1)."""

    CHAIN = "chain"
    SERVER = "server"


class Axis(StrEnum):
    """In which way a task is another one's variation."""

    ORIGINAL = "original"
    DIVERSITY = "diversity"
    """The same intent in another situation and other words."""
    COMPLEXITY = "complexity"
    """More constraints on the same goal."""
    PERSONA = "persona"
    """As a certain person would ask."""


class TaskScores(FrozenModel):
    """What a judge made of a task, each from 1 to 5. Source: ASTRA sec. 2.1, eq. (1); the scale is ours.

    Of several votes each is the mean.
    """

    question_quality: float = Field(ge=1, le=5)
    scenario_realism: float = Field(ge=1, le=5)
    tool_necessity: float = Field(ge=1, le=5)
    selection_difficulty: float = Field(ge=1, le=5)
    """How hard it is to see which tools are needed; no threshold."""
    selection_uniqueness: float = Field(ge=1, le=5)
    """Whether only these tools would do; no threshold."""
    num_votes: int = Field(default=1, ge=1)
    reason: str = ""


class TaskDraft(FrozenModel):
    """A task on its way through the stages."""

    servers: tuple[str, ...] = Field(min_length=1)
    versions: dict[str, str]
    """Of the documents of each server."""
    origin: TaskOrigin
    query: str = Field(min_length=1)
    language: str | None = None
    """Of the first task that it derives from; variations have to keep it."""
    chain: Chain | None = None
    """What it was written for; None of a server-only task."""
    expected: tuple[ToolRef, ...] = ()
    """The tools that the writer of a server-only task says it takes; in no order."""
    executed: tuple[ExecutedCall, ...] = ()
    """The calls that the chain came to, where it was executed."""
    axis: Axis = Axis.ORIGINAL
    parent: str | None = None
    """Id of the task that this is a variation of."""
    original: str | None = None
    """The query of that task."""
    persona: str | None = None
    scores: TaskScores | None = None


class Task(TaskDraft):
    """A task that is kept."""

    id: str = Field(pattern=r"^task-[0-9a-f]{16}$")
    domain: str | None = None
    writer: str
    """The model that wrote it, or what stands in its place."""
    judge: str


def task_id(servers: Sequence[str], query: str) -> str:
    """Name a task by its content: equal ones have one id in every run."""
    return f"task-{sha256(canonical_json([sorted(servers), query])).hexdigest()[:16]}"


class TaskStore(Protocol):
    """Keeps tasks; satisfied by ``registry``."""

    async def save(self, run: str, tasks: Sequence[Task]) -> None:
        """Keep tasks; one of an id that is kept already takes its place.

        Raises:
            RegistryError: The database failed; nothing is kept.
        """
        ...

    async def retain(self, run: str, ids: Collection[str], servers: Collection[str]) -> None:
        """Remove the tasks of a run that are of these servers alone, but for those of these ids.

        Raises:
            RegistryError: The database failed; all are kept.
        """
        ...

    async def find(self, ids: Sequence[str]) -> Mapping[str, Task]:
        """Find tasks by their ids; those that there are not are left out.

        Raises:
            RegistryError: The database failed.
        """
        ...
