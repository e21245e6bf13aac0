"""Where and how figures were taken; no figure is written down without them."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["Circumstances", "conditions"]

_PACKAGES = ("astra-mcp", "mcp", "uvicorn", "uvloop", "httptools", "httpx2", "orjson", "pydantic")


@dataclass(frozen=True)
class Circumstances:
    """What is known at the start of a run."""

    known: dict[str, Any]

    def finished(self, absent: Sequence[str] = ()) -> dict[str, Any]:
        """Add what is known at its end.

        Args:
            absent: What could not be measured, and why.
        """
        more: dict[str, Any] = {"load_average_after": _load()}
        if absent:
            more["not_measured"] = list(absent)
        return self.known | more


def conditions(**of_the_run: object) -> Circumstances:
    """Describe the machine, the versions and the run."""
    return Circumstances(
        {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            **{name.replace("-", "_"): version(name) for name in _PACKAGES},
            "python": platform.python_version(),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "load_average_before": _load(),
            **of_the_run,
        }
    )


def _load() -> float:
    return round(os.getloadavg()[0], 2)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return "unknown"
