"""Tasks of a server alone: a model writes some of its documents, and code refuses what is none.

Source: ASTRA sec. 2.1.3, the second way in which tasks are made: of the specification, without a chain.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from pydantic import ConfigDict

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.chain import ToolRef
from astra_mcp.synthesis.trajectories.checks.query import query_faults
from astra_mcp.synthesis.trajectories.server import (
    DocumentedServer,
    Documents,
    ServerItem,
    document_of,
)
from astra_mcp.synthesis.trajectories.task import TaskDraft, TaskOrigin
from astra_mcp.synthesis.trajectories.tasks.shown_tools import shown_documents
from astra_mcp.text.language import language_of
from astra_mcp.types import FrozenModel

__all__ = ["ServerTaskGate", "ServerTasks", "WrittenTask", "named_language"]

_PROMPT: Final = "server_tasks"
_RULES: Final = "1"
"""Of the checks in code; a change of theirs decides anew."""
_LANGUAGES: Final = {"en": "English", "zh": "Chinese (Simplified)"}
_MAX_TOLD: Final = 80
"""Characters of a name that a message tells."""


def named_language(code: str | None) -> str:
    """Name a language for a prompt; without a code it is English."""
    return _LANGUAGES.get(code or "en", f"the language with the ISO 639-1 code {code}")


class WrittenTask(FrozenModel):
    """A task as the model wrote it, of one server."""

    server: str
    version: str
    query: str
    tools: tuple[str, ...]
    """Those that the model says it takes; not yet looked for."""


class _Task(FreeAnswer):
    model_config = ConfigDict(extra="ignore")

    query: str = ""
    tools: tuple[str, ...] = ()


class _Tasks(FreeAnswer):
    model_config = ConfigDict(extra="ignore")

    tasks: tuple[_Task, ...]


@dataclass(frozen=True, slots=True)
class ServerTasks:
    """Makes of a server as many tasks as are asked for, each an item of its own."""

    model: Asks
    name_of_model: str
    documents: Documents = field(repr=False)
    num_tasks: int = 2
    language: str | None = None
    """ISO 639-1; None for the language of each server."""
    seed: int = 0
    """Chooses the tools that are shown of a server that has too many for one prompt."""
    name = "server_tasks"
    takes = ServerItem

    @property
    def version(self) -> str:
        """Of the prompt, the model and what is asked for."""
        return stage_version(
            _PROMPT,
            model=self.name_of_model,
            num_tasks=self.num_tasks,
            language=self.language,
            seed=self.seed,
        )

    async def run(self, item: Item[ServerItem]) -> Made[WrittenTask] | Rejected:
        """Ask for the tasks of one server; of more than were asked for, the first are taken."""
        server = document_of(self.documents, item.value.name, item.value.version)
        answer = await ask(
            self.model,
            _PROMPT,
            _Tasks,
            count=self.num_tasks,
            language=named_language(self.language or server.language),
            documents=shown_documents([server], seed=self.seed),
        )
        if not answer.tasks:
            return Rejected("nothing_written", "the model wrote no task of this server")
        return Made.of(
            *(
                Item(
                    id=f"{item.id}/server-{number}",
                    value=WrittenTask(
                        server=server.name,
                        version=server.version,
                        query=task.query.strip(),
                        tools=task.tools,
                    ),
                )
                for number, task in enumerate(answer.tasks[: self.num_tasks], 1)
            )
        )


@dataclass(frozen=True, slots=True)
class ServerTaskGate:
    """Lets tasks of a server through that its tools are there for, and that read as a user's words."""

    documents: Documents = field(repr=False)
    language: str | None = None
    """ISO 639-1; None for the language of each server."""
    name = "server_task"
    takes = WrittenTask

    @property
    def version(self) -> str:
        """Of the rules and the language."""
        return stage_version(rules=_RULES, language=self.language)

    async def run(self, item: Item[WrittenTask]) -> Made[TaskDraft] | Rejected:
        """Judge one task."""
        task = item.value
        server = document_of(self.documents, task.server, task.version)
        wanted = self.language or server.language
        refused = _refusal(task, server, wanted)
        if refused is not None:
            return refused
        draft = TaskDraft(
            servers=(server.name,),
            versions={server.name: server.version},
            origin=TaskOrigin.SERVER,
            query=task.query,
            language=language_of([task.query]) or wanted,
            expected=tuple(
                ToolRef(server=server.name, tool=tool) for tool in dict.fromkeys(task.tools)
            ),
        )
        return Made.of(Item(id=item.id, value=draft))


def _refusal(task: WrittenTask, server: DocumentedServer, language: str | None) -> Rejected | None:
    """Why a task is refused: the first reason that there is."""
    if not task.query:
        return Rejected("no_query", "the query is empty")
    if not task.tools:
        return Rejected("no_tool", "the model names no tool that it takes")
    names = [tool.name for tool in server.tools]
    unknown = next((name for name in task.tools if name not in names), None)
    if unknown is not None:
        near = get_close_matches(unknown[:_MAX_TOLD], names, n=1, cutoff=0.0)
        told = f"; the nearest is {near[0]!r}" if near else ", or any"
        return Rejected("unknown_tool", f"the server has no tool {unknown[:_MAX_TOLD]!r}{told}")
    fault = next(query_faults(task.query, tools=names, language=language), None)
    return None if fault is None else Rejected(fault.reason, fault.detail)
