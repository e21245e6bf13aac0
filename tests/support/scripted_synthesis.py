"""A model that answers by the name of the prompt, tools that run in the test's own process, and instances."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue

from astra_mcp.errors import ToolCodeError
from astra_mcp.llm.prompt import Prompt
from astra_mcp.sandbox.protocol import ModuleId, Raised, Returned, SandboxReport
from astra_mcp.synthesis.environments.building.tool import SolvingCall, Tool, ToolDocument
from astra_mcp.synthesis.environments.questions.instance import Derivation, Draft, Instance
from astra_mcp.types import JsonObject

__all__ = ["InThisProcess", "ScriptedAsks", "draft", "instance", "lookup", "lookup_code", "sub"]

AnswerT = TypeVar("AnswerT", bound=BaseModel)


class ScriptedAsks:
    """Answers each prompt by what is given under its name: a value, an error, or a function."""

    def __init__(self, **answers: Any) -> None:
        """Take the answers; a function is called with the text of the user's message and the sample."""
        self.answers = answers
        self.asked: list[tuple[str, str, int]] = []
        """Name, user's message and sample of each question, in order."""

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Answer in the form that is asked for."""
        system, user = (str(message["content"]) for message in prompt.messages)
        named = re.match(r'Prompt "(\w+)"', system)
        assert named is not None
        self.asked.append((named[1], user, sample))
        given = self.answers[named[1]]
        if callable(given):
            given = given(user, sample)
        if isinstance(given, Exception):
            raise given
        return answer.model_validate(given)

    def names(self) -> list[str]:
        """The names of the prompts that were asked."""
        return [name for name, _, _ in self.asked]


class InThisProcess:
    """A sandbox that isolates nothing, for code of a test's own."""

    def __init__(self) -> None:
        """Begin without modules."""
        self.codes: list[str] = []
        self.calls: list[Mapping[str, JsonValue]] = []
        """The arguments of all calls, in order."""

    @property
    def report(self) -> SandboxReport:
        """Not asked for."""
        raise NotImplementedError

    async def load(
        self, code: str, *, load_seed: int = 0, clock: datetime, layout: int = 0
    ) -> ModuleId:
        """Keep the text, once it compiles."""
        del load_seed, clock, layout
        try:
            compile(code, "tools.py", "exec")
        except SyntaxError as error:
            raise ToolCodeError(str(error)) from None
        self.codes.append(code)
        return ModuleId(str(len(self.codes) - 1))

    async def open_session(
        self, module: ModuleId, *, seed: int, clock: datetime | None = None
    ) -> "_Session":
        """Execute the module."""
        del seed, clock
        names: dict[str, Any] = {}
        exec(self.codes[int(module)], names)  # noqa: S102 - the test's own text
        return _Session(names, self.calls)


class _Session:
    def __init__(
        self, names: Mapping[str, Callable[..., JsonValue]], calls: list[Mapping[str, JsonValue]]
    ) -> None:
        self._names, self._calls = names, calls

    async def call(self, function: str, arguments: Mapping[str, JsonValue]) -> Returned | Raised:
        self._calls.append(arguments)
        try:
            return Returned(value=self._names[function](**arguments))
        except ValueError as error:
            return Raised(kind="ValueError", message=str(error))

    async def aclose(self) -> None:
        """Nothing is open."""


def sub(id: int, *dependencies: int, answer: str | None = None, **more: Any) -> dict[str, Any]:
    """A sub-question as a model writes it."""
    words = {"question": f"What is the code of record {'abcdefghijklmnopqrstu'[id % 21]}?"}
    told = {"id": id, "answer": answer or f"CODE-{id}{id}{id}", "dependencies": [*dependencies]}
    return {**words, **told, **more}


def draft(*subs: dict[str, Any], **more: Any) -> Draft:
    """A draft that is sound but for what is said otherwise; by default of two steps."""
    return Draft.model_validate(_written(*subs, **more))


def instance(*subs: dict[str, Any], **more: Any) -> Instance:
    """An instance that is sound but for what is said otherwise."""
    made = {"source": "s", "writer": "w", "language": "en", "label": "travel"}
    return Instance.model_validate({**made, **_written(*subs, **more)})


def _written(*subs: dict[str, Any], **more: Any) -> dict[str, Any]:
    steps = subs or (sub(1), sub(2, 1))
    return {
        "title": "Two codes",
        "domain": "travel",
        "scenario_type": "Multi-Hop",
        "main_question": "Which code comes in the end for the red door?",
        "final_answer": " and ".join(step["answer"] for step in steps),
        "derivation": Derivation.model_validate(
            {"formula": "join", "sub_questions": [step["id"] for step in steps]}
        ),
        "sub_questions": steps,
        **more,
    }


def lookup(id: int, key: str, records: Mapping[str, str], *, name: str = "find_code") -> Tool:
    """A tool that finds the record of a key."""
    keys: JsonObject = {"type": "string", "enum": [*records]}
    return Tool(
        document=ToolDocument(
            name=name,
            description="Finds the code of a record.",
            input_schema={
                "type": "object",
                "properties": {"key": keys},
                "required": ["key"],
                "additionalProperties": False,
            },
            roles={"key": "identifying"},
        ),
        code=lookup_code(records, name=name),
        calls=(SolvingCall(solves=id, arguments={"key": key}),),
    )


def lookup_code(records: Mapping[str, str], *, name: str = "find_code") -> str:
    """The module of such a tool."""
    return (
        f"_ROWS = {dict(records)!r}\n\n\ndef {name}(key: str) -> str:\n    if key not in _ROWS:\n"
        "        raise ValueError('unknown key')\n    return _ROWS[key]\n"
    )
