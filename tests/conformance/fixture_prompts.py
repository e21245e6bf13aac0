"""The prompts of the conformance fixture."""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext

from astra_mcp.types import JsonObject

from fixture_content import IMAGE, form, text
from fixture_conversation import Question, converse

Context = ServerRequestContext[Any, Any]


def _prompt(name: str, description: str, *arguments: str) -> JsonObject:
    return {
        "name": name,
        "description": description,
        "arguments": [
            {"name": a, "description": f"The prompt's {a}", "required": True} for a in arguments
        ],
    }


PROMPTS: list[JsonObject] = [
    _prompt("test_simple_prompt", "A prompt without arguments"),
    _prompt("test_prompt_with_arguments", "A prompt of two words", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "A prompt with a resource", "resourceUri"),
    _prompt("test_prompt_with_image", "A prompt with a picture"),
    _prompt("test_input_required_result_prompt", "A prompt that asks for its context first"),
]
CONTEXT = Question(
    key="user_context",
    method="elicitation/create",
    params=form("What context should the prompt use?", context={"type": "string"}),
)


async def prompt_blocks(
    ctx: Context, name: str, arguments: Mapping[str, str]
) -> tuple[JsonObject, ...]:
    """Fill in a prompt.

    Returns:
        One block for each message of the user.

    Raises:
        NeedsInputError: The prompt asks its client first, which speaks the modern era.
        MCPError: There is no such prompt.
    """
    match name:
        case "test_simple_prompt":
            return (text("This is a simple prompt for testing."),)
        case "test_prompt_with_arguments":
            said = ", ".join(f"{key}='{arguments.get(key, '')}'" for key in ("arg1", "arg2"))
            return (text(f"Prompt with arguments: {said}"),)
        case "test_prompt_with_embedded_resource":
            uri, words = arguments.get("resourceUri", ""), "Embedded resource content for testing."
            resource: JsonObject = {"uri": uri, "mimeType": "text/plain", "text": words}
            embedded: JsonObject = {"type": "resource", "resource": resource}
            return (embedded, text("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return (IMAGE, text("Please analyze the image above."))
        case "test_input_required_result_prompt":
            said = json.dumps((await converse(ctx, (CONTEXT,)))["user_context"])
            return (text(f"The context is {said}."),)
        case _:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name!r}")
