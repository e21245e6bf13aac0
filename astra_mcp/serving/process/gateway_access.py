"""How a command reaches a gateway: the one it is told, the one that serves the home, or its own."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from astra_mcp.addresses import bind, url_of
from astra_mcp.compose.settings import Settings
from gateway.edge.discovery import find_gateway
from gateway.edge.keys import ensure_control_key, read_control_key

__all__ = ["CONTROL_KEY_VARIABLE", "GatewayAccess", "open_gateway_access"]

CONTROL_KEY_VARIABLE = "ASTRA_MCP_CONTROL_KEY"
"""Environment variable with the control key of a gateway of another home or machine."""
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayAccess:
    """A gateway's address and the key of its control plane."""

    url: str
    key: str = field(repr=False)
    is_own: bool = False
    """True where this process serves it."""


@asynccontextmanager
async def open_gateway_access(
    settings: Settings, *, url: str | None = None
) -> AsyncGenerator[GatewayAccess]:
    """Find a gateway, or serve one over HTTP on a free loopback port while the context is open.

    An own gateway has episodes alone: nothing is tried at interactive endpoints, where nothing counts.

    Args:
        settings: Whose home is looked at, and what an own gateway publishes.
        url: The gateway to use, whatever runs here.

    Raises:
        ConfigError: The key of the control plane is missing, or cannot be read or made.
        SandboxUnavailableError: An own gateway may not run some tool code on this machine.
        GatewayError: An own gateway cannot keep records in the home.
        BundleError: An environment that an own gateway should publish does not load.
    """
    running = find_gateway(settings.home)
    found = url or (running.url if running else None)
    if found is not None:
        key = os.environ.get(CONTROL_KEY_VARIABLE) or read_control_key(settings.home)
        yield GatewayAccess(url=found.rstrip("/"), key=key)
        return
    # All that serves; a command that finds a gateway needs none of it.
    from astra_mcp.compose.catalog import open_gateway  # noqa: PLC0415
    from astra_mcp.serving.http.server import listen  # noqa: PLC0415
    from gateway.edge.security import access_rules  # noqa: PLC0415

    key = ensure_control_key(settings.home)
    rules = access_rules(
        host=_LOOPBACK,
        control_key=key,
        max_body_bytes=settings.serve.max_body_bytes,
        max_body_values=settings.serve.max_body_values,
    )
    # The home need not be claimed: this gateway only ever touches the episodes that it opens.
    with bind(_LOOPBACK, 0) as listener:
        serve = settings.serve.model_copy(update={"interactive": ()})
        closed = settings.model_copy(update={"serve": serve})
        async with open_gateway(closed, rules) as (_, app), listen(app, listener):
            yield GatewayAccess(url=url_of(listener), key=key, is_own=True)
