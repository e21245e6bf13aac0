"""A virtual clock and seeded randomness in place of the real ones.

``install`` patches the modules once, before anything else imports names out of them; ``begin`` sets
clock and seeds, at the start of a template and again of each session. Nothing that Python code reaches tells
the real time: what has to keep a real function closes over it, and :mod:`.insides` hides that. It is no
boundary: native code that reads the processor's clock still sees it.
"""

import _random
import _thread
import datetime
import hashlib
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

from astra_mcp.sandbox.zygote.insides import amend

__all__ = ["advance", "begin", "install"]

_SECOND = 1_000_000_000
_NODE = 0x020000000001
"""Hardware address for uuid1: locally administered, nobody's."""
_THREAD = 1
"""Number of the only thread."""


class _World:
    """Everything that differs between two sessions of one module."""

    now = 0
    """Nanoseconds since 1970-01-01 UTC."""
    start = 0
    seed = b""
    draws = 0
    """Blocks of entropy handed out."""
    generators = 0
    """Generators made without a seed."""


def begin(seed: int, clock: int) -> None:
    """Start a world: its seed, and its clock in nanoseconds since 1970-01-01 UTC."""
    _World.now = _World.start = clock
    _World.seed = str(seed).encode()
    _World.draws = _World.generators = 0
    random.seed(int.from_bytes(_digest("random", 0)[:8], "big"))
    uuid.__dict__["_last_timestamp"] = None


def advance(nanoseconds: int = _SECOND) -> None:
    """Move the virtual clock forward."""
    _World.now += nanoseconds


def install() -> None:
    """Patch ``time``, ``datetime``, ``random``, ``uuid``, ``os.urandom`` and thread numbers."""
    time.tzset()
    _patch_time()
    _patch_random()
    amend(datetime.datetime, now=classmethod(_now), utcnow=classmethod(_utcnow))
    amend(datetime.date, today=classmethod(_today))
    os.urandom = _urandom
    random.__dict__["_urandom"] = _urandom
    for name in ("get_ident", "get_native_id"):  # else the address and the number of the thread
        setattr(_thread, name, lambda: _THREAD)
    # Without the C helpers, uuid1 uses time.time_ns and random, which are ours.
    uuid.__dict__.update(_node=_NODE, _generate_time_safe=None, _UuidCreate=None)


def _digest(purpose: str, number: int) -> bytes:
    return hashlib.sha256(b"%b/%b/%d" % (_World.seed, purpose.encode(), number)).digest()


def _urandom(size: int, /) -> bytes:
    if size < 0:
        raise ValueError("negative argument not allowed")
    entropy = bytearray()
    while len(entropy) < size:
        _World.draws += 1
        entropy += _digest("entropy", _World.draws)
    return bytes(entropy[:size])


def _patch_random() -> None:
    """Draw the seed of an unseeded generator from the session's seed, not from the kernel."""
    kind: Any = _random.Random
    seed, make = kind.seed, kind.__new__

    def seed_from_world(self: Any, value: Any = None, /) -> None:
        if value is None:
            _World.generators += 1
            value = int.from_bytes(_digest("generator", _World.generators)[:8], "big")
        seed(self, value)

    # The C constructor reads the kernel's randomness where it gets no seed.
    def make_seeded(cls: Any, *_seed: Any, **_more: Any) -> Any:
        return make(cls, 0)

    def make_seeded_too(cls: Any) -> None:
        cls.__new__ = staticmethod(make_seeded)

    kind.__init__ = kind.seed = seed_from_world
    # Not by assignment, after which the real one would refuse to make anything.
    amend(
        kind,
        __new__=staticmethod(make_seeded),
        __init_subclass__=classmethod(make_seeded_too),
    )
    make_seeded_too(random.Random)


def _now(cls: type[datetime.datetime], tz: datetime.tzinfo | None = None) -> datetime.datetime:
    utc = cls(1970, 1, 1, tzinfo=datetime.UTC)
    utc += datetime.timedelta(microseconds=_World.now // 1000)
    return utc.replace(tzinfo=None) if tz is None else utc.astimezone(tz)


def _today(cls: type[datetime.date]) -> datetime.date:
    return cls.fromtimestamp(_World.now // _SECOND)


def _utcnow(cls: type[datetime.datetime]) -> datetime.datetime:
    return _now(cls)


def _sleep(seconds: float, /) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    advance(int(seconds * _SECOND))


def _patch_time() -> None:
    localtime, gmtime, strftime = time.localtime, time.gmtime, time.strftime
    ctime, asctime = time.ctime, time.asctime

    def seconds(*_clock: object) -> float:
        return _World.now / _SECOND

    def nanoseconds(*_clock: object) -> int:
        return _World.now

    def elapsed() -> float:
        return (_World.now - _World.start) / _SECOND

    def elapsed_nanoseconds() -> int:
        return _World.now - _World.start

    def or_now(function: Callable[..., Any], now: Callable[[], Any]) -> Callable[..., Any]:
        def call(value: Any = None) -> Any:
            return function(now() if value is None else value)

        return call

    def strftime_or_now(form: str, moment: Any = None) -> str:
        return strftime(form, gmtime(seconds()) if moment is None else moment)

    replacements: dict[str, Callable[..., Any]] = {
        "time": seconds,
        "time_ns": nanoseconds,
        "clock_gettime": seconds,
        "clock_gettime_ns": nanoseconds,
        "sleep": _sleep,
        "localtime": or_now(localtime, seconds),
        "gmtime": or_now(gmtime, seconds),
        "ctime": or_now(ctime, seconds),
        "asctime": or_now(asctime, lambda: gmtime(seconds())),
        "strftime": strftime_or_now,
    }
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        replacements[name] = elapsed
        replacements[f"{name}_ns"] = elapsed_nanoseconds
    for name, function in replacements.items():
        setattr(time, name, function)
