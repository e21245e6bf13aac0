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

__all__ = ["FORK_FLAGS", "Action", "denied_with", "server_filter", "tool_filter"]

FORK_FLAGS = 0x01200011
"""Exactly what the C library's fork passes: CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD."""

_PROT_EXEC = 4
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


def denied_with(number: int) -> int:
    """Action that makes the call fail with this errno."""
    return 0x00050000 | number


def server_filter(architecture: Architecture) -> bytes:
    """Filter of the fork server: it may fork, but not start threads or enter namespaces."""
    return _assemble(_rules(architecture, SERVER_CALLS, fork=Action.ALLOW))


def tool_filter(architecture: Architecture) -> bytes:
    """Filter of tool code: a fork waits for the host's decision."""
    numbers = architecture.numbers
    death_signal = (
        _Test(0, _Jump.EQUAL, _PR_SET_PDEATHSIG),
        _Test(1, _Jump.EQUAL, signal.SIGKILL),
    )
    # A template ignores SIGCHLD, so that the kernel reaps its sessions; that must stay so.
    child_signal = (_Test(0, _Jump.EQUAL, signal.SIGCHLD),)
    denied = denied_with(errno.EPERM)
    extra = (
        *_when(numbers["prctl"], death_signal, Action.ALLOW, denied),
        *_when(numbers["rt_sigaction"], child_signal, denied, Action.ALLOW),
    )
    return _assemble(_rules(architecture, TOOL_CALLS, fork=Action.ASK_HOST, extra=extra))


def _rules(
    architecture: Architecture,
    allowed: Iterable[str],
    *,
    fork: int,
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
    executable = (_Test(2, _Jump.ANY_BIT, _PROT_EXEC),)
    for name in ("mmap", "mprotect"):
        yield from _when(numbers[name], executable, denied_with(errno.EACCES), Action.ALLOW)
    # Its arguments lie in memory, out of a filter's sight; the C library falls back to clone.
    yield from _when(numbers["clone3"], (), denied_with(errno.ENOSYS))
    plain_fork = (_Test(0, _Jump.EQUAL, FORK_FLAGS),)
    yield from _when(numbers["clone"], plain_fork, fork, denied_with(errno.EPERM))
    yield from extra
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
    """Decide about one call: ``then`` where all tests hold. Other calls fall through."""
    length = 2 * len(tests) + (1 if otherwise is None else 2)
    yield _Instruction(_Jump.EQUAL, 0, length, number)
    for index, test in enumerate(tests):
        to_otherwise = 2 * (len(tests) - 1 - index) + 1
        yield _Instruction(_LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * test.argument)
        yield _Instruction(test.jump, 0, to_otherwise, test.value)
    yield _Instruction(_RETURN, 0, 0, then)
    if otherwise is not None:
        yield _Instruction(_RETURN, 0, 0, otherwise)


def _assemble(instructions: Iterable[_Instruction]) -> bytes:
    return b"".join(struct.pack("HBBI", *i) for i in instructions)
