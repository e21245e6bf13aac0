"""What injected failures say, in the words of the clients that agents see such failures through.

As httpx, requests, aiohttp, the SDKs of MCP and of model providers, and plain JSON bodies word them. None
names a server or a tool, so that one text fits all of them and tells nothing of the tool that failed.
"""

from collections.abc import Mapping, Sequence

from gateway.api.difficulty import FailureKind

__all__ = ["SECONDS", "TEXTS"]

SECONDS: Mapping[FailureKind, Sequence[int]] = {
    FailureKind.TIMEOUT: (5, 10, 15, 20, 30, 60),
    FailureKind.UNREACHABLE: (0,),
    FailureKind.RATE_LIMITED: (1, 2, 5, 10, 15, 20, 30, 60),
    FailureKind.SERVER_ERROR: (5, 10, 30, 60),
}
"""What stands for ``{seconds}``: the client's deadline, or the wait that the service asks for."""

_TIMEOUT = (
    "ReadTimeout: The read operation timed out",
    "HTTPConnectionPool(host='127.0.0.1', port=8080): Read timed out. (read timeout={seconds})",
    "SocketTimeoutError: Timeout on reading data from socket",
    "Timed out while waiting for response to ClientRequest. Waited {seconds}.0 seconds.",
    "MCP error -32001: Request timed out",
    "APITimeoutError: Request timed out.",
    "Error: The request timed out after {seconds} seconds",
    "504 Server Error: Gateway Time-out",
)
_UNREACHABLE = (
    "ConnectError: All connection attempts failed",
    "ConnectError: [Errno 111] Connection refused",
    "ConnectError: [Errno -2] Name or service not known",
    "OSError: [Errno 113] No route to host",
    "ClientConnectorError: Cannot connect to host 127.0.0.1:8080 ssl:default",
    "RemoteProtocolError: Server disconnected without sending a response.",
    "('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
    "fetch failed: connect ECONNREFUSED 127.0.0.1:8080",
    "MCP error -32000: Connection closed",
    "APIConnectionError: Connection error.",
)
_RATE_LIMITED = (
    "429 Client Error: Too Many Requests",
    "429 Too Many Requests: rate limit exceeded. Retry after {seconds} seconds.",
    "HTTP 429 Too Many Requests (Retry-After: {seconds})",
    '{"error": {"code": 429, "message": "Rate limit exceeded", "retry_after": {seconds}}}',
    "RateLimitError: Error code: 429 - {'message': 'Rate limit reached. Please try again in {seconds}s.'}",
    '{"message": "API rate limit exceeded", "status": 429}',
)
_SERVER_ERROR = (
    "HTTPStatusError: Server error '500 Internal Server Error'",
    "500 Server Error: Internal Server Error",
    "502 Server Error: Bad Gateway",
    "503 Service Unavailable: the server is temporarily unable to handle the request",
    "HTTP 503 Service Unavailable (Retry-After: {seconds})",
    '{"error": {"code": 500, "message": "Internal server error"}}',
    "InternalServerError: Error code: 500 - {'error': {'message': 'Internal server error'}}",
    "MCP error -32603: Internal error",
)
TEXTS: Mapping[FailureKind, Sequence[str]] = {
    FailureKind.TIMEOUT: _TIMEOUT,
    FailureKind.UNREACHABLE: _UNREACHABLE,
    FailureKind.RATE_LIMITED: _RATE_LIMITED,
    FailureKind.SERVER_ERROR: _SERVER_ERROR,
}
