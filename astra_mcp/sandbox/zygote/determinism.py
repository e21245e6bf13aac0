"""A virtual clock and seeded randomness in place of the real ones.

``install`` patches the modules once, before anything else imports names out of them; ``begin`` sets
clock and seeds, at the start of a template and again of each session. Cooperative, not a boundary: code
that reads the processor's clock directly still sees it.
"""

import datetime
import hashlib
import os
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

__all__ = ["advance", "begin", "install"]

_SECOND = 1_000_000_000
_NODE = 0x020000000001
"""Hardware address for uuid1: locally administered, nobody's."""


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
    """Patch ``time``, ``datetime``, ``random``, ``uuid`` and ``os.urandom`` for this process."""
    time.tzset()
    _patch_time()
    datetime.datetime = _DateTime  # type: ignore[misc]
    os.urandom = _urandom
    random.__dict__["_urandom"] = _urandom
    random.Random = _Random  # type: ignore[misc]
    shared = _Random(0)
    random.__dict__["_inst"] = shared
    for name in random.__all__:
        if name[0].islower() and hasattr(shared, name):
            setattr(random, name, getattr(shared, name))
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


class _Random(random.Random):
    """Draws the seed of an unseeded generator from the session's seed, not from the kernel."""

    # The C constructor reads the kernel's randomness where it gets no seed.
    def __new__(cls, x: Any = None) -> "_Random":
        return super().__new__(cls, 0)  # pyright: ignore[reportCallIssue,reportUnknownVariableType]

    def __init__(self, x: Any = None) -> None:
        super().__init__(x)

    def seed(self, a: Any = None, version: int = 2) -> None:
        if a is None:
            _World.generators += 1
            a = int.from_bytes(_digest("generator", _World.generators)[:8], "big")
        super().seed(a, version)


_RealDateTime = datetime.datetime


class _DateTimeType(type):
    """Lets ``isinstance(x, datetime)`` hold for values that C code made of the real class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _RealDateTime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _RealDateTime)


class _DateTime(_RealDateTime, metaclass=_DateTimeType):
    """``datetime.datetime`` on the virtual clock."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "_DateTime":
        utc = cls(1970, 1, 1, tzinfo=datetime.UTC)
        utc += datetime.timedelta(microseconds=_World.now // 1000)
        return utc.replace(tzinfo=None) if tz is None else utc.astimezone(tz)

    @classmethod
    def utcnow(cls) -> "_DateTime":
        return cls.now()

    @classmethod
    def today(cls) -> "_DateTime":
        return cls.now()

    def __repr__(self) -> str:
        return super().__repr__().replace("datetime(", "datetime.datetime(", 1)


_DateTime.__name__ = _DateTime.__qualname__ = "datetime"
_DateTime.__module__ = "datetime"


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
