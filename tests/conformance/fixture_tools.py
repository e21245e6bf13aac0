"""The tools of the conformance fixture.

Each behaves in both eras of MCP: one that asks its client does so by a request in the handshake era, and
by an asked result in the modern one.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext

from astra_mcp.types import JsonObject

from fixture_content import (
    ENUM_FORM,
    FORM_WITH_DEFAULTS,
    IMAGE,
    NO_ARGUMENTS,
    RICH_SCHEMA,
    SOUND,
    form,
    schema,
    text,
)
from fixture_conversation import Question, converse, declared, is_modern

STEP_SECONDS = 0.05
"""Between two signs of life of a tool that takes its time."""
LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"

Context = ServerRequestContext[Any, Any]
Arguments = Mapping[str, Any]
Run = Callable[[Context, Arguments], Awaitable[JsonObject]]


@dataclass(frozen=True, slots=True)
class FixtureTool:
    """A tool's document and what it does."""

    name: str
    description: str
    run: Run
    input_schema: JsonObject = field(default_factory=lambda: NO_ARGUMENTS)

    def listed(self, revision: int) -> JsonObject:
        """Render it for a list; a changed list shows a new revision."""
        note = f" (revision {revision})" if self.name == "test_trigger_tool_change" else ""
        return {
            "name": self.name,
            "description": self.description + note,
            "inputSchema": self.input_schema,
        }


def _says(*content: JsonObject, is_error: bool = False) -> Run:
    async def run(ctx: Context, arguments: Arguments) -> JsonObject:
        return {"content": list(content), "isError": is_error}

    return run


def _resource(uri: str, mime: str, words: str) -> JsonObject:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


async def _log(ctx: Context, words: str) -> None:
    if is_modern(ctx) and LOG_LEVEL_KEY not in (ctx.meta or {}):
        return
    params = types.LoggingMessageNotificationParams(level="info", data=words)
    message = types.LoggingMessageNotification(params=params)
    await ctx.session.send_notification(message, ctx.request_id)


async def _logging(ctx: Context, arguments: Arguments) -> JsonObject:
    for pause, words in ((0, "started"), (STEP_SECONDS, "processing"), (STEP_SECONDS, "completed")):
        await anyio.sleep(pause)
        await _log(ctx, f"Tool execution {words}")
    return {"content": [text("Three messages were logged.")]}


async def _progress(ctx: Context, arguments: Arguments) -> JsonObject:
    for pause, done in ((0, 0), (STEP_SECONDS, 50), (STEP_SECONDS, 100)):
        await anyio.sleep(pause)
        await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
    return {"content": [text("Progress was reported three times.")]}


async def _reconnection(ctx: Context, arguments: Arguments) -> JsonObject:
    await _log(ctx, "Before the stream is closed")
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
        await anyio.sleep(4 * STEP_SECONDS)
    return {"content": [text("The client came back.")]}


async def _echo(ctx: Context, arguments: Arguments) -> JsonObject:
    return {"content": [text(json.dumps(dict(arguments)))]}


async def _greet(ctx: Context, arguments: Arguments) -> JsonObject:
    return {"content": [text(f"Hello, {arguments['name']}!")]}


async def _compute(ctx: Context, arguments: Arguments) -> JsonObject:
    await anyio.sleep(min(float(arguments["seconds"]), STEP_SECONDS))
    return {"content": [text(f"{arguments.get('label', 'It')} is computed.")]}


def _elicit(key: str, params: JsonObject) -> Question:
    return Question(key=key, method="elicitation/create", params=params)


def _sample(key: str, words: str, tokens: int = 100) -> Question:
    message: JsonObject = {"role": "user", "content": text(words)}
    params: JsonObject = {"messages": [message], "maxTokens": tokens}
    return Question(key=key, method="sampling/createMessage", params=params)


ROOTS = Question(key="client_roots", method="roots/list", params={})
NAME = _elicit("user_name", form("What is your name?", name={"type": "string"}))
CONFIRM = _elicit("confirm", form("Please confirm", ok={"type": "boolean"}))
CAPITAL = _sample("capital_question", "What is the capital of France?")


def _asks(
    *rounds: tuple[Question, ...], answer: str = "The client said: ", keeps_state: bool = False
) -> Run:
    async def run(ctx: Context, arguments: Arguments) -> JsonObject:
        said = await converse(ctx, *rounds, keeps_state=keeps_state)
        return {"content": [text(answer + json.dumps(said, sort_keys=True))]}

    return run


async def _sampling(ctx: Context, arguments: Arguments) -> JsonObject:
    said = await converse(ctx, (_sample("completion", str(arguments["prompt"])),))
    return {"content": [text(f"LLM response: {json.dumps(said['completion'].get('content'))}")]}


