"""What was written by hand about each server, and what has to come of it."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import Field

from astra_mcp.synthesis.trajectories.task import Axis
from astra_mcp.types import FrozenModel, JsonObject

__all__ = [
    "MODEL",
    "Chosen",
    "Expected",
    "Said",
    "ServerWords",
    "Turn",
    "WrittenTask",
    "demo_documents",
    "load_words",
]

MODEL = "answers-written-by-hand"
"""Stands in the place of a model's name, also in what the demo makes."""
_PACKAGE = "astra_mcp.synthesis.trajectories.demo"
_NUM_DIGITS = 8


class Expected(FrozenModel):
    """Where a mistake is caught."""

    stage: str
    reason: str
    detail: str = ""
    """Has to stand in what is said of it."""


class Proposed(FrozenModel):
    """A proposal."""

    task: str = ""
    tools: tuple[str, ...] = ()
    is_possible: bool = True
    reason: str
    expected: Expected | None = None
    """None, here and below, where it passes every check."""


class Scores(FrozenModel):
    """What the judge of tasks gives."""

    question_quality: int = 5
    scenario_realism: int = 5
    tool_necessity: int = 5
    selection_difficulty: int = 3
    selection_uniqueness: int = 4
    reason: str = "Written by hand: a request as somebody would make it."


class Chosen(FrozenModel):
    """A call of the agent."""

    tool: str
    arguments: JsonObject


class Turn(FrozenModel):
    """A message of the agent: calls, or else the answer."""

    calls: tuple[Chosen, ...] = ()
    answer: str | None = None


class Said(FrozenModel):
    """What is said of one request, whether it was written first or as a variation."""

    query: str = ""
    expected: Expected | None = None
    lost_intent: str | None = None
    """Why it wants something else than its original; None where it does not."""
    scores: Scores = Scores()
    turns: tuple[Turn, ...] = ()
    """Of the agent, where it does not do what the task was written for, call by call."""
    grades: dict[str, str] = Field(default_factory=dict[str, str])
    """Of its trajectory, by the prompt, where they are not ``right``."""
    needless: tuple[int, ...] = ()
    """Numbers of the calls that are not necessary."""
    floor: str | None = None
    """What leaves its trajectory out of the training set."""


class WrittenTask(Said):
    """A task, its calls, and its variations."""

    tools: tuple[str, ...]
    """Of a chain, in the order of the calls; of a server's task, those that it takes."""
    reason: str = "Written by hand: each call is needed, and leads to the next."
    is_valid: bool = True
    unsupported: dict[str, str] = Field(default_factory=dict[str, str])
    """Why an argument is not supported, by its id."""
    incoherent: str | None = None
    arguments: tuple[JsonObject, ...] = ()
    """Of each call."""
    first_arguments: dict[int, JsonObject] = Field(default_factory=dict[int, JsonObject])
    """What is written of a call, by its number, before the complaint about it."""
    answer: str = ""
    variations: dict[Axis, Said] = Field(default_factory=dict[Axis, Said])

    @property
    def agent_turns(self) -> Sequence[Turn]:
        """What an agent does that makes no mistake."""
        calls = (
            Turn(calls=(Chosen(tool=tool, arguments=arguments),))
            for tool, arguments in zip(self.tools, self.arguments, strict=True)
        )
        return [*calls, Turn(answer=self.answer)]


class ServerWords(FrozenModel):
    """Everything about one server."""

    server: str
    proposals: tuple[Proposed, ...]
    """By their numbers."""
    chain_tasks: tuple[WrittenTask, ...]
    server_tasks: tuple[WrittenTask, ...]

    @property
    def tasks(self) -> Sequence[WrittenTask]:
        """Those of chains, then those of the server alone."""
        return (*self.chain_tasks, *self.server_tasks)

    @cached_property
    def by_query(self) -> dict[str, tuple[WrittenTask, Said]]:
        """Each request with the task that it is, or is a variation of."""
        return {said.query: (task, said) for task in self.tasks for said in _said_of(task)}


def _said_of(task: WrittenTask) -> Iterator[Said]:
    """The task, then its variations in other words than its own."""
    yield task
    yield from (said for said in task.variations.values() if said.query != task.query)


def load_words() -> tuple[Sequence[ServerWords], str]:
    """Read what was written, in the order of the files' names, and name all of it."""
    texts = [file.read_text(encoding="utf-8") for file in _files("words")]
    version = sha256("\0".join(texts).encode()).hexdigest()[:_NUM_DIGITS]
    return [ServerWords.model_validate_json(text) for text in texts], version


def demo_documents() -> Sequence[Traversable]:
    """The files of the servers' documents, each named after its server."""
    return _files("documents")


def _files(folder: str) -> Sequence[Traversable]:
    found = (files(_PACKAGE) / folder).iterdir()
    return sorted((f for f in found if f.name.endswith(".json")), key=lambda f: f.name)
