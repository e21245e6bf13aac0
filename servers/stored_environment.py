"""The server of one bundle among many: loaded when it is first used, and packed from then on.

Satisfies the gateway's ``Upstream`` structurally. One object is one version of a bundle: what was loaded
stays what it serves, whatever becomes of the folder. Knows the outline of a bundle, how to load it, and the
sandbox; knows neither folders nor which servers there are.
"""

import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import anyio
import anyio.to_thread
import orjson

from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import BundleError, UpstreamError
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.types import JsonObject, PastCall, ServerKind, ServerStatus, ToolSpec
from servers.environment import EnvironmentServer, EnvironmentSession
from servers.tools_only import ToolsOnly

__all__ = ["EnvironmentOutline", "OpenedEnvironments", "StoredEnvironment"]

MAX_OPENED = 256
"""Bundles that stay unpacked with the checks of their arguments, besides those that sessions hold; some
100 kB each."""


class EnvironmentOutline(Protocol):
    """What is known of a bundle that nobody has loaded."""

    @property
    def name(self) -> str:
        """The environment's."""
        ...

    @property
    def content_hash(self) -> str:
        """Of the document and the code."""
        ...

    @property
    def num_tools(self) -> int:
        """How many it has."""
        ...

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """In the order of the document."""
        ...


class _PackedBundle:
    """A loaded bundle as a fifth of its bytes."""

    def __init__(self, bundle: Bundle) -> None:
        content = [bundle.document.model_dump_json(by_alias=True), bundle.code, bundle.server]
        self._content = zlib.compress(orjson.dumps(content), 1)

    def unpack(self) -> Bundle:
        """Make an equal bundle."""
        document, code, server = orjson.loads(zlib.decompress(self._content))
        fields: JsonObject = {"document": orjson.loads(document), "code": code, "server": server}
        return Bundle.model_validate_json(orjson.dumps(fields))


class OpenedEnvironments:
    """The bundles in use, of any number of servers: what was used last stays unpacked."""

    def __init__(self, sandbox: Sandbox, *, max_opened: int = MAX_OPENED) -> None:
        """Open nothing yet.

        Args:
            sandbox: Runs all of their tools.
            max_opened: How many stay unpacked that no session holds.
        """
        self.sandbox = sandbox
        """Runs all of their tools."""
        self._opened = lru_cache(max_opened)(self._open)

    def open(self, packed: _PackedBundle) -> EnvironmentServer:
        """Unpack a bundle, unless it was used lately."""
        return self._opened(packed)

    def _open(self, packed: _PackedBundle) -> EnvironmentServer:
        return EnvironmentServer(packed.unpack(), self.sandbox)


class StoredEnvironment(ToolsOnly):
    """Publishes one bundle; makes sessions that share nothing."""

    kind = ServerKind.ENVIRONMENT

    def __init__(
        self,
        outline: EnvironmentOutline,
        load: Callable[[], Bundle],
        opened: OpenedEnvironments,
    ) -> None:
        """Load nothing yet.

        Args:
            outline: Of the bundle.
            load: Loads it completely; raises ``BundleError`` where it has faults.
            opened: Holds what is in use.
        """
        self.name = outline.name
        self.version = outline.content_hash
        self._outline = outline
        self._load = load
        self._opened = opened
        self._packed: _PackedBundle | None = None
        self._fault: str | None = None
        self._loading: anyio.Lock | None = None  # of thousands, few are ever prepared

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """In the order of the document; known before it is loaded."""
        return self._outline.tools

    @property
    def num_tools(self) -> int:
        """How many it has."""
        return self._outline.num_tools

    @property
    def warnings(self) -> tuple[str, ...]:
        """What weakens the sandbox on this machine."""
        return self._opened.sandbox.report.warnings

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """Ready, unless it was loaded and has faults."""
        if self._fault is not None:
            return ServerStatus.FAILED, self._fault
        return ServerStatus.READY, ""

    async def prepare(self) -> None:
        """Load the bundle where nobody has yet, beside the event loop.

        Raises:
            UpstreamError: It has faults, and names them all, or is not what was listed any more.
        """
        if self._packed is not None:
            return
        if self._loading is None:
            self._loading = anyio.Lock(fast_acquire=True)
        async with self._loading:
            if self._packed is None:
                await anyio.to_thread.run_sync(self._load_once)

    @property
    def bundle(self) -> Bundle:
        """The loaded bundle, loaded now where nobody has yet.

        Raises:
            UpstreamError: As for :meth:`prepare`.
        """
        return self._server().bundle

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> EnvironmentSession:
        """Make a session, which holds the bundle as it is now; see :class:`EnvironmentServer`.

        Raises:
            UpstreamError: Nobody has prepared it, and it cannot be loaded.
        """
        return self._server().open_session(key=key, seed=seed, past=past)

    def _server(self) -> EnvironmentServer:
        packed = self._packed
        return self._opened.open(self._load_once() if packed is None else packed)

    def _load_once(self) -> _PackedBundle:
        if self._fault is not None:
            raise UpstreamError(self._fault)
        try:
            bundle = self._load()
        except BundleError as error:
            faults = "".join(f"\n  {fault}" for fault in error.faults)
            self._fault = f"the bundle {self.name} does not load:{faults}"
            raise UpstreamError(self._fault) from error
        if bundle.content_hash != self.version:
            raise UpstreamError(
                f"the bundle {self.name} is another one than a moment ago: try again in a few seconds"
            )
        self._packed = packed = _PackedBundle(bundle)
        return packed
