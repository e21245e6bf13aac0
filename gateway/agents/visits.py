"""One request of an MCP client at an endpoint, as the relay's handlers see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp.server import ServerRequestContext

from astra_mcp.mcp.bridge import McpRequest
from astra_mcp.mcp.request_context import Era
from astra_mcp.types import JsonObject
from gateway.agents.channel import era_of
from gateway.agents.endpoints import EndpointView
from gateway.agents.targets import InteractiveTarget

__all__ = ["Visit"]

_OF_RETRIES = ("inputResponses", "requestState")


@dataclass(frozen=True)
class Visit:
    """A request, where it leads and whose state it uses."""

    ctx: ServerRequestContext[Any, Any]
    request: McpRequest
    view: EndpointView
    caller: str

    @property
    def era(self) -> Era:
        """In which the client speaks."""
        return era_of(self.ctx.protocol_version)

    @property
    def params(self) -> JsonObject:
        """As they came."""
        return cast("JsonObject", self.ctx.params or {})

    @property
    def headers(self) -> Mapping[str, str]:
        """Of its HTTP request; none over stdio."""
        return self.request.http.headers if self.request.http is not None else {}

    @property
    def own_params(self) -> JsonObject:
        """What goes on to a server: all but ``_meta``, which goes with the exchange."""
        return {key: value for key, value in self.params.items() if key != "_meta"}

    @property
    def asked(self) -> JsonObject:
        """What a retry of the request repeats."""
        return {k: v for k, v in self.own_params.items() if k not in _OF_RETRIES}

    @property
    def is_unknown(self) -> bool:
        """True where it is not known what a server of the endpoint can do."""
        return isinstance(self.view.target, InteractiveTarget) and any(
            not u.capabilities for u in self.view.upstreams
        )
