"""A server of notes that is known by its documents, and a model that plays it.

The model keeps nothing: all it knows of a session stands in the prompt, so it is consistent exactly where
the emulator tells it what happened.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from astra_mcp.completions import Reply
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import Model
from astra_mcp.types import JsonObject, JsonValue, ToolSpec
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.modelled.emulator import ModelEmulator, ModelState

from asked_models import a_model
from completions_server import Body, CompletionsServer, says
from emulated_worlds import document_of, spec, text

_CALL = re.compile(r"^call: (\w+) (\{.*\})\n(answered|failed): (.*)$", re.MULTILINE)


def tool(
    name: str, *required: str, description: str = "", output: Any = None, **optional: Any
) -> ToolSpec:
    """A tool whose required arguments are texts."""
    properties: dict[str, Any] = {**dict.fromkeys(required, text), **optional}
    told = description or name.replace("_", " ")
    return spec(name, told, output=output, optional=tuple(optional), **properties)


NOTES = document_of(
    tool("create_note", "title"),
    tool("list_notes"),
    tool("search_notes", "query"),
    tool("get_note", "note_id"),
    tool("update_note", "note_id", "title"),
    tool("delete_note", "note_id"),
    name="notes",
)


def tool_named(name: str, document: EmulatedDocument = NOTES) -> ToolSpec:
    """A tool of a document."""
    return next(tool for tool in document.tools if tool.name == name)


def emulator_model(server: CompletionsServer, **options: Any) -> AbstractAsyncContextManager[Model]:
    """Open the model of the role at a scripted endpoint."""
    options.setdefault("max_retries", 0)
    return a_model(server, role=Role.EMULATOR, **options)


@asynccontextmanager
async def notes_session(
    server: CompletionsServer, document: EmulatedDocument = NOTES, *, seed: int = 1, **options: Any
) -> AsyncGenerator[ModelState]:
    """Open a session with the model at a scripted endpoint."""
    async with emulator_model(server, **options) as model:
        yield ModelEmulator(model).open_state(document, seed=seed)


def answers(result: JsonValue, *, is_error: bool = False) -> Reply:
    """The model's answer to a call."""
    return says(json.dumps({"result": result, "is_error": is_error}))


def prompt_of(body: Body) -> str:
    """All that a request asks."""
    return "\n".join(cast("str", message["content"]) for message in body["messages"])


def section(body: Body, name: str) -> str:
    """What stands between the tags of a name; empty where they are missing."""
    text = cast("str", body["messages"][-1]["content"])
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL)
    return found.group(1) if found else ""


def is_fold(body: Body) -> bool:
    """Whether a request is about older calls, and not about one that is to be answered."""
    return not section(body, "call")


class _World:
    """The notes that a prompt tells of."""

    def __init__(self, state: str, told: str) -> None:
        kept: Any = json.loads(state or '{"notes": {}, "made": 0}')
        self.notes: dict[str, str] = kept["notes"]
        self.made: int = kept["made"]
        for name, arguments, outcome, answer in _CALL.findall(told):
            if outcome == "answered":
                self._replay(name, json.loads(arguments), json.loads(answer))

    def state(self) -> str:
        """What the model would keep of it."""
        return json.dumps({"notes": self.notes, "made": self.made})

    def call(self, name: str, arguments: dict[str, str]) -> Reply:
        """Answer as a service that keeps its word."""
        plays: dict[str, Callable[[dict[str, str]], Reply]] = {
            "create_note": self._create,
            "list_notes": lambda _: answers({"notes": [self._note(id) for id in self.notes]}),
            "search_notes": self._search,
            "get_note": lambda given: answers(self._note(given["note_id"])),
            "update_note": lambda given: answers({"id": given["note_id"], "title": given["title"]}),
            "delete_note": lambda given: answers({"deleted": True, "id": given["note_id"]}),
        }
        if "note_id" in arguments and arguments["note_id"] not in self.notes:
            return answers(f"Note {arguments['note_id']} not found", is_error=True)
        return plays[name](arguments)

    def _replay(self, name: str, arguments: dict[str, str], answer: Any) -> None:
        if name == "create_note":
            self.made += 1
            self.notes[answer["id"]] = answer["title"]
        elif name == "update_note":
            self.notes[arguments["note_id"]] = arguments["title"]
        elif name == "delete_note":
            del self.notes[arguments["note_id"]]

    def _create(self, arguments: dict[str, str]) -> Reply:
        return answers({"id": f"note-{self.made + 1}", "title": arguments["title"]})

    def _search(self, arguments: dict[str, str]) -> Reply:
        found = [id for id, title in self.notes.items() if arguments["query"] in title]
        return answers({"results": [self._note(id) for id in found], "total": len(found)})

    def _note(self, id: str) -> JsonObject:
        return {"id": id, "title": self.notes[id]}


def play(body: Body) -> Reply:
    """Answer a prompt about notes, from what it tells alone."""
    if is_fold(body):
        world = _World(section(body, "state"), section(body, "calls"))
        return says(json.dumps({"state": world.state()}))
    world = _World(section(body, "state"), section(body, "recent_calls"))
    name, _, arguments = section(body, "call").partition(" ")
    return world.call(name, json.loads(arguments))
