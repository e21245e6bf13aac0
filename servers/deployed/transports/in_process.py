"""A low-level server of the MCP SDK that runs in this process, over streams in memory.

Knows the SDK's session messages; the server itself decides by the first request which era it speaks.
"""

import logging
from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from astra_mcp.errors import UpstreamError
from astra_mcp.types import JsonObject

__all__ = ["MemoryWire", "ServerFactory"]

ServerFactory = Callable[[], Server[Any]]
"""Makes the server of one session; may answer the same object every time."""
CLOSE_SECONDS = 2.0
"""How long a server may take to end after its input ended; then it is cancelled."""

_log = logging.getLogger(__name__)


class MemoryWire:
    """Runs one server for one session."""

    def __init__(self, server: Server[Any], *, name: str) -> None:
        self._server = server
        self._name = name
        stream = anyio.create_memory_object_stream[SessionMessage | Exception]
        self._to_server, self._server_reads = stream(16)
        self._server_writes, self._from_server = stream(16)
        self._running = anyio.CancelScope()
        self._ended = anyio.Event()
        self._fault = "ended its session"
        self.nonsense = ""
        self._is_started = False

    def start(self, tasks: TaskGroup) -> None:
        """Run the server in a task of the group."""
        self._is_started = True
        tasks.start_soon(self._run)

    async def send(self, message: JsonObject) -> None:
        """Hand a message to the server."""
        try:
            parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
            await self._to_server.send(SessionMessage(parsed))
        except ValidationError as error:
            raise UpstreamError(f"cannot be sent this message: {error}") from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise UpstreamError(await self.describe_end()) from None

    async def receive(self) -> JsonObject | None:
        """Wait for a message of the server."""
        try:
            item = await self._from_server.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return None
        if isinstance(item, Exception):
            raise UpstreamError(f"failed: {item}")
        return item.message.model_dump(mode="json", by_alias=True, exclude_unset=True)

    async def describe_end(self) -> str:
        """Say what the server raised, if it did."""
        with anyio.move_on_after(CLOSE_SECONDS):
            await self._ended.wait()
        return self._fault

    async def aclose(self) -> None:
        """End the server's input, and the server should it not end by itself."""
        with anyio.CancelScope(shield=True):
            self._to_server.close()
            if self._is_started:
                with anyio.move_on_after(CLOSE_SECONDS):
                    await self._ended.wait()
                self._running.cancel()
                await self._ended.wait()
            for stream in (self._server_reads, self._server_writes, self._from_server):
                stream.close()

    async def _run(self) -> None:
        try:
            with self._running:
                options = self._server.create_initialization_options()
                await self._server.run(self._server_reads, self._server_writes, options)
        except Exception as error:  # noqa: BLE001 - its failure is one of its sessions, not of the gateway
            _log.exception("server %s failed", self._name)
            self._fault = f"failed: {type(error).__name__}: {error}"
        finally:
            self._server_writes.close()
            self._ended.set()
