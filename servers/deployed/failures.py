"""How a server behind the gateway fails, in kinds that decide what may be tried again.

Knows nothing of transports; their words come with the error. None of these leaves the package as a kind:
callers see an :class:`astra_mcp.errors.UpstreamError` with its text.
"""

from astra_mcp.errors import UpstreamError

__all__ = ["DELIVERY_UNKNOWN", "NotSentError", "SessionLostError", "StartError", "StatusError"]

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
