"""What hostile tool code tries, and how each attempt has to end.

Every body is that of ``attack(host, server, sibling, folder, token, tcp, udp, calls)``: real process
ids, a folder that everybody may write, real ports of the host, and call numbers of this architecture. It
returns a text that starts with ESCAPED where it got what it wanted.
"""

import textwrap
from typing import NamedTuple

ALIVE, DEAD, EITHER = True, False, None

_NUMBERS = {
    "clone": (56, 220),
    "setpgid": (109, 154),
    "tkill": (200, 130),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "process_vm_readv": (310, 270),
    "io_uring_setup": (425, 425),
}
CALL_NUMBERS = {
    machine: {name: numbers[place] for name, numbers in _NUMBERS.items()}
    for place, machine in enumerate(("x86_64", "aarch64"))
}


class Attempt(NamedTuple):
    """An attempt and its expected end where the kernel is the only boundary."""

    body: str
    outcome: str = "PermissionError"
    """Regular expression that the outcome matches from its start."""
    alive: bool | None = ALIVE
    """Whether the session still answers; None where both are right."""

    @property
    def module(self) -> str:
        """Source text of the module that makes the attempt; one that comes to its end has escaped."""
        parameters = "host, server, sibling, folder, token, tcp, udp, calls"
        body = textwrap.indent(f"{self.body.strip()}\nreturn 'ESCAPED'", "    ")
        return f"def attack({parameters}):\n{body}\n"


_LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_VERDICT = "\nreturn 'ESCAPED' if result >= 0 else f'errno {ctypes.get_errno()}'"
_ENDED = "died"
_WAITS = "while True:\n    pass"


def _native(expression: str, errno: int = 1) -> Attempt:
    """An attempt by a call of the C library, which fails."""
    return Attempt(f"{_LIBC}result = {expression}{_VERDICT}", f"returned errno {errno}")


def _on_the_wire(action: str, end: str, outcome: str = "died: the tool tampered") -> Attempt:
    """An attempt on every descriptor that could lead to the host, of which the process dies."""
    loop = f"for fd in range(3, 8):\n    try: {action}\n    except OSError: pass\n"
    return Attempt(f'import os\nhead = b\'{{"status":"returned"}}\'\n{loop}{end}', outcome, DEAD)


