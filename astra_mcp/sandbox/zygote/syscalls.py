"""System call numbers, and which of them each kind of process may make.

Numbers are ABI: they never change for an architecture. A name that an architecture lacks (``open`` on
aarch64) is absent from its table and so never allowed there.
"""

from dataclasses import dataclass

__all__ = ["FILE_CALLS", "SERVER_CALLS", "TABLES", "TOOL_CALLS", "Architecture"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One processor architecture as seccomp names it."""

    audit: int
    """AUDIT_ARCH_* constant."""
    numbers: dict[str, int]
    highest: int | None = None
    """First number of another ABI with the same constant (x32 on x86_64)."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What running tool code may do whatever its arguments: compute, allocate, wait for its one socket, exit.
TOOL_CALLS = _names("""
    read write close fstat poll ppoll lseek munmap brk rt_sigprocmask rt_sigreturn writev sched_yield
    mremap setitimer getpid exit gettimeofday getuid getgid geteuid getegid sigaltstack gettid
    restart_syscall clock_gettime exit_group set_robust_list rseq
    """)

# The fork server also forks, reaps, signals and restricts its children. It cannot open, connect or exec.
SERVER_CALLS = TOOL_CALLS | _names("""
    rt_sigaction wait4 waitid kill setsid getppid prctl prlimit64 seccomp pidfd_open close_range
    landlock_restrict_self dup dup2 dup3 futex madvise sendto recvfrom sendmsg recvmsg getsockname
    getsockopt
    """)

# Denied like a missing permission, so that library code that probes for files goes on.
FILE_CALLS = _names("""
    open openat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd
    getdents64
    """)

_NUMBERS: dict[str, tuple[int, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "writev": (20, 66),
    "access": (21, None),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "dup": (32, 23),
    "dup2": (33, None),
    "setitimer": (38, 103),
    "getpid": (39, 172),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "getsockname": (51, 204),
    "getsockopt": (55, 209),
    "clone": (56, 220),
    "exit": (60, 93),
    "wait4": (61, 260),
    "kill": (62, 129),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "gettimeofday": (96, 169),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "setsid": (112, 157),
    "sigaltstack": (131, 132),
    "prctl": (157, 167),
    "gettid": (186, 178),
    "futex": (202, 98),
    "getdents64": (217, 61),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "exit_group": (231, 94),
    "waitid": (247, 95),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "dup3": (292, 24),
    "prlimit64": (302, 261),
    "seccomp": (317, 277),
    "statx": (332, 291),
    "rseq": (334, 293),
    "pidfd_open": (434, 434),
    "clone3": (435, 435),
    "close_range": (436, 436),
    "faccessat2": (439, 439),
    "landlock_restrict_self": (446, 446),
}
"""By its name, the number of a call on x86_64 and on aarch64; None where that lacks it."""

_X86_64 = {name: number for name, (number, _) in _NUMBERS.items()}
_AARCH64 = {name: number for name, (_, number) in _NUMBERS.items() if number is not None}

TABLES = {
    "x86_64": Architecture(audit=0xC000003E, numbers=_X86_64, highest=0x40000000),
    "aarch64": Architecture(audit=0xC00000B7, numbers=_AARCH64),
}
"""By the name that :func:`platform.machine` gives."""
