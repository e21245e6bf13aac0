"""Seccomp filters as classic BPF: an allow-list with the few calls that depend on their arguments.

Pure: builds bytes for any architecture on any machine. Everything that is not named is denied.
"""

import errno
import signal
import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from astra_mcp.sandbox.zygote.syscalls import (
    FILE_CALLS,
    SERVER_CALLS,
    TOOL_CALLS,
    Architecture,
)

__all__ = ["FORK_FLAGS", "Action", "denied_with", "gate_filter", "server_filter", "tool_filter"]

FORK_FLAGS = 0x01200011
"""Exactly what the C library's fork passes: CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD."""

_PROT_EXEC = 4
_NOT_PRIVATE = 0x1 | 0x8 | 0x40000
"""MAP_SHARED and MAP_SHARED_VALIDATE, MAP_DROPPABLE, and MAP_HUGETLB, whose pages come from a pool of all."""
_MADV_DONTNEED, _MADV_FREE = 4, 8
_FUTEX_PRIVATE_FLAG = 128
_PR_SET_PDEATHSIG = 1
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_LOAD, _RETURN = 0x20, 0x06


class Action(IntEnum):
    """What the kernel does with a call (SECCOMP_RET_*)."""

    KILL_PROCESS = 0x80000000
    ASK_HOST = 0x7FC00000
    ALLOW = 0x7FFF0000


class _Jump(IntEnum):
    EQUAL = 0x15
    AT_LEAST = 0x35
    ANY_BIT = 0x45


class _Instruction(NamedTuple):
    code: int
    if_true: int
    if_false: int
    value: int


class _Test(NamedTuple):
    """A comparison with the low word of an argument; the kernel reads no more of those used here."""

    argument: int
    jump: _Jump
    value: int


_PLAIN_FORK = (_Test(0, _Jump.EQUAL, FORK_FLAGS),)


def denied_with(number: int) -> int:
    """Action that makes the call fail with this errno."""
    return 0x00050000 | number


def server_filter(architecture: Architecture) -> bytes:
    """Filter of the fork server: it may fork, but not start threads or enter namespaces."""
    return _assemble(_rules(architecture, SERVER_CALLS))


def gate_filter(architecture: Architecture) -> bytes:
    """Filter that asks the host about a fork, and for the channel of what came of it.

    It denies nothing: another filter of the same process does, and what that denies is not asked about.
    """
    numbers = architecture.numbers
    return _assemble(
        (
            _Instruction(_LOAD, 0, 0, _NUMBER_OFFSET),
            *_when(numbers["clone"], _PLAIN_FORK, Action.ASK_HOST, Action.ALLOW),
            # The kernel never does it: the host answers. Profiles of containers allow this call.
            *_when(numbers["dup"], (), Action.ASK_HOST),
            _Instruction(_RETURN, 0, 0, Action.ALLOW),
        )
    )


