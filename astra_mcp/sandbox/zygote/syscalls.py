"""System call numbers, and which of them each kind of process may make.

Numbers are ABI: they never change for an architecture. A name that an architecture lacks (``open`` on
aarch64) is absent from its table and so never allowed there.
"""

import platform
from dataclasses import dataclass

__all__ = ["FILE_CALLS", "SERVER_CALLS", "TABLES", "TOOL_CALLS", "Architecture", "native"]


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


# What running tool code may do: compute, allocate, talk on the one inherited socket, exit.
TOOL_CALLS = _names("""
    read write close fstat poll ppoll lseek munmap brk rt_sigprocmask rt_sigreturn writev sched_yield
    mremap madvise setitimer getpid sendto recvfrom sendmsg recvmsg getsockname getsockopt exit
    gettimeofday getuid getgid geteuid getegid sigaltstack gettid futex restart_syscall clock_gettime
    exit_group set_robust_list rseq
    """)

# The fork server also forks, reaps, signals and restricts its children. It cannot open, connect or exec.
SERVER_CALLS = TOOL_CALLS | _names("""
    rt_sigaction wait4 waitid kill setsid getppid prctl prlimit64 seccomp pidfd_open close_range
    landlock_restrict_self dup dup2 dup3
    """)

# Denied like a missing permission, so that library code that probes for files goes on.
FILE_CALLS = _names("""
    open openat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd
    getdents64
    """)

_COMMON = {
    "pidfd_open": 434,
    "clone3": 435,
    "close_range": 436,
    "faccessat2": 439,
    "landlock_restrict_self": 446,
}

_X86_64 = _COMMON | {
    "read": 0,
    "write": 1,
    "open": 2,
    "close": 3,
    "stat": 4,
    "fstat": 5,
    "lstat": 6,
    "poll": 7,
    "lseek": 8,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "writev": 20,
    "access": 21,
    "sched_yield": 24,
    "mremap": 25,
    "madvise": 28,
    "dup": 32,
    "dup2": 33,
    "setitimer": 38,
    "getpid": 39,
    "sendto": 44,
    "recvfrom": 45,
    "sendmsg": 46,
    "recvmsg": 47,
    "getsockname": 51,
    "getsockopt": 55,
    "clone": 56,
    "exit": 60,
    "wait4": 61,
    "kill": 62,
    "getcwd": 79,
    "readlink": 89,
    "gettimeofday": 96,
    "getuid": 102,
    "getgid": 104,
    "geteuid": 107,
    "getegid": 108,
    "getppid": 110,
    "setsid": 112,
    "sigaltstack": 131,
    "prctl": 157,
    "gettid": 186,
    "futex": 202,
    "getdents64": 217,
    "restart_syscall": 219,
    "clock_gettime": 228,
    "exit_group": 231,
    "waitid": 247,
    "openat": 257,
    "newfstatat": 262,
    "readlinkat": 267,
    "faccessat": 269,
    "ppoll": 271,
    "set_robust_list": 273,
    "dup3": 292,
    "prlimit64": 302,
    "seccomp": 317,
    "statx": 332,
    "rseq": 334,
}

_AARCH64 = _COMMON | {
    "getcwd": 17,
    "dup": 23,
    "dup3": 24,
    "faccessat": 48,
    "openat": 56,
    "close": 57,
    "getdents64": 61,
    "lseek": 62,
    "read": 63,
    "write": 64,
    "writev": 66,
    "ppoll": 73,
    "readlinkat": 78,
    "newfstatat": 79,
    "fstat": 80,
    "exit": 93,
    "exit_group": 94,
    "waitid": 95,
    "futex": 98,
    "set_robust_list": 99,
    "setitimer": 103,
    "clock_gettime": 113,
    "sched_yield": 124,
    "restart_syscall": 128,
    "kill": 129,
    "sigaltstack": 132,
    "rt_sigaction": 134,
    "rt_sigprocmask": 135,
    "rt_sigreturn": 139,
    "setsid": 157,
    "prctl": 167,
    "gettimeofday": 169,
    "getpid": 172,
    "getppid": 173,
    "getuid": 174,
    "geteuid": 175,
    "getgid": 176,
    "getegid": 177,
    "gettid": 178,
    "getsockname": 204,
    "sendto": 206,
    "recvfrom": 207,
    "getsockopt": 209,
    "sendmsg": 211,
    "recvmsg": 212,
    "brk": 214,
    "munmap": 215,
    "mremap": 216,
    "clone": 220,
    "mmap": 222,
    "mprotect": 226,
    "madvise": 233,
    "wait4": 260,
    "prlimit64": 261,
    "seccomp": 277,
    "statx": 291,
    "rseq": 293,
}

TABLES = {
    "x86_64": Architecture(audit=0xC000003E, numbers=_X86_64, highest=0x40000000),
    "aarch64": Architecture(audit=0xC00000B7, numbers=_AARCH64),
}


def native() -> Architecture | None:
    """The architecture of this machine; None where no table exists."""
    return TABLES.get(platform.machine())
