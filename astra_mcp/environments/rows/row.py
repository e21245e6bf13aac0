"""A row of RL data: one prompt, the tools with their code, and the answers that their results should hold.

Published rows (ASTRA-RL-1k) have four columns: ``prompt``, one message; ``tool_schema``, a JSON text of
OpenAI functions; ``tool_dict``, a JSON text of source texts by tool; ``sub_qa_dict``, a JSON text of lists
of answers by tool. What stands in them is what models wrote: each fault is named.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast

from astra_mcp.environments.bundle import BACKGROUND_HEADING, told_prompt
from astra_mcp.errors import BundleError, BundleFault
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject, JsonValue, canonical_json

__all__ = ["COLUMNS", "Row"]

COLUMNS = ("prompt", "tool_schema", "tool_dict", "sub_qa_dict")
_FUNCTION_KEYS = {"name", "description", "parameters"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a row says. Equal rows differ in the formatting of their JSON and in line ends of code alone."""

    question: str
    background: JsonObject | None
    """What is told of the user before the question."""
    functions: tuple[JsonObject, ...]
    """``name``, ``description`` and ``parameters`` of each tool, in order."""
    sources: Mapping[str, str]
    """Python source by tool, with line feeds as line ends."""
    answers: Mapping[str, tuple[str, ...]]
    """What results of a tool should contain; each answer is one sub-task."""

    @classmethod
    def parse(cls, columns: Mapping[str, object]) -> Self:
        """Read the four columns.

        Raises:
            BundleError: They are none; carries every fault found.
        """
        faults: list[BundleFault] = []
        missing = [
            BundleFault.at(name, "", "is missing") for name in COLUMNS if name not in columns
        ]
        others = [n for n in columns if n not in COLUMNS]
        faults += missing
        faults += [BundleFault.at(n, "", f"is none of {', '.join(COLUMNS)}") for n in others]
        if faults:
            raise BundleError("the row", faults)
        background, question = _read_prompt(columns["prompt"], faults)
        row = cls(
            question=question,
            background=background,
            functions=tuple(_read_functions(columns["tool_schema"], faults)),
            sources=_read_sources(columns["tool_dict"], faults),
            answers=_read_answers(columns["sub_qa_dict"], faults),
        )
        try:
            canonical_json(row.content)
        except TypeError as error:
            faults.append(BundleFault(f"holds a value that JSON cannot carry: {error}"))
        if faults:
            raise BundleError("the row", faults)
        return row

    @property
    def prompt(self) -> str:
        """The text of the one message."""
        return told_prompt(self.background, self.question)

    @property
    def content(self) -> JsonObject:
        """All that two equal rows have in common, as one JSON value."""
        return {
            "question": self.question,
            "background": self.background,
            "functions": list(self.functions),
            "sources": dict(self.sources),
            "answers": {tool: list(texts) for tool, texts in self.answers.items()},
        }

    @property
    def columns(self) -> JsonObject:
        """The row as it is published."""
        functions = [{"type": "function", "function": each} for each in self.functions]
        answers = {tool: list(texts) for tool, texts in self.answers.items()}
        return {
            "prompt": [{"content": self.prompt, "role": "user"}],
            "tool_schema": json.dumps(functions, ensure_ascii=False),
            "tool_dict": json.dumps(dict(self.sources), ensure_ascii=False),
            "sub_qa_dict": json.dumps(answers, ensure_ascii=False),
        }


def _read_prompt(value: object, faults: list[BundleFault]) -> tuple[JsonObject | None, str]:
    match value:
        case [{"role": "user", "content": str(text)}]:
            return _split_prompt(text)
        case _:
            words = 'must be one message: [{"content": "...", "role": "user"}]'
            faults.append(BundleFault.at("prompt", "", words))
            return None, ""


def _split_prompt(text: str) -> tuple[JsonObject | None, str]:
    """Tell the background from the question; a text that has not both is all question."""
    rest = text.removeprefix(f"{BACKGROUND_HEADING}\n").lstrip()
    if rest == text or not rest.startswith("{"):
        return None, text
    try:
        # Where the object ends is for the plain decoder to find; what it says is read strictly.
        _, end = json.JSONDecoder(strict=False).raw_decode(rest)
        background = parse_strict(rest[:end])
    except (ValueError, RecursionError):
        return None, text
    question = rest[end:].strip()
    return (cast("JsonObject", background), question) if question else (None, text)


def _object(column: str, value: object, faults: list[BundleFault]) -> JsonObject:
    parsed = _parsed(column, value, faults)
    if parsed is not None and not isinstance(parsed, dict):
        faults.append(BundleFault.at(column, "", "must hold one JSON object"))
    return cast("JsonObject", parsed) if isinstance(parsed, dict) else {}


def _parsed(column: str, value: object, faults: list[BundleFault]) -> object:
    fault = partial(BundleFault.at, column, "")
    if not isinstance(value, str):
        faults.append(fault("must be a text that holds JSON"))
        return None
    try:
        return parse_strict(value)
    except json.JSONDecodeError as error:
        faults.append(fault(f"is not JSON: {error.msg}, at character {error.pos}"))
    except RecursionError:
        faults.append(fault("nests too deeply"))
    except ValueError as error:
        faults.append(fault(str(error)))
    return None


def _read_functions(value: object, faults: list[BundleFault]) -> list[JsonObject]:
    parsed = _parsed("tool_schema", value, faults)
    if not isinstance(parsed, list):
        if parsed is not None:
            faults.append(BundleFault.at("tool_schema", "", "must hold a list of functions"))
        return []
    functions: list[JsonObject] = []
    for index, entry in enumerate(cast("list[Any]", parsed)):
        match entry:
            case {"type": "function", "function": {"name": str()} as function, **more} if not more:
                extra = sorted(cast("JsonObject", function).keys() - _FUNCTION_KEYS)
                if extra:
                    words = f"a function has name, description and parameters, and no {extra[0]!r}"
                    faults.append(BundleFault.at("tool_schema", f"[{index}]", words))
                functions.append(cast("JsonObject", function))
            case _:
                words = 'must be {"type": "function", "function": {"name": ...}}'
                faults.append(BundleFault.at("tool_schema", f"[{index}]", words))
    return functions


def _read_sources(value: object, faults: list[BundleFault]) -> dict[str, str]:
    sources: dict[str, str] = {}
    for tool, source in _object("tool_dict", value, faults).items():
        if isinstance(source, str):
            sources[tool] = source.replace("\r\n", "\n").replace("\r", "\n")
        else:
            faults.append(BundleFault.at("tool_dict", tool, "must be the text of its code"))
    return sources


def _read_answers(value: object, faults: list[BundleFault]) -> dict[str, tuple[str, ...]]:
    answers: dict[str, tuple[str, ...]] = {}
    for tool, texts in _object("sub_qa_dict", value, faults).items():
        if _is_texts(texts):
            answers[tool] = tuple(cast("list[str]", texts))
        else:
            words = "must be a list of one or more texts"
            faults.append(BundleFault.at("sub_qa_dict", tool, words))
    return answers


def _is_texts(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
