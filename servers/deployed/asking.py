"""Gets the input that a server of 2026-07-28 needs from a client of the handshake era, by requests."""

from collections.abc import Awaitable, Callable

import anyio

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import RelayedError
from astra_mcp.mcp.request_context import Channel
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.results import is_input_required

__all__ = ["InputError", "answer_asks"]

MAX_ROUNDS = 10
ASKS_AT_ONCE = 8
WAIT_SECONDS = 0.1
"""Before a repeat that brings nothing but the state, which is how a server says that it is not ready."""
_CANNOT = -32601


class InputError(RelayedError):
    """The input could not be got; the message says why in words for the agent."""


async def answer_asks(
    result: JsonObject,
    channel: Channel | None,
    repeat: Callable[[JsonObject], Awaitable[JsonObject]],
    *,
    what: str,
) -> JsonObject:
    """Ask the client and repeat the request with its answers, until the server has all it needs.

    Args:
        result: What the server needs.
        channel: The way to the client.
        repeat: Sends the request again with further params.
        what: Such as ``tool book``, for messages.

    Raises:
        InputError: The client cannot give the input or will not, or the server asks without end.
        UpstreamError: The server failed.
    """
    for _ in range(MAX_ROUNDS):
        if not is_input_required(result):
            return result
        asked = result.get("inputRequests")
        params: JsonObject = {}
        if isinstance(asked, dict) and asked:
            params["inputResponses"] = await _ask_all(asked, channel, what)
        else:
            await anyio.sleep(WAIT_SECONDS)
        if "requestState" in result:
            params["requestState"] = result["requestState"]
        result = await repeat(params)
    if is_input_required(result):
        raise InputError(_CANNOT, f"The {what} asked for input {MAX_ROUNDS} times without an end.")
    return result


async def _ask_all(asked: JsonObject, channel: Channel | None, what: str) -> JsonObject:
    if channel is None:
        raise InputError(_CANNOT, f"The {what} asks for input that this client cannot give.")

    async def ask(item: tuple[str, JsonValue]) -> tuple[str, JsonValue]:
        key, request = item
        if not isinstance(request, dict):
            raise InputError(_CANNOT, f"The {what} asks for input in a way that is no request.")
        method, params = str(request.get("method")), request.get("params")
        try:
            answer = await channel.ask(method, params if isinstance(params, dict) else {})
        except RelayedError as error:
            msg = (
                f"The {what} asked the client for {method}, which it did not give: {error.message}"
            )
            raise InputError(error.code, msg, error.data) from None
        return key, answer

    return dict(await map_concurrently(ask, asked.items(), limit=ASKS_AT_ONCE))
