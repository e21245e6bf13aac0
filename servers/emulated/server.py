"""The server of a service of which there are documents only; every answer is made up.

Satisfies the gateway's ``EmulatedUpstream`` structurally. Its documents are read when they are first needed,
and stay packed from then on. Knows documents and who makes up answers; knows neither where documents
come from nor episodes.
"""

from collections.abc import Mapping, Sequence

import anyio

from astra_mcp.errors import NotAvailableError, RegistryError, UpstreamError
from astra_mcp.schemas import ArgumentCheck
from astra_mcp.types import (
    EmulatorKind,
    JsonValue,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolSpec,
)
from servers.emulated.document import DocumentSource, EmulatedDocument, Outline
from servers.emulated.emulator import Emulator
from servers.emulated.session import EmulatedSession
from servers.emulated.shelf import PackedDocument, Shelf

__all__ = ["EmulatedServer"]


class EmulatedServer:
    """One version of a server; makes sessions that share nothing."""

    def __init__(
        self,
        name: str,
        *,
        source: DocumentSource,
        emulators: Mapping[EmulatorKind, Emulator],
        emulator: EmulatorKind,
        shelf: Shelf,
    ) -> None:
        """Read nothing yet.

        Args:
            name: Of a server that the source has.
            source: Has its documents.
            emulators: Who may answer.
            emulator: Who does unless another one is asked for; one of them.
            shelf: Holds the documents that are in use.
        """
        self._name = name
        self._outline = source.outline(name)
        self._source = source
        self._emulators = emulators
        self._emulator = emulator
        self._shelf = shelf
        self._packed: PackedDocument | None = None
        self._loading = anyio.Lock(fast_acquire=True)

    @property
    def name(self) -> str:
        """As in its documents' source."""
        return self._name

    @property
    def kind(self) -> ServerKind:
        """Always an emulator."""
        return ServerKind.EMULATOR

    @property
    def emulator(self) -> EmulatorKind:
        """Who answers unless another one is asked for."""
        return self._emulator

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
        return () if self._packed is None else self._shelf.document(self._packed).tools

    @property
    def marks(self) -> tuple[str, ...]:
        """None: who made an answer up is recorded with it."""
        return ()

    @property
    def relays(self) -> bool:
        """Tools are all there is."""
        return False

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """Tools."""
        return {"tools": {}}

    @property
    def instructions(self) -> str | None:
        """None: its documents describe each tool."""
        return None

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """Always ready: its documents are there."""
        return ServerStatus.READY, ""

    async def prepare(self) -> None:
        """Read the documents where nobody has yet.

        Raises:
            UpstreamError: They cannot be read, or are not there any more.
        """
        if self._packed is not None:
            return
        async with self._loading:
            if self._packed is None:
                self._keep(await self._load())

    async def _load(self) -> EmulatedDocument:
        try:
            document = await self._source.load(self._name)
        except RegistryError as error:
            raise UpstreamError(f"the documents of {self._name} cannot be read: {error}") from error
        if document is None:
            raise UpstreamError(f"{self._name} is not published any more")
        return document

    def _keep(self, document: EmulatedDocument) -> None:
        """Take what was read for this version: nobody was shown another one under this object."""
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
        return self._shelf.document(self._packed)

    def check(self, tool: str) -> ArgumentCheck:
        """The argument check of a tool that exists, of a server that is prepared."""
        assert self._packed is not None  # noqa: S101 - the caller has its documents
        return self._shelf.check(self._packed, tool)

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> EmulatedSession:
        """Make a session of the server's own emulator.

        Args:
            key: Names the session in the log.
            seed: Decides everything that is made up.
            past: Calls of an earlier life, taken over before the first new one.
        """
        return self.open_emulation(emulator=self._emulator, key=key, seed=seed, past=past)

    def open_emulation(
        self,
        *,
        emulator: EmulatorKind,
        key: str,
        seed: int,
        past: Sequence[PastCall] = (),
        prompt: str | None = None,
    ) -> EmulatedSession:
        """Make a session like :meth:`open_session`, of a chosen emulator.

        Args:
            emulator: Who answers.
            key: As there.
            seed: As there.
            past: As there.
            prompt: What the user asked for, which an emulator may take a hint from.

        Raises:
            NotAvailableError: This emulator is not configured.
        """
        chosen = self._emulators.get(emulator)
        if chosen is None:
            msg = (
                f"the emulator {emulator.value!r} is not in use here: set emulators.kind or "
                "emulators.distractors in astra.toml"
            )
            raise NotAvailableError(msg)
        return EmulatedSession(self, chosen, key=key, seed=seed, past=past, prompt=prompt)
