"""Run a command on a machine that seems to have no seccomp: a filter forbids it to install filters.

Usage: ``python without_seccomp.py COMMAND [ARGUMENT ...]``; Linux on x86_64 and aarch64.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

_SECCOMP, _PRCTL = {"x86_64": (317, 157), "aarch64": (277, 167)}[platform.machine()]
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 16


def _program() -> bytes:
    lines = [
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_EQUAL, 4, 0, _SECCOMP),
        (_JUMP_EQUAL, 0, 2, _PRCTL),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_JUMP_EQUAL, 1, 0, _PR_SET_SECCOMP),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | errno.EINVAL),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def main() -> None:
    """Install the filter and become the command."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = ctypes.create_string_buffer(_program())
    header = struct.pack("HxxxxxxP", len(_program()) // 8, ctypes.addressof(program))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _FILTER_MODE, ctypes.create_string_buffer(header), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the filter cannot be installed")
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606


main()
