"""Runs ``astra-mcp`` in this process, as one user among others, with tools whose imports nobody guards.

    python attacked_serve.py '{"uid": null, "python": ..., "launcher": ...}' python -P -m astra_mcp serve ...

Run by ``test_two_gateways.py``. With a ``uid`` it becomes that ordinary user. The checkout may be closed to
it, so it keeps the right to read, which what it starts does not inherit; tools run by an open interpreter.
"""

import ctypes
import json
import os
import runpy
import struct
import sys

from astra_mcp.sandbox.runtime import Runtime

_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 4, 8
_CAPABILITY_VERSION = 0x20080522
_READ_AND_SEARCH = 1 << 2
"""CAP_DAC_READ_SEARCH."""


def become(uid: int) -> None:
    """Be an ordinary user from now on, who may read and search everything as long as it executes nothing."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    rights = struct.pack("6I", _READ_AND_SEARCH, _READ_AND_SEARCH, 0, 0, 0, 0)
    if libc.capset(struct.pack("Ii", _CAPABILITY_VERSION, 0), rights):
        raise OSError(ctypes.get_errno(), "capset")
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as a program that the user has started


def main(options: str, *command: str) -> None:
    """Become the user, and run the command."""
    chosen = json.loads(options)
    runtime = Runtime(python=chosen["python"], launcher=chosen["launcher"], import_guard=False)
    Runtime.default = lambda: runtime
    if chosen["uid"] is not None:
        become(chosen["uid"])
    sys.argv = [command[0], *command[command.index("astra_mcp") + 1 :]]
    runpy.run_module("astra_mcp", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
