"""How a server behind the gateway fails, in kinds that decide what may be tried again.

Knows nothing of transports; their words come with the error. None of these leaves the package as a kind:
callers see an :class:`astra_mcp.errors.UpstreamError` with its text.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

from astra_mcp.errors import AstraError, UpstreamError

__all__ = [
    "DELIVERY_UNKNOWN",
    "NotSentError",
    "SessionLostError",
    "StartError",
    "StatusError",
    "in_words",
    "words_of",
]

_log = logging.getLogger(__name__)

DELIVERY_UNKNOWN = (
    "delivery unknown: the request was sent and not answered, and is never sent a second time"
)


class NotSentError(UpstreamError):
    """The request certainly reached nobody, so that it may be tried again."""


class SessionLostError(NotSentError):
    """The server does not know the session; it did nothing with the request."""


class StartError(UpstreamError):
    """The server cannot be started at all (no such command, a bad working folder): waiting is no remedy."""


class StatusError(UpstreamError):
    """The server answered an HTTP status that is no answer to a request of MCP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, status)
        self.status = status

    def __str__(self) -> str:
        return str(self.args[0])


def words_of(error: Exception) -> str:
    """What an error says, or its kind where it says nothing."""
    return str(error) or type(error).__name__


@contextmanager
def in_words(name: str) -> Generator[None]:
    """Have whatever goes wrong in a request come out as an error that says so.

    Args:
        name: Of the server.

    Raises:
        UpstreamError: Instead of what is no error of ours; one of ours that a task group wrapped comes out
            as it was.
    """
    try:
        yield
    except AstraError:
        raise
    except Exception as error:  # noqa: BLE001 - one request fails, with words
        known = _unwrapped(error)
        if known is None:
            _log.exception("a request to upstream %s failed", name)
            what = f"upstream {name} could not be asked, or its answer not be handled"
            known = UpstreamError(f"{what} ({type(error).__name__}); {DELIVERY_UNKNOWN}")
        raise known from None


def _unwrapped(error: Exception) -> AstraError | None:
    """The one error of ours that a task group wrapped; None for all others."""
    while isinstance(error, ExceptionGroup):
        inner = cast("ExceptionGroup[Exception]", error).exceptions
        if len(inner) != 1:
            return None
        error = inner[0]
    return error if isinstance(error, AstraError) else None
