"""What of a document, a call or an answer goes into a prompt: cut to stated lengths, and saying so.

All lengths are of characters. Together they bound every prompt, whatever was called and answered.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from astra_mcp.types import JsonValue, ToolSpec
from servers.emulated.emulator import EmulatedDocument

__all__ = [
    "MAX_NAME",
    "MAX_PROMPT_CHARS",
    "answer_text",
    "arguments_text",
    "cut",
    "schema_text",
    "server_text",
    "tool_text",
]

MAX_PROMPT_CHARS: Final = 60_000
"""No question to the model is longer, with all its messages: what the parts may take, the longest template
(4,000), and a sixth for what delimiting adds where a text is full of closing tags."""
MAX_NAME: Final = 200
_MAX_ABOUT: Final = 2000
"""Of the description of the server, and of the called tool."""
_MAX_CATALOGUE: Final = 4000
_LINES: Final = range(40, 161)
"""How long the line of one tool in the catalogue may be; the more tools, the shorter."""
_MAX_SCHEMA: Final = 3000
_MARK: Final = " [... {} more characters]"
_MARK_LENGTH: Final = len(_MARK) + 10
"""With a number of up to 12 digits."""


def cut(text: str, length: int) -> str:
    """Shorten a text to a length, with a mark at its end that says how much is missing.

    Args:
        text: Any.
        length: Of the outcome, mark included; at least 40.
    """
    if len(text) <= length:
        return text
    kept = length - _MARK_LENGTH
    return text[:kept] + _MARK.format(len(text) - kept)


def answer_text(value: JsonValue) -> str:
    """Write an answer as its caller reads it: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def arguments_text(arguments: object, length: int) -> str:
    """Write the arguments of a call, equal ones equally."""
    return cut(json.dumps(arguments, ensure_ascii=False, sort_keys=True), length)


def schema_text(schema: dict[str, Any] | None) -> str:
    """Write a schema in its own order; empty where there is none."""
    if schema is None:
        return ""
    return cut(json.dumps(schema, ensure_ascii=False, separators=(",", ":")), _MAX_SCHEMA)


def server_text(document: EmulatedDocument) -> str:
    """Tell what a server is, without the schemas of its tools."""
    about = [
        f"name: {cut(document.title or document.name, MAX_NAME)}",
        f"language: {cut(document.language or 'that of its texts', MAX_NAME)}",
        f"description: {cut(document.description, _MAX_ABOUT)}",
        f"tools:\n{_catalogue(document.tools)}",
    ]
    return "\n".join(about)


def tool_text(tool: ToolSpec) -> str:
    """Tell what a tool does, without its schemas."""
    return f"name: {cut(tool.name, MAX_NAME)}\ndescription: {cut(tool.description, _MAX_ABOUT)}"


def _catalogue(tools: Sequence[ToolSpec]) -> str:
    share = _MAX_CATALOGUE // max(1, len(tools))
    length = min(max(share, _LINES.start), _LINES.stop - 1)
    lines = (cut(f"- {t.name}: {' '.join(t.description.split())}", length) for t in tools)
    return cut("\n".join(lines), _MAX_CATALOGUE)
