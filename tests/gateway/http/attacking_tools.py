"""What the tools of a hostile environment do, as the text of its module; read by ``test_two_gateways.py``.

It stands behind ``tests/sandbox/reaching.py``, which tries each system call once, and takes as much of
everything as it gets: in a call, and behind its answer.
"""

import json
from collections.abc import Mapping

__all__ = ["GATED", "WAYS", "attacking"]

GATED = ("dup", "fork", "join_again", "join_as_a_template_that_cannot_fork")
"""Calls of which the host is asked: whoever makes many is stopped."""
WAYS = (
    *("reach_out", "reach_out_behind", "start_threads", "make_files", "fork", "fork_behind"),
    *("hold_memory", "hold_memory_behind", "hold_pieces", "spin", "spin_behind"),
    *("fill_channel", "fill_channel_behind", "crash", "say_much", "print_much"),
)

_TEXT = '''
import json, mmap, signal, threading

held = []

def find_won(names, times):
    """Try calls again and again; tells those that were not refused as they must be."""
    won = {}
    for _ in range(times):
        for name in names:
            number, arguments = ATTEMPTS[name]
            if reach(number, arguments()) != REFUSED[name]:
                won[name] = won.get(name, 0) + 1
    return {"tried": len(names) * times, "won": won}

def reach_out():
    return find_won([name for name in ATTEMPTS if name not in GATED], 50)

def fork():
    return find_won(GATED, 10 ** 6)

def start_threads():
    won = 0
    for _ in range(2000):
        try:
            threading.Thread(target=spin, daemon=True).start()
            won += 1
        except RuntimeError:
            pass
    return {"tried": 2000, "won": {"thread": won} if won else {}}

def make_files():
    won = {}
    for n in range(200):
        name = f"made-by-tools-{n}".encode()
        for folder in (b"/dev/shm/", b"/tmp/", b"/var/tmp/", HOME.encode() + b"/", b"/dev/mqueue/"):
            path = folder + name
            made = {
                "open": libc.open(path, 0o102, 0o666), "mkdir": libc.mkdir(path, 0o777),
                "mkfifo": libc.mkfifo(path, 0o666), "symlink": libc.symlink(b"/", path),
                "link": libc.link(b"/etc/passwd", path), "truncate": libc.truncate(path, 1 << 30),
                "unlink": libc.unlink(folder + b"episodes.json"), "chdir": libc.chdir(folder),
            }
            for way, result in made.items():
                if result != -1:
                    won[way] = won.get(way, 0) + 1
    for way, result in {
        "flock": libc.flock(3, 2), "lockf": libc.lockf(3, 1, 0), "nice": libc.nice(-5),
        "sigqueue": libc.sigqueue(HOST, 10, 0), "timer_create": libc.timer_create(0, 0, page),
        "mlockall": libc.mlockall(3), "sem_open": libc.semget(1, 1, 0o1666),
    }.items():
        if result != -1:
            won[way] = 1
    return {"tried": 8007, "won": won}

def hold_memory():
    try:
        while True:
            held.append(b"x" * (16 << 20))
    except MemoryError:
        return {"tried": len(held), "won": {}}

def hold_pieces():
    try:
        while True:
            protection = 1 + len(held) % 2  # so that the kernel joins no two of them
            held.append(mmap.mmap(-1, 4096, flags=0x22, prot=protection))
    except (OSError, MemoryError):
        return {"tried": len(held), "won": {}}

def spin():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

def fill_channel():
    while True:
        os.write(3, bytes(1 << 16))

def crash():
    ctypes.string_at(0)

def say_much():
    return {"tried": 1, "won": {}, "said": "x" * 1_000_000}

def print_much():
    for _ in range(100):
        print("x" * 1_000_000)
    return {"tried": 100, "won": {}}

def go_on(work):
    def again(*_):
        try:
            work()
        except (OSError, MemoryError):
            pass
    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    return {"tried": 1, "won": {}}

def assault(way: str) -> dict:
    """Attack in one way."""
    name, behind, _ = way.partition("_behind")
    return go_on(globals()[name]) if behind else globals()[name]()
'''


def attacking(reaching: str, refused: Mapping[str, int], *, host: int, home: str) -> str:
    """Text of the module.

    Args:
        reaching: Text that it goes on.
        refused: Error numbers by the names of the calls there.
        host: Process that gets its signals.
        home: A folder of the user.
    """
    names = {"REFUSED": dict(refused), "GATED": list(GATED), "HOST": host, "HOME": home}
    known = "".join(
        f"{name} = json.loads({json.dumps(value)!r})\n" for name, value in names.items()
    )
    return f"{reaching}\nimport json\n{known}{_TEXT}"
