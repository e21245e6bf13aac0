"""Finding a tool by words, for the endpoint of all servers, which may publish too many to list.

Above :data:`MAX_LISTED` tools it lists two in their place: ``search_tools`` and ``call_tool``. The search
compares words and nothing else: equal query and tools, equal answer.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from astra_mcp.types import JsonObject, JsonValue, ToolResult, ToolSpec

MAX_LISTED = 100
"""Of all servers together; a server alone lists what it has."""

_NAME_WEIGHT = 3
_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


class _Search(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(
        min_length=1, max_length=1000, description="Words that say what the tool should do."
    )
    limit: int = Field(default=10, ge=1, le=50, description="How many tools to show at most.")


class ToolCall(BaseModel):
    """Arguments of ``call_tool``."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="Name of the tool, as search_tools shows it.")
    arguments: Annotated[dict[str, JsonValue], WithJsonSchema({"type": "object"})] = Field(
        default_factory=dict[str, JsonValue], description="Arguments by the tool's own schema."
    )


def _spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    schema = arguments.model_json_schema()
    return ToolSpec(
        name=name,
        description=description,
        input_schema={
            "type": "object",
            "properties": schema["properties"],
            "required": schema.get("required", []),
            "additionalProperties": False,
        },
    )


SEARCH_TOOLS = _spec(
    "search_tools",
    "Find tools by words. Shows the best matches with their names, descriptions and argument schemas.",
    _Search,
)
CALL_TOOL = _spec("call_tool", "Call a tool that search_tools has shown.", ToolCall)


def listed(tools: tuple[ToolSpec, ...], *, of_all: bool) -> tuple[ToolSpec, ...]:
    """What an endpoint lists: its tools, or at the one of all servers a search and a call in their place."""
    return (SEARCH_TOOLS, CALL_TOOL) if of_all and len(tools) > MAX_LISTED else tools


def find_tools(tools: Sequence[ToolSpec], query: str, limit: int) -> list[ToolSpec]:
    """Rank the tools that share a word with the query.

    Each distinct word of the query counts 3 in a tool's name and 1 in its description; each Chinese
    character is a word. Ties keep the order of the tools; tools without any are left out.
    """
    wanted = _words(query)
    scored = [(_score(tool, wanted), tool) for tool in tools]
    matching = [(score, tool) for score, tool in scored if score]
    return [tool for _, tool in sorted(matching, key=lambda row: -row[0])][:limit]


def answer_search(tools: Sequence[ToolSpec], arguments: JsonObject) -> ToolResult:
    """Answer a call of ``search_tools``; wrong arguments answer an error that names them."""
    try:
        search = _Search.model_validate(arguments)
    except ValidationError as error:
        return _wrong_arguments(error)
    found = find_tools(tools, search.query, search.limit)
    if not found:
        return ToolResult.from_text(f"None of {len(tools)} tools shares a word with the query.")
    rows: list[JsonValue] = [
        {"name": t.name, "description": t.description, "input_schema": t.input_schema}
        for t in found
    ]
    return ToolResult.from_value({"tools": rows}, structured=True)


def read_call(arguments: JsonObject) -> ToolCall | ToolResult:
    """Read the arguments of ``call_tool``; wrong ones give the error to answer."""
    try:
        return ToolCall.model_validate(arguments)
    except ValidationError as error:
        return _wrong_arguments(error)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


_words_of_tool = lru_cache(maxsize=16_384)(_words)
"""Of a name or a description; those of thousands of tools are read once."""


def _score(tool: ToolSpec, wanted: frozenset[str]) -> int:
    in_name = len(wanted & _words_of_tool(tool.name))
    return _NAME_WEIGHT * in_name + len(wanted & _words_of_tool(tool.description))


def _wrong_arguments(error: ValidationError) -> ToolResult:
    faults = [
        f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}"
        for e in error.errors(include_url=False)
    ]
    return ToolResult.from_text("Invalid arguments: " + "; ".join(faults), is_error=True)
