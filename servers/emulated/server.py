"""The server of a service of which there are documents only; every answer is made up.

Satisfies the gateway's ``EmulatedUpstream`` structurally. Its documents are read when they are first needed,
and stay packed from then on. Knows documents and who makes up answers; knows neither where documents
come from nor episodes.
"""

import logging
from collections.abc import Mapping, Sequence

import anyio

from astra_mcp.errors import (
    BudgetSpentError,
    ModelError,
    NotAvailableError,
    PipelineError,
    RegistryError,
    UpstreamError,
)
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.schemas import ArgumentCheck
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from servers.emulated.document_cache import DocumentCache, PackedDocument
from servers.emulated.emulator import (
    DocumentSource,
    EmulatedAnswer,
    EmulatedDocument,
    EmulatedState,
    Emulator,
    Outline,
)
from servers.tools_only import ToolsOnly, error_reply, refuse_arguments, refuse_unknown

__all__ = ["EmulatedServer"]

_FAILURES = (BudgetSpentError, ModelError, PipelineError, RegistryError, UpstreamError)
"""What keeps an emulator, or the documents that it reads, from an answer."""
_log = logging.getLogger(__name__)


class EmulatedSession:
    """Calls come one at a time; a state exists from the first one on."""

    def __init__(
        self,
        server: "EmulatedServer",
        emulator: Emulator,
        *,
        key: str,
        seed: int,
        past: Sequence[PastCall],
        prompt: str | None,
    ) -> None:
        """Begin without a state; see :meth:`EmulatedServer.open_emulation`."""
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
            return refuse_unknown(tool, document.tools)
        faults = self._server.check(tool).faults(arguments)
        if faults:
            return refuse_arguments(tool, faults)
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


def _failed(cause: str) -> UpstreamReply:
    """Say that the server failed; why is not for an agent, who would learn that it is emulated."""
    return error_reply("The server could not answer.", Origin.UPSTREAM, cause=cause)


def _render(tool: ToolSpec, answer: EmulatedAnswer) -> ToolResult:
    """Render as a real server does; a value is structured as well where the tool declares its form."""
    if answer.is_error:
        return ToolResult.from_text(str(answer.value), is_error=True)
    return ToolResult.from_value(answer.value, structured=tool.output_schema is not None)


class EmulatedServer(ToolsOnly):
    """One version of a server; makes sessions that share nothing."""

    kind = ServerKind.EMULATOR

    def __init__(
        self,
        name: str,
        *,
        source: DocumentSource,
        emulators: Mapping[EmulatorKind, Emulator],
        emulator: EmulatorKind,
        cache: DocumentCache,
    ) -> None:
        """Read nothing yet.

        Args:
            name: Of a server that the source has.
            source: Has its documents.
            emulators: Who may answer.
            emulator: Who does unless another one is asked for; one of them.
            cache: Holds the documents that are in use.
        """
        self.name = name
        self.emulator = emulator
        """Who answers unless another one is asked for."""
        self._outline = source.outline(name)
        self._source = source
        self._emulators = emulators
        self._cache = cache
        self._packed: PackedDocument | None = None
        self._loading = anyio.Lock(fast_acquire=True)

    @property
    def version(self) -> str:
        """Content hash of its documents."""
        return self._outline.version

    @property
    def num_tools(self) -> int:
        """How many it has; known before its documents are read."""
        return self._outline.num_tools

    @property
    def domain(self) -> str | None:
        """What it is about, known as early; None where it has no label."""
        return self._outline.domain

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """In the order of the documents; empty before the first :meth:`prepare`."""
        return () if self._packed is None else self._cache.document(self._packed).tools

    async def prepare(self) -> None:
        """Read the documents where nobody has yet.

        Raises:
            UpstreamError: They cannot be read, or are not there any more.
        """
        if self._packed is not None:
            return
        async with self._loading:
            if self._packed is not None:
                return
            try:
                document = await self._source.load(self.name)
            except RegistryError as error:
                msg = f"the documents of {self.name} cannot be read: {error}"
                raise UpstreamError(msg) from error
            if document is None:
                raise UpstreamError(f"{self.name} is not published any more")
            # What was read counts for this version: nobody was shown another one under this object.
            self._packed = PackedDocument(document)
            self._outline = Outline(
                version=document.version, num_tools=len(document.tools), domain=document.domain
            )

    async def document(self) -> EmulatedDocument:
        """The documents, read where nobody has yet.

        Raises:
            UpstreamError: As for :meth:`prepare`.
        """
        await self.prepare()
        assert self._packed is not None  # noqa: S101 - it was prepared
        return self._cache.document(self._packed)

    def check(self, tool: str) -> ArgumentCheck:
        """The argument check of a tool that exists, of a server that is prepared."""
        assert self._packed is not None  # noqa: S101 - the caller has its documents
        return self._cache.check(self._packed, tool)

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> EmulatedSession:
        """Make a session of the server's own emulator; see :meth:`open_emulation`."""
        return self.open_emulation(emulator=self.emulator, key=key, seed=seed, past=past)

    def open_emulation(
        self,
        *,
        emulator: EmulatorKind,
        key: str,
        seed: int,
        past: Sequence[PastCall] = (),
        prompt: str | None = None,
    ) -> EmulatedSession:
        """Make a session of a chosen emulator.

        Args:
            emulator: Who answers.
            key: Names the session in the log.
            seed: Decides everything that is made up.
            past: Calls of an earlier life, of which the applied ones are taken over before the first new one.
            prompt: What the user asked for, which an emulator may take a hint from.

        Raises:
            NotAvailableError: This emulator is not configured.
        """
        chosen = self._emulators.get(emulator)
        if chosen is None:
            raise NotAvailableError(
                f"the emulator {emulator.value!r} is not in use here: set emulators.kind or "
                "emulators.distractors in astra.toml"
            )
        return EmulatedSession(self, chosen, key=key, seed=seed, past=past, prompt=prompt)