async def _elicitation(ctx: Context, arguments: Arguments) -> JsonObject:
    username: JsonObject = {"type": "string", "description": "User's response"}
    email: JsonObject = {"type": "string", "description": "User's email address"}
    asked = form(str(arguments["message"]), username=username, email=email)
    said = await converse(ctx, (_elicit("user", asked),))
    return {"content": [text(f"User response: {json.dumps(said['user'])}")]}


async def _asks_what_is_possible(ctx: Context, arguments: Arguments) -> JsonObject:
    possible = tuple(q for q in (NAME, CAPITAL, ROOTS) if q.capability in declared(ctx))
    said = await converse(ctx, possible)
    return {"content": [text(json.dumps(said, sort_keys=True))]}


def _plain_tools() -> list[FixtureTool]:
    tool = FixtureTool
    mixed = (
        text("Multiple content types test:"),
        IMAGE,
        _resource(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    )
    embedded = _resource(
        "test://embedded-resource", "text/plain", "This is an embedded resource content."
    )
    failed = text("This tool intentionally returns an error for testing")
    header = schema(region={"type": "string", "x-mcp-header": "Region"})
    return [
        tool(
            "test_simple_text",
            "Says one sentence",
            _says(text("This is a simple text response for testing.")),
        ),
        tool("test_image_content", "Shows a picture", _says(IMAGE)),
        tool("test_audio_content", "Plays a sound", _says(SOUND)),
        tool("test_embedded_resource", "Hands out a resource", _says(embedded)),
        tool("test_multiple_content_types", "Answers in three ways", _says(*mixed)),
        tool("test_error_handling", "Always fails", _says(failed, is_error=True)),
        tool("test_tool_with_logging", "Logs three messages", _logging),
        tool("test_logging_tool", "Logs where the client wants it", _logging),
        tool("test_tool_with_progress", "Reports its progress", _progress),
        tool("test_reconnection", "Closes the stream and goes on", _reconnection),
        tool("json_schema_2020_12_tool", "Has a rich schema", _echo, RICH_SCHEMA),
        tool("greet", "Greets someone", _greet, schema(name={"type": "string"})),
        tool("slow_compute", "Computes for a moment", _compute, schema(seconds={"type": "number"})),
        tool("test_header_parameter", "Has a parameter that is also a header", _echo, header),
    ]


def _asking_tools() -> list[FixtureTool]:
    tool = FixtureTool
    steps = (
        (_elicit("step1", form("Step 1: What is your name?", name={"type": "string"})),),
        (_elicit("step2", form("Step 2: What is your favorite color?", color={"type": "string"})),),
    )
    several = (NAME, _sample("greeting", "Generate a greeting", 50), ROOTS)
    one = "test_input_required_result_"
    return [
        tool(
            "test_sampling", "Asks the client's model", _sampling, schema(prompt={"type": "string"})
        ),
        tool("test_elicitation", "Asks the user", _elicitation, schema(message={"type": "string"})),
        tool(
            "test_elicitation_sep1034_defaults",
            "Asks with defaults",
            _asks((_elicit("form", FORM_WITH_DEFAULTS),), answer="Elicitation completed: "),
        ),
        tool(
            "test_elicitation_sep1330_enums",
            "Asks with choices",
            _asks((_elicit("form", ENUM_FORM),), answer="Elicitation completed: "),
        ),
        tool("test_missing_capability", "Needs the client's model", _asks((CAPITAL,))),
        tool("test_streaming_elicitation", "Asks the user on its way", _asks((NAME,))),
        tool(one + "elicitation", "Asks for a name", _asks((NAME,), answer="Hello! ")),
        tool(one + "sampling", "Asks for a capital", _asks((CAPITAL,))),
        tool(one + "list_roots", "Asks for the roots", _asks((ROOTS,))),
        tool(
            one + "request_state",
            "Keeps a state",
            _asks((CONFIRM,), answer="state-ok ", keeps_state=True),
        ),
        tool(one + "multiple_inputs", "Asks three things", _asks(several, keeps_state=True)),
        tool(one + "multi_round", "Asks twice", _asks(*steps, keeps_state=True)),
        tool(one + "tampered_state", "Keeps a sealed state", _asks((CONFIRM,), keeps_state=True)),
        tool(one + "capabilities", "Asks what is possible", _asks_what_is_possible),
    ]


TOOLS: tuple[FixtureTool, ...] = (*_plain_tools(), *_asking_tools())
"""All but those that change the server's lists, which belong to the server."""
