"""What a launched process can be."""

import socket
from collections.abc import Callable

from astra_mcp.sandbox.zygote.imports import preload
from astra_mcp.sandbox.zygote.loop import ToolProcess
from astra_mcp.sandbox.zygote.settings import Settings

__all__ = ["MODES"]


def _run_plain(descriptor: int, settings: str) -> None:
    preload()
    ToolProcess(socket.socket(fileno=descriptor), Settings.decode(settings)).run()


MODES: dict[str, Callable[[int, str], None]] = {"plain": _run_plain}
