"""Serves a gateway with the conformance fixture mounted in its process; prints where it listens as JSON.

``python mounted_fixture.py CALLS``: the names of the tools that were called go to the file. Records lie under
``$ASTRA_MCP_HOME``.
"""

import json
import sys
from pathlib import Path

import anyio

from astra_mcp.addresses import bind, run_until_stopped, url_of
from astra_mcp.compose.settings import load_settings
from astra_mcp.serving.http.server import listen
from gateway.app import open_app
from gateway.edge.keys import derive_secret, ensure_control_key
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import open_episodes
from servers.deployed import open_deployed

from fixture import NAME, make_fixture
from relayed_servers import DeployedCatalog


async def _serve(calls: Path) -> None:
    settings, metrics = load_settings(), Metrics()
    key = ensure_control_key(settings.home)
    rules = access_rules(host="127.0.0.1", control_key=key)
    secret = derive_secret(key)
    with bind("127.0.0.1", 0) as listener:
        async with open_deployed(None, home=settings.home) as servers:
            servers.mount(NAME, make_fixture(calls))
            catalog = DeployedCatalog(servers)
            async with (
                open_episodes(catalog, settings.home, secret=secret, sinks=(metrics,)) as episodes,
                open_app(catalog, episodes, rules=rules, metrics=metrics) as app,
                listen(app, listener),
            ):
                await run_until_stopped(lambda: _say_where(url_of(listener)))


async def _say_where(url: str) -> None:
    sys.stdout.write(json.dumps({"url": url}) + "\n")
    sys.stdout.flush()
    await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(_serve, Path(sys.argv[1]))
