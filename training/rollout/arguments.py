"""The arguments that a model writes for a call: which a rollout takes, and what it says of all others."""

from typing import cast

from astra_mcp.text.json_bounds import MAX_VALUES, bounds_fault
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject, json_fault

__all__ = ["MAX_ARGUMENT_BYTES", "parse_arguments"]

MAX_ARGUMENT_BYTES = 1 << 20
"""Larger arguments are not sent: the gateway would refuse them unread, and lose their place."""
_MAX_ARGUMENT_VALUES = MAX_VALUES - 100
"""Beside them stands what a call says of itself; more would be refused unread as well."""
_SPACE = " \t\r\n"
"""Of JSON; any other blank is no part of it."""


def parse_arguments(text: str) -> JsonObject | str:
    """Parse a model's arguments, or say in words for the model what is wrong with them.

    They are read as strictly as the renderer reads them, so that what was called is what is trained.
    """
    content = text.encode(errors="replace")
    if len(content) > MAX_ARGUMENT_BYTES:
        return (
            f"The arguments are too large: at most {MAX_ARGUMENT_BYTES} bytes. No tool was called."
        )
    try:
        value = parse_strict(text.strip(_SPACE) or "{}")
    except RecursionError:
        return "The arguments are nested too deeply. No tool was called; send the call again."
    except ValueError as error:
        return (
            f"The arguments are not valid JSON ({error}). No tool was called; send the call again."
        )
    if not isinstance(value, dict):
        return "The arguments must be a JSON object. No tool was called; send the call again."
    arguments = cast("JsonObject", value)
    fault = json_fault(arguments) or bounds_fault(content, _MAX_ARGUMENT_VALUES)
    return arguments if fault is None else f"No tool was called: {fault}."
