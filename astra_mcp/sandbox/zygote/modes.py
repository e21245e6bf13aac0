"""What a launched process can be: a plain session, the fork server, or a test of this machine."""

import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from astra_mcp.sandbox.zygote.imports import preload
from astra_mcp.sandbox.zygote.insides import hide_classes, hide_runtime
from astra_mcp.sandbox.zygote.loop import ToolProcess
from astra_mcp.sandbox.zygote.settings import Settings

__all__ = ["MODES"]


_NICENESS = 1
"""Of tools against the host, which answers all of them. More starves them on a machine that others use."""
_FIRST_TO_DIE = "1000"


def _give_way() -> None:
    """Let the host's step come to its end before a call that it sends is begun, where the system can.

    Linux otherwise runs whoever is woken at once: the host would stop amid its work at every call. Where the
    machine has too little of processor or memory, tools go without before the host and other programs do.
    """
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        with contextlib.suppress(
            OSError
        ):  # else, where /proc cannot be written, the largest dies first
            Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_DIE, encoding="ascii")
    os.nice(_NICENESS)


def _prepare_library(settings: Settings) -> None:
    preload(unguarded=not settings.import_guard)
    if settings.import_guard:
        hide_runtime()
        hide_classes()


def _run_plain(descriptor: int, settings: Settings) -> None:
    _give_way()
    _prepare_library(settings)
    ToolProcess(socket.socket(fileno=descriptor), settings).greet().run()


def _run_zygote(descriptor: int, settings: Settings) -> None:
    from astra_mcp.sandbox.zygote.lockdown import LayerMissingError, Lockdown  # noqa: PLC0415
    from astra_mcp.sandbox.zygote.server import ForkServer  # noqa: PLC0415

    _give_way()
    _prepare_library(settings)
    control = socket.socket(fileno=os.dup(descriptor))  # the host's number may be any
    os.close(descriptor)
    try:
        lockdown = Lockdown()
        server = ForkServer(control, settings, lockdown)
        locked = lockdown.enter_server()
    except LayerMissingError as error:
        control.send(json.dumps({"missing": error.layer, "reason": str(error)}).encode())
        return
    control.send(json.dumps(locked).encode())
    server.run()


def _run_examination(descriptor: int, settings: Settings) -> None:
    """Try each layer on this very process, and write which of them held."""
    from astra_mcp.sandbox.zygote.examination import examine  # noqa: PLC0415

    os.write(descriptor, json.dumps(examine(settings)).encode())


MODES: dict[str, Callable[[int, Settings], None]] = {
    "plain": _run_plain,
    "zygote": _run_zygote,
    "examine": _run_examination,
}
