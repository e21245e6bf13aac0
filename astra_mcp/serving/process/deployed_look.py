"""How the deployed servers are: each is opened once after the start, and a broken one is named."""

import logging
from collections.abc import Callable

from astra_mcp.concurrency import map_concurrently
from gateway.api.seams import Catalog
from servers.deployed import DeployedServer

__all__ = ["look_at_deployed"]

AT_ONCE = 8

_log = logging.getLogger(__name__)


async def look_at_deployed(catalog: Catalog, tell: Callable[[str], None]) -> None:
    """Open every deployed server and ask for its tools; warn of each that is broken, as soon as it is known.

    Args:
        catalog: What the gateway publishes.
        tell: Takes the sum for people, once all have answered; not called where there are none.
    """
    servers = [each for each in catalog.upstreams() if isinstance(each, DeployedServer)]
    if not servers:
        return
    await map_concurrently(_look, servers, limit=AT_ONCE)
    ready = sum(server.described.condition == "ready" for server in servers)
    broken = [server.name for server in servers if server.described.condition == "broken"]
    named = f", broken: {', '.join(broken)}" if broken else ""
    tell(f"deployed servers: {ready} of {len(servers)} ready{named}")


async def _look(server: DeployedServer) -> None:
    await server.check()
    status = server.described
    if status.condition == "broken":
        _log.warning("deployed server %s is broken: %s", status.name, status.reason)
