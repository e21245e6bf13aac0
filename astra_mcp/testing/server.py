"""A server in this process, whose tools are plain functions.

Satisfies the gateway's ``Upstream`` and what ``servers.standalone`` serves, so it is reached through a
gateway or alone. Knows neither episodes nor the protocol.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import ArgsKwargs, to_jsonable_python

from astra_mcp.errors import AstraError, UpstreamError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.schemas import ArgumentCheck, compile_schema
from astra_mcp.types import (
    CallOutcome,
    JsonObject,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolResult,
    ToolSpec,
    UpstreamReply,
    tools_hash,
)
from gateway.api.seams import UpstreamSession

__all__ = ["Function", "InMemoryServer"]

Function = Callable[..., Any]
"""A tool: its name, its docstring and its signature are what agents see. It may be a coroutine function.

It returns a text, a JSON value, or a :class:`~astra_mcp.types.ToolResult` as it is. What it raises is an
error of the tool (``isError``), except for this project's errors: an ``UpstreamError`` fails the episode.
"""


@dataclass(frozen=True, slots=True)
class _Tool:
    """One function, and what it is called with."""

    function: TypeAdapter[Any]
    spec: ToolSpec
    check: ArgumentCheck

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        """Call the function with the types of its signature."""
        try:
            value = self.function.validate_python(ArgsKwargs((), dict(arguments)))
            if inspect.isawaitable(value):
                value = await value
        except AstraError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its answer
            return ToolResult.from_text(str(error) or type(error).__name__, is_error=True)
        if isinstance(value, ToolResult):
            return value
        try:
            return ToolResult.from_value(to_jsonable_python(value), structured=True)
        except ValueError as error:
            raise UpstreamError(f"{self.spec.name} returns no JSON value: {error}") from None


def _tool_of(function: Function) -> _Tool:
    adapter: TypeAdapter[Any] = TypeAdapter(cast("type[Any]", function))
    schema = {"type": "object", **adapter.json_schema()}
    described = inspect.getdoc(function) or ""
    spec = ToolSpec(name=function.__name__, description=described, input_schema=schema)
    return _Tool(adapter, spec, compile_schema(schema))


class InMemoryServer:
    """Publishes functions as tools, and remembers what reaches them."""

    def __init__(
        self,
        name: str,
        *functions: Function,
        make_functions: Callable[[int], Sequence[Function]] | None = None,
        kind: ServerKind = ServerKind.DEPLOYED,
    ) -> None:
        """Make the tools.

        Args:
            name: Unique in its catalog.
            functions: The same ones for all sessions.
            make_functions: In their place, makes the functions of one session from its seed; what they
                share is the session's state.
            kind: Decides what an episode does by default, such as to fail on purpose.
        """
        self.name = name
        self.kind = kind
        self.calls: list[tuple[str, JsonObject]] = []
        """Tools and arguments of all sessions, as they arrived; what was refused is not among them."""
        self._make_functions = make_functions
        self._functions = functions
        self.tools = tuple(tool.spec for tool in self.make_tools(0).values())
        self.version = tools_hash(self.tools)
        self.warnings: tuple[str, ...] = ()
        self.relays = False
        self.capabilities: Mapping[str, JsonValue] = {"tools": {}}
        self.instructions: str | None = None
        self.status = (ServerStatus.READY, "")

    async def prepare(self) -> None:
        """Everything is known."""

    def make_tools(self, seed: int) -> dict[str, _Tool]:
        """Make the tools of one session, by name."""
        functions = self._make_functions(seed) if self._make_functions else self._functions
        return {function.__name__: _tool_of(function) for function in functions}

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> UpstreamSession:
        """Make a session; the calls of an earlier life are repeated before its first one."""
        del key
        return _InMemorySession(self, seed, past)


class _InMemorySession:
    """One caller's own state of a server."""

    def __init__(self, server: InMemoryServer, seed: int, past: Sequence[PastCall]) -> None:
        self._server = server
        self._tools = server.make_tools(seed)
        self._past = [call for call in past if call.outcome is CallOutcome.APPLIED]

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool; arguments that its signature does not take are refused.

        Raises:
            AstraError: The function raised it.
        """
        del exchange
        while self._past:
            earlier = self._past.pop(0)
            await self._tools[earlier.tool].call(earlier.arguments)
        found = self._tools.get(tool)
        faults = (
            [f"there is no tool named {tool!r}"] if found is None else found.check.faults(arguments)
        )
        if found is None or faults:
            refusal = ToolResult.from_text("; ".join(faults), is_error=True)
            return _replied(refusal, CallOutcome.REJECTED)
        self._server.calls.append((tool, dict(arguments)))
        return _replied(await found.call(arguments), CallOutcome.APPLIED)

    async def aclose(self) -> None:
        """There is nothing to release."""


def _replied(result: ToolResult, outcome: CallOutcome) -> UpstreamReply:
    return UpstreamReply(result=result, origin=Origin.TOOL, outcome=outcome)
