"""Files that this process may have open: how many of them episodes may take, and what is kept for the rest.

An episode takes its record when it is opened, and a process with its channels at its first call, which is too
late to refuse anything. So each is counted as if it had all of them. Knows kinds of servers and one limit of
the system; knows no episode.
"""

import os
import resource
from collections.abc import Iterable

from astra_mcp.errors import NoFilesError
from astra_mcp.types import ServerKind
from gateway.api.seams import Upstream

__all__ = ["OpenFiles", "files_of", "most_connections"]

_OF_A_SESSION = {ServerKind.ENVIRONMENT: 2, ServerKind.DEPLOYED: 4, ServerKind.EMULATOR: 0}
"""The channel and the handle of a locked process; the streams and the handle of a deployed one."""
_MOST_KEPT = 16_384
_KEPT_SHARE = 3
"""One of so many files is kept for connections, the control plane and people, where that is less."""
_USED = 48


def files_of(upstreams: Iterable[Upstream]) -> int:
    """How many files an episode of these servers takes: its record, and a session with each of them."""
    return 1 + sum(_OF_A_SESSION[upstream.kind] for upstream in upstreams)


def most_connections(limit: int | None = None) -> int | None:
    """How many connections a process may hold: five of eight files that are kept; None where none are.

    Two of eight are for states that are restored and for people, one for whatever needs a file for a moment.

    Args:
        limit: Stands for that of the system (``ulimit -n``).
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
    return None if limit == resource.RLIM_INFINITY else max(1, _kept(limit) * 5 // 8)


def _kept(limit: int) -> int:
    return min(_MOST_KEPT, limit // _KEPT_SHARE)


class OpenFiles:
    """The files of one gateway process, as far as episodes take them."""

    def __init__(self, limit: int | None = None, used: int | None = None) -> None:
        """Look at the limit of this process, and at what it has open before any episode.

        Args:
            limit: Stands for that of the system (``ulimit -n``).
            used: Stands for what is open.
        """
        self._limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
        kept = _kept(self._limit)
        rest = self._limit - (_count_open() if used is None else used)
        self._for_new = rest - kept
        self._for_known = rest - kept * 3 // 4
        self.taken = 0
        """By the episodes that are in memory, at most."""

    def require(self, num_files: int, *, is_new: bool) -> None:
        """Let an episode take so many; one that is not new, and a person's state, may take of what is kept.

        Raises:
            NoFilesError: They may be lacking once they are needed.
        """
        if self.has(num_files, is_new=is_new):
            return
        raise NoFilesError(
            f"{self._limit} files may be open (ulimit -n), and the open episodes may need what is left: "
            "close some, or raise the limit"
        )

    def has(self, num_files: int, *, is_new: bool) -> bool:
        """True where :meth:`require` raises nothing."""
        if self._limit == resource.RLIM_INFINITY:
            return True
        return self.taken + num_files <= (self._for_new if is_new else self._for_known)


def _count_open() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:  # not Linux: what a gateway has open there is not known
        return _USED
