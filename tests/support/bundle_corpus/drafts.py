"""Writing a bundle in few words: data, tools with their code, and the steps of the gold."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pprint import pformat
from random import Random
from string import Template
from textwrap import dedent, indent
from typing import Any

from astra_mcp.environments.bundle import Bundle, EnvironmentDocument

Fields = dict[str, Any]

_ANNOTATIONS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}


def identifying(value: Any, *neighbours: Any, **more: Any) -> Fields:
    """An argument that picks the record; ``source`` is written as ``from``."""
    return _argument("identifying", value, neighbours, more)


def modifying(value: Any, **more: Any) -> Fields:
    """An argument that shapes the result."""
    return _argument("modifying", value, (), more)


def _argument(role: str, value: Any, neighbours: Sequence[Any], more: Fields) -> Fields:
    if "source" in more:
        more = {"from": more["source"], **{n: v for n, v in more.items() if n != "source"}}
    return {"value": value, "role": role, "neighbours": [*neighbours], **more}


@dataclass(slots=True)
class ToolDraft:
    """A tool: what the document says of it, and its code in the order in which it runs."""

    name: str
    description: str
    parameters: dict[str, Fields]
    """Schemas; one with a ``default`` is optional."""
    lookup: str
    """Statements that find what is asked for."""
    result: str = ""
    """The expression that is returned; nothing where the lookup returns itself."""
    before: str = ""
    after: str = ""
    output: Fields | None = None
    hints: Fields = field(default_factory=Fields)
    optional: set[str] = field(default_factory=set[str])
    """Parameters that may be left out though no default is named."""

    def code(self, names: Mapping[str, str]) -> str:
        """The function; ``$name`` stands for what the draft calls it."""
        parts = [dedent(part).strip("\n") for part in (self.before, self.lookup, self.after)]
        if self.result:
            parts.append(f"return {self.result}")
        body = "\n".join(part for part in parts if part)
        ordered = sorted(self.parameters, key=self._may_be_left_out)
        head = ", ".join(self._declared(name) for name in ordered)
        text = f'def {self.name}({head}) -> object:\n    """Answer the tool."""\n'
        return Template(text + indent(body, "    ")).safe_substitute(names)

    def as_json(self, names: Mapping[str, str]) -> Fields:
        """The tool in ``environment.json``."""
        schema: Fields = {
            "type": "object",
            "properties": self.parameters,
            "required": [n for n in self.parameters if not self._may_be_left_out(n)],
            "additionalProperties": False,
        }
        shown: Fields = {
            "name": self.name,
            "description": Template(self.description).safe_substitute(names),
            "input_schema": schema,
        }
        shown |= {} if self.output is None else {"output_schema": self.output}
        return shown | ({"annotations": self.hints} if self.hints else {})

    def _may_be_left_out(self, name: str) -> bool:
        return "default" in self.parameters[name] or name in self.optional

    def _declared(self, name: str) -> str:
        schema = self.parameters[name]
        kind = schema.get("type")
        declared = (
            f"{name}: {_ANNOTATIONS.get(kind, 'object') if isinstance(kind, str) else 'object'}"
        )
        if not self._may_be_left_out(name):
            return declared
        default = schema.get("default")
        return f"{declared} = {default!r}"


@dataclass(slots=True)
class StepDraft:
    """A sub-task with its gold call."""

    question: str
    answer: str
    tool: str | None
    arguments: dict[str, Fields] = field(default_factory=dict[str, Fields])
    needs: tuple[int, ...] = ()
    """Numbers of earlier steps whose answers it needs, from 1."""
    after: tuple[int, ...] = ()


@dataclass(slots=True)
class Draft:
    """A bundle that is being written."""

    name: str
    language: str
    domain: str
    title: str
    description: str
    question: str = ""
    answer: str = ""
    names: dict[str, str] = field(default_factory=dict[str, str])
    """What ``$name`` stands for in the code."""
    data: list[str] = field(default_factory=list[str])
    """Statements of the module before its tools."""
    tools: list[ToolDraft] = field(default_factory=list[ToolDraft])
    steps: list[StepDraft] = field(default_factory=list[StepDraft])
    more: Fields = field(default_factory=Fields)
    """Further fields of the document, or others in place of the usual ones."""
    published: str = ""
    """The description in ``server.json``, where it is not the title."""

    def says(self, english: str, chinese: str) -> str:
        """The text in the language of the bundle."""
        return chinese if self.language == "zh" else english

    def has(self, name: str, value: object) -> None:
        """Add data under a name."""
        self.data.append(f"{name} = {pformat(value, width=96, sort_dicts=False)}")

    def tool(
        self, name: str, description: str, parameters: dict[str, Fields], code: str
    ) -> ToolDraft:
        """Add a tool whose code returns by itself."""
        made = ToolDraft(name, description, parameters, code)
        self.tools.append(made)
        return made

    def step(self, question: str, answer: str, tool: str | None, **arguments: Fields) -> StepDraft:
        """Add a sub-task and the call that solves it."""
        made = StepDraft(question, answer, tool, arguments)
        self.steps.append(made)
        return made

    def bundle(self) -> Bundle:
        """The bundle, as loading would read it."""
        text = json.dumps(self._document(), ensure_ascii=False)
        document = EnvironmentDocument.model_validate_json(text, strict=True)
        server = {
            "name": f"example.org/{self.name}",
            "description": (self.published or self.title)[:100],
            "version": document.version,
        }
        return Bundle(document=document, code=self._code(), server=server)

    def _code(self) -> str:
        head = f'"""{self.title}"""\n\nimport datetime as dt\nimport itertools\nimport random\nimport re\n'
        data = [Template(dedent(d).strip("\n")).safe_substitute(self.names) for d in self.data]
        return (
            "\n\n\n".join([head, "\n".join(data), *(t.code(self.names) for t in self.tools)]) + "\n"
        )

    def _document(self) -> Fields:
        levels = self._levels()
        return {
            "schema_version": 1,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "status": "verified",
            "domain": self.domain,
            "language": self.language,
            "scenario_type": _scenario(levels),
            "question": self.question or self.steps[0].question,
            "answer": self.answer or ", ".join(s.answer for s in self.steps),
            "sub_tasks": [self._sub_task(i, levels) for i in range(len(self.steps))],
            "tools": [t.as_json(self.names) for t in self.tools],
            "gold": [
                {"tool": s.tool, "arguments": s.arguments, "solves": [i + 1], "after": [*s.after]}
                for i, s in enumerate(self.steps)
                if s.tool is not None
            ],
            "provenance": {"source": "original"},
        } | self.more

    def _levels(self) -> list[int]:
        levels: list[int] = []
        for step in self.steps:
            levels.append(1 + max((levels[n - 1] for n in step.needs), default=0))
        return levels

    def _sub_task(self, index: int, levels: Sequence[int]) -> Fields:
        step = self.steps[index]
        return {
            "id": index + 1,
            "question": step.question,
            "answer": step.answer,
            "hop_level": levels[index],
            "is_parallel": levels.count(levels[index]) > 1,
            "dependencies": [*step.needs],
            "tool": step.tool,
        }


def begin(rng: Random, domain: str, english: str, chinese: str) -> Draft:
    """An empty draft in a language that is drawn, with its title."""
    language = rng.choice(["en", "zh"])
    title = chinese if language == "zh" else english
    return Draft("draft", language, domain, title, title)


def _scenario(levels: Sequence[int]) -> str:
    if len(levels) == 1:
        return "Single-Hop"
    if max(levels) == 1:
        return "Parallel Single-Hop"
    return "Multi-Hop" if len({*levels}) == len(levels) else "Parallel Multi-Hop"
