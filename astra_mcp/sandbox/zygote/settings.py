"""What the host and a new process agree on: its bounds, as one JSON argument on the command line."""

import json
from dataclasses import asdict, dataclass
from typing import Self

__all__ = ["CHANNEL", "RESULT_VALUES", "Settings"]

CHANNEL = 3
"""Descriptor of the channel of a template and of each of its sessions, which have no other."""

RESULT_VALUES = 30_000
"""Names and values of one result: each costs the host a microsecond, in which it answers nobody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Bounds of every tool process that a fork server makes."""

    memory_bytes: int
    """Address space of a process."""
    cpu_seconds: int
    """Processor time over the life of a process."""
    soft_seconds: float
    """Processor time after which a call is interrupted from inside."""
    result_bytes: int
    """Size of one encoded result."""
    output_bytes: int
    """How much printed text is kept per call."""
    import_guard: bool = True
    """Give a clear message for modules that tools may not import. Never a boundary."""

    def encode(self) -> str:
        """Render for the command line."""
        return json.dumps(asdict(self))

    @classmethod
    def decode(cls, text: str) -> Self:
        """Read what ``encode`` rendered."""
        return cls(**json.loads(text))
