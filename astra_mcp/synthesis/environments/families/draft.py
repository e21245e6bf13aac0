"""Writing a bundle: its data, its tools with their code, its sub-tasks with their gold calls, its question."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pprint import pformat
from string import Template
from textwrap import dedent, indent
from typing import Any

from astra_mcp.domains import Domain
from astra_mcp.environments.bundle import Bundle, EnvironmentDocument
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.types import JsonObject

__all__ = ["Draft", "key", "shaping"]

_ANNOTATIONS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}
_MAX_NEIGHBOURS = 5
_BARE = ("name", "description")


def key(value: Any, others: Iterable[Any] = (), *, source: Any = None, **more: Any) -> JsonObject:
    """An identifying argument.

    Args:
        value: The gold value.
        others: Values that exist in the data; the first few become its neighbours.
        source: Span of the question, or ids of sub-tasks, that the value is worked out from.
        more: Further fields of a gold argument, such as ``forgiving``.
    """
    neighbours = [o for o in dict.fromkeys(map(_hashable, others)) if o != _hashable(value)]
    kept = [json.loads(o) for o in neighbours[:_MAX_NEIGHBOURS]]
    derived = {} if source is None else {"from": source}
    return {"value": value, "role": "identifying", "neighbours": kept, **derived, **more}


def shaping(value: Any, **more: Any) -> JsonObject:
    """An argument that shapes the result (``modifying``)."""
    return {"value": value, "role": "modifying", **more}


def _hashable(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Tool:
    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    body: str
    optional: frozenset[str]
    annotations: JsonObject

    def may_be_left_out(self, name: str) -> bool:
        return "default" in self.parameters[name] or name in self.optional

    def code(self) -> str:
        ordered = sorted(self.parameters, key=self.may_be_left_out)
        head = ", ".join(map(self._declared, ordered))
        about = self.description.splitlines()[0].replace("\\", "").replace('"', "'")
        return f'def {self.name}({head}) -> object:\n    """{about}"""\n{indent(self.body, "    ")}'

    def _declared(self, name: str) -> str:
        schema = self.parameters[name]
        kind: Any = schema.get("type")
        declared = (
            f"{name}: {_ANNOTATIONS.get(kind, 'object') if isinstance(kind, str) else 'object'}"
        )
        return f"{declared} = {schema.get('default')!r}" if self.may_be_left_out(name) else declared

    def document(self) -> JsonObject:
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": {
                "type": "object",
                "properties": {n: {**s} for n, s in self.parameters.items()},
                "required": [n for n in self.parameters if not self.may_be_left_out(n)],
                "additionalProperties": False,
            },
            "annotations": self.annotations,
        }


@dataclass(frozen=True, slots=True)
class _Step:
    id: int
    question: str
    answer: str
    tool: str | None
    needs: tuple[int, ...]
    arguments: JsonObject
    after: tuple[int, ...]


@dataclass(slots=True)
class Draft:
    """A bundle that is being written.

    Every text may hold ``$name``, which stands for what :meth:`name` drew: so that names of tools, parameters and
    fields differ from bundle to bundle.
    """

    brief: Brief
    domain: Domain
    title: str = ""
    description: str = ""
    question: str = ""
    answer: str = ""
    clock: str = "2026-03-02T09:00:00Z"
    _words: dict[str, str] = field(default_factory=dict[str, str])
    """What names stand for, in snake case."""
    _names: dict[str, str] = field(default_factory=dict[str, str])
    """The same as the bundle writes them."""
    _data: list[str | tuple[str, object]] = field(default_factory=list[str | tuple[str, object]])
    """Statements, and constants by name, which are written out only where the code is wanted."""
    _tools: dict[str, _Tool] = field(default_factory=dict[str, _Tool])
    _steps: list[_Step] = field(default_factory=list[_Step])
    _examples: list[JsonObject] = field(default_factory=list[JsonObject])

    def again(self, brief: Brief) -> "Draft":
        """The same data and tools, for another question."""
        return replace(self, brief=brief, _steps=[], _examples=[*self._examples])

    # --- words --------------------------------------------------------------------------------------------------

    def say(self, english: str, chinese: str) -> str:
        """The text in the language of the bundle; one of several that stand between ``||``."""
        text = chinese if self.brief.language == "zh" else english
        choices = [choice.strip() for choice in text.split("||")]
        return self.filled(self.brief.draw("say", text).pick(choices))

    def name(self, **choices: str) -> None:
        """Draw what names stand for, so that code and schemas differ from bundle to bundle.

        Args:
            choices: For each name what it may be, in snake case, between ``|``; may hold earlier names, as in
                ``find_$booking``. It is written in the case that the bundle uses.
        """
        is_camel = self.brief.draw("case").chance(1, 4)
        for name, options in choices.items():
            drawn = self.brief.draw("name", name).pick(options.split("|"))
            self._words[name] = Template(drawn).safe_substitute(self._words)
            first, *rest = self._words[name].split("_")
            self._names[name] = (
                "".join([first, *(w.capitalize() for w in rest)]) if is_camel else self._words[name]
            )

    def called(self, name: str) -> str:
        """What was drawn for a name."""
        return self._names[name]

    def filled(self, text: str) -> str:
        """A text with what its ``$names`` stand for."""
        return Template(text).safe_substitute(self._names)

    # --- code ---------------------------------------------------------------------------------------------------

    def refusal(self, english: str, chinese: str) -> str:
        """A statement of tool code that refuses a call; the texts may show arguments, as in ``{$day!r}``."""
        return f'raise ValueError(f"{self.say(english, chinese)}")'

    def data(self, name: str, value: object) -> None:
        """Add a constant of the module: plain data."""
        self._data.append((name, value))

    def code(self, text: str) -> None:
        """Add statements of the module before its tools, such as a private function."""
        self._data.append(self.filled(dedent(text).strip("\n")))

    def tool(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Mapping[str, Any]],
        body: str,
        *,
        optional: Iterable[str] = (),
        writes: bool = False,
    ) -> str:
        """Add a tool.

        Args:
            name: Of the tool, such as ``$find_booking``.
            description: For the agent.
            parameters: Schema by name; one with a ``default`` may be left out.
            body: Statements of the function.
            optional: Parameters that may be left out without a default in the schema: they are None.
            writes: Whether a call changes what later calls return.

        Returns:
            The name that it has.
        """
        filled = {
            self.filled(n): {k: self._value(v) for k, v in s.items()} for n, s in parameters.items()
        }
        made = _Tool(
            self.filled(name), self.filled(description), filled, self.filled(dedent(body).strip("\n")),
            frozenset(map(self.filled, optional)), {"readOnlyHint": not writes},
        )  # fmt: skip
        self._tools[made.name] = made
        return made.name

    def _value(self, value: Any) -> Any:
        return self.filled(value) if isinstance(value, str) else value

    def example(self, tool: str, **arguments: Any) -> None:
        """Add a call that shows a parameter which no gold call shows."""
        filled = {self.filled(n): v for n, v in arguments.items()}
        self._examples.append({"tool": self.filled(tool), "arguments": filled})

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def solve(
        self,
        question: str,
        answer: str,
        tool: str,
        arguments: Mapping[str, Mapping[str, Any]],
        *,
        needs: Sequence[int] = (),
        after: Sequence[int] = (),
    ) -> int:
        """Add a sub-task and the gold call that solves it.

        Returns:
            Its id, for those that need it.
        """
        filled: JsonObject = {self.filled(n): {**a} for n, a in arguments.items()}
        number = len(self._steps) + 1
        self._steps.append(
            _Step(number, question, answer, self.filled(tool), tuple(needs), filled, tuple(after))
        )
        return number

    def conclude(self, question: str, answer: str, needs: Sequence[int]) -> int:
        """Add a sub-task that is answered from others, without a tool."""
        number = len(self._steps) + 1
        self._steps.append(_Step(number, question, answer, None, tuple(needs), {}, ()))
        return number

    # --- bundle -------------------------------------------------------------------------------------------------

    def bundle(self, name: str, further: Sequence["Draft"] = ()) -> Bundle:
        """The bundle, as loading would read it from a folder of the name.

        Args:
            name: Of the bundle.
            further: Other questions over the same data and tools.

        Raises:
            ValidationError: A field is not valid.
        """
        told = self._document(name)
        if further:
            told["questions"] = [
                {"id": f"q{number}", **other._question()} for number, other in enumerate(further, 2)
            ]
        text = json.dumps(told, ensure_ascii=False)
        document = EnvironmentDocument.model_validate_json(text, strict=True)
        server = {
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": f"dev.astra-mcp.families/{name}",
            "description": self.filled(self.title)[:100],
            "version": document.version,
        }
        return Bundle(document=document, code=self._code(), server=server)

    def _code(self) -> str:
        body = "\n".join(
            text
            if isinstance(text, str)
            else f"{text[0]} = {pformat(text[1], width=110, sort_dicts=False)}"
            for text in self._data
        )
        used = [
            m
            for m in ("datetime", "itertools", "math", "random", "re")
            if f"{m}." in body + "".join(t.body for t in self._tools.values())
        ]
        head = f'"""{self.filled(self.title)}"""\n' + (
            "\n" + "\n".join(f"import {m}" for m in used) + "\n" if used else ""
        )
        return (
            "\n\n\n".join([head.rstrip("\n"), body, *(t.code() for t in self._tools.values())])
            + "\n"
        )

    def _document(self, name: str) -> JsonObject:
        return {
            "schema_version": 1,
            "name": name,
            "title": self.filled(self.title),
            "description": self.filled(self.description),
            "status": "verified",
            "domain": self.domain.value,
            "language": self.brief.language,
            **self._question(),
            "tools": [t.document() for t in self._tools.values()],
            "examples": [*self._examples],
            "clock": self.clock,
            "provenance": {
                "source": "families",
                "family": self.brief.family,
                "notes": f"Family {self.brief.family}, seed {self.brief.seed}.",
            },
        }

    def _question(self) -> JsonObject:
        levels: dict[int, int] = {}
        for step in self._steps:
            levels[step.id] = 1 + max((levels[n] for n in step.needs), default=0)
        return {
            "scenario_type": self.brief.layout.scenario.value,
            "question": self.question,
            "answer": self.answer,
            "sub_tasks": [self._sub_task(s, levels) for s in self._steps],
            "gold": [
                {"tool": s.tool, "arguments": s.arguments, "solves": [s.id], "after": [*s.after]}
                for s in self._steps
                if s.tool is not None
            ],
        }

    @staticmethod
    def _sub_task(step: _Step, levels: Mapping[int, int]) -> JsonObject:
        return {
            "id": step.id,
            "question": step.question,
            "answer": step.answer,
            "hop_level": levels[step.id],
            "is_parallel": [*levels.values()].count(levels[step.id]) > 1,
            "dependencies": [*step.needs],
            "tool": step.tool,
        }