TABLE: dict[str, Attempt] = {
    "read_passwd": Attempt("return 'ESCAPED ' + open('/etc/passwd').read()[:10]"),
    "write_cwd": Attempt("open(token, 'w').write('x')"),
    "write_tmp": Attempt("open(f'{folder}/{token}', 'w').write('x')"),
    "write_devshm": Attempt("open(f'/dev/shm/{token}', 'w').write('x')"),
    "symlink": Attempt("import os\nos.symlink('/etc', f'{folder}/{token}')"),
    "listdir_root": Attempt("import os\nreturn f'ESCAPED {os.listdir(\"/\")[:3]}'"),
    "tcp_socket": Attempt("import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))"),
    "tcp_connect": Attempt("import socket\nsocket.create_connection(('127.0.0.1', tcp), 1)"),
    "dns": Attempt(
        "import socket\n"
        "s = None\n"
        "try:\n    socket.getaddrinfo('localhost', 80)\n"
        "finally:\n"
        "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "    s.sendto(b'x', ('127.0.0.1', udp))",
        "gaierror|PermissionError",
    ),
    "abstract_unix": Attempt("import socket\nsocket.socket(socket.AF_UNIX).bind('\\0' + token)"),
    "fork": Attempt("import os\nif os.fork() == 0:\n    os._exit(0)"),
    "subprocess": Attempt(
        "import subprocess\nreturn 'ESCAPED ' + str(subprocess.run(['/bin/id']))"
    ),
    "thread_bomb": Attempt(
        "import threading, time\n"
        "for _ in range(200):\n"
        "    threading.Thread(target=time.sleep, args=(3,), daemon=True).start()",
        "RuntimeError",
    ),
    "alloc_10GB": Attempt("return f'ESCAPED {len(bytearray(10 << 30))}'", "MemoryError"),
    "alloc_list": Attempt("return f'ESCAPED {len([0] * (1 << 27))}'", "MemoryError"),
    "inf_loop": Attempt(_WAITS, "Timeout"),
    "c_loop_pow": Attempt("return f'ESCAPED {10 ** (10 ** 9) > 0}'", "Timeout"),
    "regex_redos": Attempt("import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')", "Timeout"),
    "deep_recursion": Attempt(
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(n):\n    return f(n + 1)\nf(0)",
        "died|Timeout|MemoryError|RecursionError|SystemError",
        EITHER,
    ),
    "c_stack": Attempt(
        "x = ()\nfor _ in range(10 ** 6):\n    x = (x,)\nhash(x)\nreturn 'finished'",
        "died|Timeout|RecursionError|MemoryError|SystemError|returned finished",
        EITHER,
    ),
    "sys_exit": Attempt("import sys\nsys.exit(3)", "SystemExit"),
    "os__exit": Attempt("import os\nos._exit(3)", _ENDED, DEAD),
    "segv": Attempt("import ctypes\nctypes.string_at(0)", _ENDED, DEAD),
    "kill_parent": Attempt("import os, signal\nos.kill(host, signal.SIGUSR1)"),
    "kill_all": Attempt("import os\nos.kill(1, 0)\nos.kill(-1, 0)"),
    "ptrace": _native("libc.ptrace(16, host, 0, 0)"),
    "proc_environ_self": Attempt("return 'ESCAPED ' + open('/proc/self/environ').read()[:20]"),
    "proc_environ_parent": Attempt("return 'ESCAPED ' + open(f'/proc/{host}/environ').read()"),
    "os_environ_secret": Attempt(
        "import os\nreturn 'ESCAPED' if 'HOST_SECRET' in os.environ else 'none there'",
        "returned none there",
    ),
    "ctypes_load": Attempt(
        _LIBC + "import os\nreturn 'own process' if libc.getpid() == os.getpid() else 'ESCAPED'",
        "returned own process",
    ),
    "ctypes_open": _native("libc.open(b'/etc/passwd', 0)", errno=13),
    "import_socket": Attempt("import importlib\nimportlib.import_module('socket').socket()"),
    "subclasses_gadget": Attempt(
        "for c in object.__subclasses__():\n"
        "    if c.__name__ == '_wrap_close':\n"
        "        return 'ESCAPED ' + c.__init__.__globals__['popen']('id').read()\n"
        "return 'ESCAPED: the gadget is not there to be tried'"
    ),
    "sysmodules_os": Attempt("import random\nreturn f'ESCAPED {random._os.listdir(\"/\")}'"),
    "memfd_exec": Attempt("import os\nfd = os.memfd_create('x')\nos.write(fd, b'x')"),
    "setns_unshare": _native("libc.unshare(0x10000000)"),
    "keyctl": _native("libc.syscall(calls['keyctl'], 0, -3, 1)"),
    "io_uring": _native(
        "libc.syscall(calls['io_uring_setup'], 4, ctypes.create_string_buffer(120))"
    ),
    "bpf_perf": _native(
        "libc.syscall(calls['perf_event_open'], ctypes.create_string_buffer(128), 0, -1, -1, 0)"
    ),
    "exec_mmap": Attempt("import mmap\nmmap.mmap(-1, 4096, prot=7)"),
    "poison_json": Attempt(
        "import builtins, json\n"
        "json.dumps = lambda *a, **k: 'POISON'\nbuiltins.len = lambda x: 42\nreturn 'did'",
        "died|returned did",
        EITHER,
    ),
    "stdout_flood": Attempt(
        "for _ in range(300):\n    print('x' * 1000000)\nreturn 'flooded'",
        "returned flooded|Timeout",
    ),
    "huge_result": Attempt(
        "return 'x' * (200 << 20)", "died|MemoryError|Timeout|ResultTooLarge", EITHER
    ),
    "atexit_bomb": Attempt(
        "import atexit\natexit.register(lambda: open(f'{folder}/{token}', 'w'))\nreturn 'did'",
        "returned did",
    ),
    "zip_bomb": Attempt(
        "import zlib\nd = zlib.compress(bytes(1 << 20), 9)\n"
        "return f'ESCAPED {len([zlib.decompress(d) for _ in range(3000)])}'",
        "Timeout|MemoryError",
    ),
    "harness_frame": Attempt(
        "import sys\nf = sys._getframe()\nwhile f:\n    g, f = f, f.f_back\n"
        "g.f_globals['os'].kill(host, 10)",
        "PermissionError|KeyError",
    ),
}
"""The 46 attempts that every design of the sandbox was compared by."""

