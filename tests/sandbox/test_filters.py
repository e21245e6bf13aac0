"""The seccomp filters of both architectures, run by an interpreter of their instructions."""

import errno
import signal
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.sandbox.zygote.seccomp import (
    FORK_FLAGS,
    Action,
    denied_with,
    gate_filter,
    server_filter,
    tool_filter,
)
from astra_mcp.sandbox.zygote.syscalls import (
    FILE_CALLS,
    SERVER_CALLS,
    TABLES,
    TOOL_CALLS,
    Architecture,
)

EPERM, EACCES, ENOSYS, EINVAL = (
    denied_with(n) for n in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EINVAL)
)
PRIVATE = 0x22
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
machines = pytest.mark.parametrize("machine", sorted(TABLES))


def decide(program: bytes, number: int, *arguments: int, audit: int) -> int:
    """Run a filter on one call, as the kernel would."""
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *padded)
    instructions = list(struct.iter_unpack("HBBI", program))
    counter = accumulator = 0
    while True:
        code, if_true, if_false, value = instructions[counter]
        counter += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x06:
                return value
            case _:
                holds = {
                    EQUAL: accumulator == value,
                    AT_LEAST: accumulator >= value,
                    ANY_BIT: bool(accumulator & value),
                }[code]
                counter += if_true if holds else if_false


def tool(machine: str, name: str, *arguments: int) -> int:
    return decided(tool_filter, machine, name, *arguments)


def gate(machine: str, name: str, *arguments: int) -> int:
    return decided(gate_filter, machine, name, *arguments)


def decided(
    program: Callable[[Architecture], bytes], machine: str, name: str, *arguments: int
) -> int:
    architecture = TABLES[machine]
    return decide(
        program(architecture),
        architecture.numbers[name],
        *arguments,
        audit=architecture.audit,
    )


@machines
def test_a_fork_asks_the_host_and_nothing_else_makes_a_process(machine: str) -> None:
    for name, argument in (("clone", FORK_FLAGS), ("dup", 0)):
        assert tool(machine, name, argument) == Action.ALLOW
        assert gate(machine, name, argument) == Action.ASK_HOST
    for flags in (0, 17, FORK_FLAGS | 0x8000, FORK_FLAGS | 0x10000000, 0x3D0F00):
        assert tool(machine, "clone", flags) == EPERM
    assert tool(machine, "clone3") == ENOSYS


@machines
def test_memory_is_never_executable(machine: str) -> None:
    for name in ("mmap", "mprotect"):
        assert tool(machine, name, 0, 4096, 3, PRIVATE) == Action.ALLOW
        assert tool(machine, name, 0, 4096, 4, PRIVATE) == EACCES
        assert tool(machine, name, 0, 4096, 7, PRIVATE) == EACCES


@machines
@given(flags=st.integers(0, 2**32 - 1))
def test_memory_is_shared_with_no_process_and_taken_from_no_pool(machine: str, flags: int) -> None:
    wanted = EPERM if flags & (0x1 | 0x8 | 0x40000) else Action.ALLOW
    assert tool(machine, "mmap", 0, 4096, 3, flags) == wanted


@machines
def test_no_descriptor_is_sent_or_received_and_no_byte_goes_out_of_band(machine: str) -> None:
    for name in ("sendmsg", "recvmsg", "getsockopt", "getsockname", "dup2", "dup3"):
        if name in TABLES[machine].numbers:
            assert tool(machine, name) == EPERM
    for name in ("sendto", "recvfrom"):
        assert tool(machine, name, 3, 0, 1, 0) == Action.ALLOW
        for flags in (1, 2, 0x40, 0x4000000):
            assert tool(machine, name, 3, 0, 1, flags) == EPERM


@machines
def test_a_futex_is_the_own_processs_and_advice_on_memory_is_to_free_it(machine: str) -> None:
    for operation in (0, 1, 9, 256):
        assert tool(machine, "futex", 0, operation) == EPERM
        assert tool(machine, "futex", 0, operation | 128) == Action.ALLOW
    for advice in range(128):
        wanted = Action.ALLOW if advice in (4, 8) else EINVAL
        assert tool(machine, "madvise", 0, 4096, advice) == wanted


@machines
def test_the_only_process_control_is_to_die_with_the_parent(machine: str) -> None:
    assert tool(machine, "prctl", 1, signal.SIGKILL) == Action.ALLOW
    assert gate(machine, "prctl", 1, signal.SIGKILL) == Action.ALLOW
    for option, value in ((1, 0), (1, signal.SIGTERM), (4, 1), (22, 2), (38, 9)):
        assert tool(machine, "prctl", option, value) == EPERM


@machines
def test_the_handling_of_ended_children_cannot_be_changed(machine: str) -> None:
    assert tool(machine, "rt_sigaction", signal.SIGALRM) == Action.ALLOW
    assert tool(machine, "rt_sigaction", signal.SIGCHLD) == EPERM


@machines
def test_files_are_refused_like_a_missing_permission(machine: str) -> None:
    for name in FILE_CALLS & TABLES[machine].numbers.keys():
        assert tool(machine, name) == EACCES


@machines
def test_another_abi_kills_the_process(machine: str) -> None:
    architecture = TABLES[machine]
    for program in (tool_filter(architecture), server_filter(architecture)):
        assert decide(program, 0, audit=0x40000003) == Action.KILL_PROCESS
    if architecture.highest is not None:
        program = tool_filter(architecture)
        number = architecture.highest | 1
        assert decide(program, number, audit=architecture.audit) == Action.KILL_PROCESS


@machines
@given(number=st.integers(0, 1000))
def test_whatever_is_not_named_is_denied(machine: str, number: int) -> None:
    architecture = TABLES[machine]
    both = {"mmap", "mprotect", "clone", "clone3"}
    by_arguments = {
        "prctl",
        "dup",
        "rt_sigaction",
        "sendto",
        "recvfrom",
        "futex",
        "madvise",
    }
    for program, allowed in (
        (tool_filter(architecture), TOOL_CALLS | both | by_arguments),
        (server_filter(architecture), SERVER_CALLS | both),
    ):
        named = {architecture.numbers.get(name) for name in allowed | FILE_CALLS}
        if number not in named:
            assert decide(program, number, audit=architecture.audit) == EPERM


@machines
@given(number=st.integers(0, 1000), first=st.sampled_from([0, 1, FORK_FLAGS]))
def test_the_gate_denies_nothing(machine: str, number: int, first: int) -> None:
    architecture = TABLES[machine]
    action = decide(gate_filter(architecture), number, first, 9, audit=architecture.audit)
    assert action in {Action.ALLOW, Action.ASK_HOST}


@machines
def test_the_fork_server_may_not_open_connect_or_execute(machine: str) -> None:
    denied = {"open", "openat", "socket", "connect", "execve", "ptrace", "bpf"}
    assert not denied & SERVER_CALLS
    numbers = list(TABLES[machine].numbers.values())
    assert len(numbers) == len(set(numbers)), "a number stands twice in the table"
