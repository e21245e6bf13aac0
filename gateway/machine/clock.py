"""The time that a gateway goes by: it goes on steadily, whatever becomes of the wall clock.

Limits of episodes, and the order of what is recorded, must not jump with a wall clock that is set. So the
wall clock is read once, at the first start over a home since the machine was started; from there on the
system's steady clock counts, also over restarts of the gateway. Knows one file of the home.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import orjson

__all__ = ["steady_clock"]

_FILE = "clock.json"
_SET_SECONDS = 60.0
"""A wall clock that is farther away than this was set, and did not only drift."""
_EARLIEST, _LATEST = 0.0, 4_102_444_800.0
"""1970 and 2100: a file that says another time says nothing."""
_log = logging.getLogger("astra_mcp.gateway")


def steady_clock(
    home: Path, *, keep: bool = True, ticks: Callable[[], float] | None = None
) -> Callable[[], float]:
    """Make the clock of a home: it tells seconds since the epoch, which never jump.

    Args:
        home: Where the wall clock's time at the first start is kept.
        keep: Write it down where it is not known; False for those who only look at records.
        ticks: Stands for the system's steady clock.
    """
    count = ticks or _ticks
    boot, path = _boot(), home / _FILE
    now = time.time() - count()
    offset = _read(path, boot)
    if offset is None or not _EARLIEST < offset + count() < _LATEST:
        offset = now
        if keep:
            _write(path, boot, offset)
    elif keep and abs(offset - now) > _SET_SECONDS:
        _log.warning(
            "the wall clock was set by %.0f s since the first start over this home; times of records go on "
            "steadily until the machine is restarted, or %s is removed while nothing is served",
            now - offset,
            _FILE,
        )
    return lambda: offset + count()


def _ticks() -> float:
    """Seconds since the machine was started, its sleep included where the system counts it."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def _boot() -> str:
    """Name the start of the machine; empty where the system has no name for it, and nothing is kept."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _read(path: Path, boot: str) -> float | None:
    """Read what was written down since the machine was started."""
    try:
        known = cast("object", orjson.loads(path.read_bytes()))
    except (OSError, orjson.JSONDecodeError):
        return None
    if not isinstance(known, dict):
        return None
    kept = cast("dict[str, Any]", known)
    offset = kept.get("offset")
    is_same = bool(boot) and kept.get("boot") == boot
    if not is_same or isinstance(offset, bool) or not isinstance(offset, int | float):
        return None
    return float(offset)


def _write(path: Path, boot: str, offset: float) -> None:
    """Write it down whole or not at all; on a full disk the next start reads the wall clock again."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        try:
            temporary.write_bytes(orjson.dumps({"boot": boot, "offset": offset}))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
