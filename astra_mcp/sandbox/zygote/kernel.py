"""The Linux calls that the standard library does not offer, through the C library.

Each raises OSError where the kernel refuses. Nothing here decides anything.
"""

import ctypes
import os
import signal
import struct
from typing import NamedTuple

__all__ = ["Kernel", "Ruleset"]

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_THP_DISABLE = 41
_SECCOMP_MODE_FILTER = 2
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_VERSION = 1
_ADDR_NO_RANDOMIZE = 0x0040000
_QUERY_PERSONALITY = 0xFFFFFFFF

# How many kinds of file access each landlock version knows.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_NEWEST_FILE_RIGHTS = 16
_FIRST_WITH_NETWORK = 4
_FIRST_WITH_SCOPES = 6
_TCP_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class Ruleset(NamedTuple):
    """A landlock ruleset that handles every right it knows and grants none."""

    descriptor: int
    abi: int


class Kernel:
    """The C library of this process, found once, before the process is locked."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._prctl = libc.prctl
        self._syscall = libc.syscall
        self._syscall.restype = ctypes.c_long
        self._personality = libc.personality

    def disable_address_randomisation(self) -> bool:
        """Ask for equal addresses after the next exec; True where that changed something.

        Tool code can run native code in its own process anyway, so random addresses protect nothing
        there; without them, results that depend on an address are equal more often.
        """
        current = self._personality(ctypes.c_ulong(_QUERY_PERSONALITY))
        if current < 0 or current & _ADDR_NO_RANDOMIZE:
            return False
        return self._personality(ctypes.c_ulong(current | _ADDR_NO_RANDOMIZE)) >= 0

    def adopt_orphans(self) -> None:
        """Become the parent of descendants whose own parent ends."""
        self._control(_PR_SET_CHILD_SUBREAPER, 1)

    def die_with_parent(self) -> None:
        """Have the kernel kill this process when its parent ends. Cleared by a change of user."""
        self._control(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def call_host(self, number: int, argument: int) -> None:
        """Make a system call that a filter leaves to the host to answer."""
        self._call(number, argument)

    def hide_memory(self) -> None:
        """Forbid ptrace and ``/proc/PID/mem`` to other processes of the same user."""
        self._control(_PR_SET_DUMPABLE, 0)

    def forgo_huge_pages(self) -> None:
        """Have this process and its children get small pages alone: the kernel counts a huge one as one."""
        self._control(_PR_SET_THP_DISABLE, 1)

    def give_up_new_privileges(self) -> None:
        """Set no_new_privs: setuid files gain nothing, and filters may be installed."""
        self._control(_PR_SET_NO_NEW_PRIVS, 1)

    def install_filter(self, program: bytes) -> None:
        """Install a seccomp filter."""
        structure = _program(program)
        self._control(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(structure))

    def install_filter_with_listener(self, program: bytes, seccomp_number: int) -> int:
        """Install a seccomp filter; returns the descriptor on which its questions arrive."""
        structure = _program(program)
        return self._call(
            seccomp_number,
            _SECCOMP_SET_MODE_FILTER,
            _SECCOMP_FILTER_FLAG_NEW_LISTENER,
            ctypes.addressof(structure),
        )

    def create_ruleset(self) -> Ruleset | None:
        """Build a landlock ruleset that allows nothing; None where the kernel has no landlock."""
        try:
            abi = self._call(_LANDLOCK_CREATE_RULESET, 0, 0, _LANDLOCK_VERSION)
        except OSError:
            return None
        rights = (1 << _FILE_RIGHTS.get(abi, _NEWEST_FILE_RIGHTS)) - 1
        fields = [rights]
        if abi >= _FIRST_WITH_NETWORK:
            fields.append(_TCP_BIND_AND_CONNECT)
        if abi >= _FIRST_WITH_SCOPES:
            fields.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
        attributes = ctypes.create_string_buffer(struct.pack(f"{len(fields)}Q", *fields))
        size, pointer = 8 * len(fields), ctypes.addressof(attributes)
        return Ruleset(self._call(_LANDLOCK_CREATE_RULESET, pointer, size, 0), abi)

    def restrict(self, ruleset: Ruleset) -> None:
        """Enter a landlock domain of its own; inherited by children, nested at each call."""
        self._call(_LANDLOCK_RESTRICT_SELF, ruleset.descriptor, 0)

    def _control(self, option: int, *arguments: int) -> None:
        padded = [*arguments, 0, 0, 0, 0][:4]
        if self._prctl(option, *(ctypes.c_ulong(a) for a in padded)):
            raise _last_error()

    def _call(self, number: int, *arguments: int) -> int:
        result = self._syscall(ctypes.c_long(number), *(ctypes.c_ulong(a) for a in arguments))
        if result < 0:
            raise _last_error()
        return result


def _program(program: bytes) -> _Program:
    return _Program(len(program) // 8, program)  # keeps the bytes alive


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