NEIGHBOURS: dict[str, Attempt] = {
    "kill_server": Attempt("import os\nos.kill(server, 9)"),
    "kill_sibling": Attempt("import os\nos.kill(sibling, 9)"),
    "kill_own_group": Attempt("import os\nos.killpg(0, 9)"),
    "tkill_sibling": _native("libc.syscall(calls['tkill'], sibling, 9)"),
    "pidfd_sibling": Attempt("import os\nos.pidfd_open(sibling)"),
    "ptrace_server": _native("libc.ptrace(16, server, 0, 0)"),
    "ptrace_sibling": _native("libc.ptrace(16, sibling, 0, 0)"),
    "memory_of_sibling": Attempt(
        'return f\'ESCAPED {open(f"/proc/{sibling}/mem", "rb").read(1)}\''
    ),
    "vm_read_sibling": _native(
        "libc.syscall(calls['process_vm_readv'], sibling, None, 0, None, 0, 0)"
    ),
    "leave_session": Attempt("import os\nos.setsid()"),
    "leave_group": _native("libc.syscall(calls['setpgid'], 0, 0)"),
    "outlive_parent": _native("libc.prctl(1, 0, 0, 0, 0)"),
    "become_dumpable": _native("libc.prctl(4, 1, 0, 0, 0)"),
    "keep_zombies": Attempt(
        "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_DFL)",
        "PermissionError|OSError",
    ),
    "raise_limits": Attempt(
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "PermissionError|ValueError|OSError|ImportError|ModuleNotFoundError",
    ),
    "new_thread_by_clone": _native("libc.syscall(calls['clone'], 0x10000011, 0, 0, 0, 0)"),
    "swallow_timeouts": Attempt(
        "while True:\n"
        "    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass",
        "died: the tool ran longer than",
        DEAD,
    ),
    "raise_on_str": Attempt(
        "class E(Exception):\n    def __str__(self):\n        raise SystemExit(1)\nraise E",
        "E: ",
    ),
    "forge_reply": _on_the_wire(
        "os.write(fd, len(head).to_bytes(4) + (9).to_bytes(4) + head + b'\"ESCAPE!\"')",
        "return 'after'",
    ),
    "announce_gigabytes": _on_the_wire("os.write(fd, b'\\xff' * 8)", _WAITS),
    "speak_nonsense": _on_the_wire("os.write(fd, b'\\0\\0\\0\\x02\\0\\0\\0\\0[]')", _WAITS),
    "hang_up": _on_the_wire("os.close(fd)", _WAITS, _ENDED),
}
"""Attempts against the fork server, a sibling session and the wire to the host."""

ATTEMPTS = TABLE | NEIGHBOURS

EXHAUSTING = frozenset(
    {
        *("deep_recursion", "swallow_timeouts", "huge_result", "inf_loop", "c_loop_pow"),
        *("zip_bomb", "regex_redos", "c_stack"),
    }
)
"""Attempts that take seconds, since they end by a limit on time or memory."""
