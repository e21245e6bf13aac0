"""Memory that is still to be had, where a process may have only so much (``ulimit -v``).

Our JSON library ends the process where the system refuses it memory. So whoever makes or reads much of it
asks before: where there is too little, that is an answer, or a wait, and no end. Without a limit nothing is
asked, since the system then promises more than there is. Knows one limit of the system.
"""

import mmap
import resource

import anyio

from astra_mcp.errors import NoMemoryError

__all__ = [
    "FLOOR_BYTES",
    "PASSING",
    "READING",
    "WRITING",
    "is_bounded",
    "require_memory",
    "wait_for_memory",
]

FLOOR_BYTES = 16 << 20
"""So much must be left beside what is asked for where something begins."""
READING = 14
"""Bytes of memory for each byte of JSON that is read: 12 for its parts, then the texts, and some."""
WRITING = 3
"""Bytes of memory for each byte of text that is written as JSON: a buffer that doubles, and some."""
PASSING = 8
"""Bytes of memory for each byte of a message that is read thriftily, recorded and answered: so much must be
left before the next one is read, or many that are half done would wait for each other."""
_POLL_SECONDS = 0.05
_has_limit = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def is_bounded() -> bool:
    """True where the system gives this process only so much, as it was when the process began."""
    return _has_limit


def require_memory(num_bytes: int, *, floor: int = FLOOR_BYTES) -> None:
    """See that so many bytes can be had, and others beside them; takes nothing.

    Raises:
        NoMemoryError: They cannot, for now.
    """
    if _has_limit and not _can_have(num_bytes + floor):
        msg = "the gateway may use no more memory for now (ulimit -v): try again, or ask for less at once"
        raise NoMemoryError(msg)


async def wait_for_memory(num_bytes: int, seconds: float) -> bool:
    """Wait until so many bytes can be had; False where they cannot within so many seconds."""
    if not _has_limit or _can_have(num_bytes + FLOOR_BYTES):
        return True
    with anyio.move_on_after(seconds):
        while not _can_have(num_bytes + FLOOR_BYTES):  # noqa: ASYNC110 - nobody tells of free memory
            await anyio.sleep(_POLL_SECONDS)
        return True
    return False


def _can_have(num_bytes: int) -> bool:
    try:
        mmap.mmap(-1, num_bytes).close()
    except (OSError, MemoryError):
        return False
    return True
