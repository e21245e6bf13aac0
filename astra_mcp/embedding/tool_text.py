"""What is embedded of a tool, and what stands in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import orjson

from astra_mcp.types import ToolSpec, canonical_json

__all__ = ["ToolText", "parameter_texts", "read_tool_text", "tool_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """The parts of a tool's document, by what they weigh."""

    name: str
    description: str
    parameters: str
    """Their names, descriptions and choices."""


def tool_text(spec: ToolSpec) -> str:
    """Write the document of a tool that is embedded: d(tau) of ASTRA (arXiv:2601.21558) eq. (24).

    Returns:
        The tool's OpenAI document as canonical JSON.
    """
    return canonical_json(spec.as_openai()).decode()


def read_tool_text(text: str) -> ToolText | None:
    """Take what :func:`tool_text` wrote apart again; None where the text is something else."""
    if not text.startswith('{"function":{'):
        return None
    try:
        match orjson.loads(text):
            case {"function": {"name": str(name), "description": str(description), **rest}}:
                parameters = " ".join(parameter_texts(rest.get("parameters")))
                return ToolText(name=name, description=description, parameters=parameters)
            case _:
                return None
    except orjson.JSONDecodeError:
        return None


def parameter_texts(schema: object) -> Iterator[str]:
    """Names, descriptions and choices of the parameters that a JSON Schema declares, outermost first."""
    pending = [schema]
    while pending:
        following: list[object] = []
        for part in pending:
            if isinstance(part, dict):
                yield from _own_texts(cast("dict[str, Any]", part), following)
            elif isinstance(part, list):
                following += cast("list[object]", part)
        pending = following


_SUBSCHEMAS = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"})


def _own_texts(schema: dict[str, Any], following: list[object]) -> Iterator[str]:
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, dict):
            properties = cast("dict[str, object]", value)
            yield from properties
            following += properties.values()
        elif keyword == "description" and isinstance(value, str):
            yield value
        elif keyword == "enum" and isinstance(value, list):
            yield from (choice for choice in cast("list[object]", value) if isinstance(choice, str))
        elif keyword in _SUBSCHEMAS:
            following.append(value)
