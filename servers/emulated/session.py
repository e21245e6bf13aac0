"""One caller's own state of an emulated server: arguments are checked, then somebody makes up an answer.

Knows a server's documents and who answers; knows neither episodes nor models.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Protocol

import anyio

from astra_mcp.environments.results import render_refusal
from astra_mcp.errors import (
    BudgetSpentError,
    ModelError,
    PipelineError,
    RegistryError,
    UpstreamError,
)
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.schemas import ArgumentCheck
from astra_mcp.types import (
    CallOutcome,
    JsonValue,
    Origin,
    PastCall,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from servers.emulated.document import EmulatedDocument
from servers.emulated.emulator import EmulatedAnswer, EmulatedState, Emulator

__all__ = ["Documented", "EmulatedSession"]

_UNAVAILABLE = "The server could not answer."
_FAILURES = (BudgetSpentError, ModelError, PipelineError, RegistryError, UpstreamError)
"""What keeps an emulator, or the documents that it reads, from an answer."""
_log = logging.getLogger(__name__)


class Documented(Protocol):
    """The server of a session; satisfied by :class:`servers.emulated.server.EmulatedServer`."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    async def document(self) -> EmulatedDocument:
        """All that is known of it.

        Raises:
            UpstreamError: It cannot be read.
        """
        ...

    def check(self, tool: str) -> ArgumentCheck:
        """The argument check of a tool of the document."""
        ...


class EmulatedSession:
    """Calls come one at a time; a state exists from the first one on."""

    def __init__(
        self,
        server: Documented,
        emulator: Emulator,
        *,
        key: str,
        seed: int,
        past: Sequence[PastCall] = (),
        prompt: str | None = None,
    ) -> None:
        """Begin without a state.

        Args:
            server: Whose tools are called.
            emulator: Who answers.
            key: Names the session in the log.
            seed: Decides everything that is made up.
            past: Calls of an earlier life, of which the applied ones are taken over.
            prompt: What the user asked for.
        """
        self._server = server
        self._emulator = emulator
        self._key = key
        self._seed = seed
        self._past = [call for call in past if call.outcome is CallOutcome.APPLIED]
        self._prompt = prompt
        self._document: EmulatedDocument | None = None
        self._state: EmulatedState | None = None
        self._turn = anyio.Lock(fast_acquire=True)
        self._is_closed = False

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Call a tool; bad arguments, refusals of the tool and failures of the emulator are replies.

        Args:
            tool: Its own name.
            arguments: Checked here.
            exchange: Not used: nobody is there who could speak.
        """
        del exchange
        try:
            return await self._call(tool, arguments)
        except _FAILURES as error:
            _log.warning("session %.8s of %s: %s", self._key, self._server.name, error)
            return _failed(f"the emulator of {self._server.name} failed: {error}")

    async def _call(self, tool: str, arguments: Mapping[str, JsonValue]) -> UpstreamReply:
        document = self._document = self._document or await self._server.document()
        spec = next((t for t in document.tools if t.name == tool), None)
        if spec is None:
            names = ", ".join(t.name for t in document.tools)
            text = f"There is no tool named {tool!r}. Available tools: {names}."
            return _rejected(ToolResult.from_text(text, is_error=True))
        faults = self._server.check(tool).faults(arguments)
        if faults:
            return _rejected(render_refusal(tool, faults))
        async with self._turn:
            if self._is_closed:
                return _failed("the session is closed")
            state = self._state or await self._begin(document)
            answer = await state.answer(spec, arguments)
        result = _render(spec, answer)
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def aclose(self) -> None:
        """Take no further call, and let go of the state; closing twice is allowed."""
        self._is_closed = True
        self._state = None

    async def _begin(self, document: EmulatedDocument) -> EmulatedState:
        """Open the state, with what the earlier life left in it."""
        state = self._emulator.open_state(document, seed=self._seed, prompt=self._prompt)
        if self._past:
            await state.restore(self._past)
        self._state, self._past = state, []
        return state


def _rejected(result: ToolResult) -> UpstreamReply:
    return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.REJECTED)


def _failed(cause: str) -> UpstreamReply:
    """Say that the server failed; why is not for an agent, who would learn that it is emulated."""
    return UpstreamReply(
        result=ToolResult.from_text(_UNAVAILABLE, is_error=True),
        origin=Origin.UPSTREAM,
        outcome=CallOutcome.REJECTED,
        cause=cause,
    )


def _render(tool: ToolSpec, answer: EmulatedAnswer) -> ToolResult:
    """Render as a real server does; a value is structured as well where the tool declares its form."""
    if answer.is_error:
        return ToolResult.from_text(str(answer.value), is_error=True)
    return ToolResult.from_value(answer.value, structured=tool.output_schema is not None)
