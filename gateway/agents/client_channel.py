"""The way back to the client of one request that the SDK serves.

Notifications go out on the request's own stream. A request of the server reaches a client of the handshake
era as a request on that stream; one of the modern era cannot be asked (see ``gateway.agents.suspended``
for how it is asked all the same). Knows the SDK and the two eras; knows neither episodes nor servers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
import mcp_types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.subscriptions import LISTEN_STREAM_METHODS
from mcp_types.methods import SERVER_NOTIFICATIONS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from astra_mcp.errors import RelayedError
from astra_mcp.mcp.request_context import LOG_LEVELS, Era
from astra_mcp.types import JsonObject, JsonValue

ASK_SECONDS = 600.0
"""How long a client, and the person before it, may take to answer a server's request."""

_NEEDS = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


class _Answer(BaseModel):
    """Any JSON object."""

    model_config = ConfigDict(extra="allow")


def era_of(version: str) -> Era:
    """Tell the era of a protocol revision."""
    return Era.HANDSHAKE if version in HANDSHAKE_PROTOCOL_VERSIONS else Era.MODERN


def capabilities_of(ctx: ServerRequestContext[Any, Any]) -> JsonObject:
    """Read what the client of a request declares that it can do."""
    declared = ctx.session.client_capabilities
    if declared is None:
        return {}
    return declared.model_dump(by_alias=True, mode="json", exclude_none=True)


def log_level_allows(least: str | None, params: Mapping[str, JsonValue]) -> bool:
    """True where a log message is at least as severe as asked for; unknown levels pass."""
    level = params.get("level")
    if least not in LOG_LEVELS or level not in LOG_LEVELS:
        return True
    return LOG_LEVELS.index(str(level)) >= LOG_LEVELS.index(least)


def refuse_unable(capabilities: Mapping[str, JsonValue], method: str) -> None:
    """Check that a client can do what it is asked to.

    Raises:
        RelayedError: It has not declared so.
    """
    needed = _NEEDS.get(method)
    if needed is None and method != "ping":
        raise RelayedError(mcp_types.METHOD_NOT_FOUND, f"clients are not asked for {method}")
    if needed is not None and needed not in capabilities:
        raise RelayedError(mcp_types.METHOD_NOT_FOUND, f"the client does not support {needed}")


@dataclass(frozen=True, slots=True)
class QuietChannel:
    """A client that hears nothing just now; a server may know what it can do."""

    capabilities: Mapping[str, JsonValue]
    """What the client declares that it can do."""

    async def notify(self, method: str, params: JsonObject) -> None:
        """Drop it: nobody hears it."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Refuse.

        Raises:
            RelayedError: Always.
        """
        del params
        msg = f"no request is under way on which the client could be asked for {method}"
        raise RelayedError(mcp_types.METHOD_NOT_FOUND, msg)


class StreamChannel:
    """The stream of one request; satisfies :class:`astra_mcp.mcp.request_context.Channel`."""

    def __init__(self, ctx: ServerRequestContext[Any, Any], log_level: str | None) -> None:
        """Speak to the client of a request.

        Args:
            ctx: The request, as the SDK hands it to a handler.
            log_level: The least level of log messages to pass on. None: none in the modern era, where
                each request asks for them, and all in the handshake era.
        """
        self._session = ctx.session
        self._request = ctx.request_id
        self._version = ctx.protocol_version
        self._era = era_of(ctx.protocol_version)
        meta: object = (ctx.params or {}).get("_meta")
        known = cast("Mapping[str, Any]", meta) if isinstance(meta, Mapping) else dict[str, Any]()
        self._token = known.get("progressToken")
        self._log_level = log_level
        self.capabilities = capabilities_of(ctx)
        """What the client declares that it can do."""

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification on the request's stream, where its client wants to hear it."""
        if method == "notifications/progress":
            if self._token is None:
                return
            params = {**params, "progressToken": self._token}
        elif method == "notifications/message":
            if self._era is Era.MODERN and self._log_level is None:
                return
            if not log_level_allows(self._log_level, params):
                return
        if (method, self._version) not in SERVER_NOTIFICATIONS:
            return
        # In the modern era news travel on the streams that were opened for them, and nowhere else.
        if self._era is Era.MODERN and method in LISTEN_STREAM_METHODS:
            return
        sent = mcp_types.Notification[dict[str, Any], str](method=method, params=dict(params))
        await self._session.send_notification(
            cast("mcp_types.ServerNotification", sent), related_request_id=self._request
        )

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Ask the client on the request's stream, and wait for its answer.

        Raises:
            RelayedError: The client cannot be asked, refuses, or takes too long.
        """
        refuse_unable(self.capabilities, method)
        asked = mcp_types.Request[dict[str, Any], str](method=method, params=dict(params))
        try:
            with anyio.fail_after(ASK_SECONDS):
                answer = await self._session.send_request(
                    cast("mcp_types.ServerRequest", asked),
                    _Answer,
                    metadata=ServerMessageMetadata(related_request_id=self._request),
                )
        except MCPError as error:
            raise RelayedError(error.code, error.message, error.data) from None
        except ValidationError:
            msg = f"the client's answer to {method} is not what the protocol says"
            raise RelayedError(mcp_types.INTERNAL_ERROR, msg) from None
        except TimeoutError:
            msg = f"the client did not answer {method} within {ASK_SECONDS:g} s"
            raise RelayedError(mcp_types.REQUEST_TIMEOUT, msg) from None
        return answer.model_dump(mode="json")