def tool_filter(architecture: Architecture) -> bytes:
    """Filter of tool code, of a template and of its sessions.

    No descriptor is sent, received or made, no memory is shared, and no futex reaches beyond the process:
    what is left to a session is its own memory and the channel that the host put in its place.
    """
    numbers = architecture.numbers
    denied = denied_with(errno.EPERM)
    # A template ignores SIGCHLD, so that the kernel reaps its sessions; that must stay so.
    child_signal = (_Test(0, _Jump.EQUAL, signal.SIGCHLD),)
    not_private = (_Test(3, _Jump.ANY_BIT, _NOT_PRIVATE),)
    no_flags = (_Test(3, _Jump.EQUAL, 0),)  # out-of-band bytes among them
    # By an address in the pages of a library, which all processes map, others could be woken.
    private_futex = (_Test(1, _Jump.ANY_BIT, _FUTEX_PRIVATE_FLAG),)
    death_signal = (
        _Test(0, _Jump.EQUAL, _PR_SET_PDEATHSIG),
        _Test(1, _Jump.EQUAL, signal.SIGKILL),
    )
    extra = (
        *_when(numbers["dup"], (), Action.ALLOW),
        *_when(numbers["prctl"], death_signal, Action.ALLOW, denied),
        *_when(numbers["rt_sigaction"], child_signal, denied, Action.ALLOW),
        *_when(numbers["sendto"], no_flags, Action.ALLOW, denied),
        *_when(numbers["recvfrom"], no_flags, Action.ALLOW, denied),
        *_when(numbers["futex"], private_futex, Action.ALLOW, denied),
        *_when(numbers["mmap"], not_private, denied),
        # Merging equal pages of processes tells one of the other; the rest only costs the kernel's time.
        *_when(numbers["madvise"], (_Test(2, _Jump.EQUAL, _MADV_DONTNEED),), Action.ALLOW),
        *_when(numbers["madvise"], (_Test(2, _Jump.EQUAL, _MADV_FREE),), Action.ALLOW),
        *_when(numbers["madvise"], (), denied_with(errno.EINVAL)),
    )
    return _assemble(_rules(architecture, TOOL_CALLS, extra=extra))


def _rules(
    architecture: Architecture,
    allowed: Iterable[str],
    *,
    extra: Sequence[_Instruction] = (),
) -> Iterator[_Instruction]:
    numbers = architecture.numbers
    yield _Instruction(_LOAD, 0, 0, _ARCH_OFFSET)
    yield _Instruction(_Jump.EQUAL, 1, 0, architecture.audit)
    yield _Instruction(_RETURN, 0, 0, Action.KILL_PROCESS)
    yield _Instruction(_LOAD, 0, 0, _NUMBER_OFFSET)
    if architecture.highest is not None:
        yield _Instruction(_Jump.AT_LEAST, 0, 1, architecture.highest)
        yield _Instruction(_RETURN, 0, 0, Action.KILL_PROCESS)
    yield from extra
    executable = (_Test(2, _Jump.ANY_BIT, _PROT_EXEC),)
    for name in ("mmap", "mprotect"):
        yield from _when(numbers[name], executable, denied_with(errno.EACCES), Action.ALLOW)
    # Its arguments lie in memory, out of a filter's sight; the C library falls back to clone.
    yield from _when(numbers["clone3"], (), denied_with(errno.ENOSYS))
    yield from _when(numbers["clone"], _PLAIN_FORK, Action.ALLOW, denied_with(errno.EPERM))
    for number in _present(numbers, allowed):
        yield from _when(number, (), Action.ALLOW)
    for number in _present(numbers, FILE_CALLS):
        yield from _when(number, (), denied_with(errno.EACCES))
    yield _Instruction(_RETURN, 0, 0, denied_with(errno.EPERM))


def _present(numbers: dict[str, int], names: Iterable[str]) -> list[int]:
    return sorted(numbers[name] for name in names if name in numbers)


def _when(
    number: int, tests: Sequence[_Test], then: int, otherwise: int | None = None
) -> Iterator[_Instruction]:
    """Decide about one call: ``then`` where all tests hold, else ``otherwise``.

    Other calls fall through, and so does this one where there is no ``otherwise``.
    """
    length = 2 * len(tests) + (2 if tests or otherwise is not None else 1)
    yield _Instruction(_Jump.EQUAL, 0, length, number)
    for index, test in enumerate(tests):
        to_otherwise = 2 * (len(tests) - 1 - index) + 1
        yield _Instruction(_LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * test.argument)
        yield _Instruction(test.jump, 0, to_otherwise, test.value)
    yield _Instruction(_RETURN, 0, 0, then)
    if otherwise is not None:
        yield _Instruction(_RETURN, 0, 0, otherwise)
    elif tests:  # they have replaced it
        yield _Instruction(_LOAD, 0, 0, _NUMBER_OFFSET)


def _assemble(instructions: Iterable[_Instruction]) -> bytes:
    return b"".join(struct.pack("HBBI", *i) for i in instructions)
