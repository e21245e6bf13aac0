"""A whole gateway in a process of its own, over one environment whose tools act outside of it.

    python chaos_gateway.py HOME PORT LEDGER

Its server is a deployed one: what it did cannot be done again, so a call that was under way when the gateway
was killed may not be sent a second time. Each execution of ``count`` and ``hang`` is a line of the ledger,
written before the tool answers. Prints its address as one JSON line.
"""

import json
import os
import sys
from pathlib import Path

import anyio

from astra_mcp.addresses import bind, run_until_stopped, url_of
from astra_mcp.serving.http.server import listen
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question
from astra_mcp.testing.gateway import CONTROL_KEY
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import open_episodes

__all__ = ["ANSWER", "NAME", "main"]

NAME = "harbour"
ANSWER = "300 tons"
_UNDER_WAY_SECONDS = 0.2
"""A call is executed and not answered for so long: time to be killed in."""
_NEVER_SECONDS = 600.0


def _server(ledger: int) -> InMemoryServer:
    def look() -> str:
        """Look."""
        return f"a ship of {ANSWER}"

    async def count(nonce: str) -> str:
        """Count."""
        os.write(ledger, f"{nonce}\n".encode())
        await anyio.sleep(_UNDER_WAY_SECONDS)
        return nonce

    async def hang(nonce: str) -> str:
        """Hang."""
        os.write(ledger, f"{nonce}\n".encode())
        await anyio.sleep(_NEVER_SECONDS)
        return nonce

    return InMemoryServer(NAME, look, count, hang)


async def _serve(home: Path, port: int, ledger: Path) -> None:
    file = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    question = Question("How heavy?", ANSWER, gold=[("look", {})])
    catalog = InMemoryCatalog(_server(file), questions={NAME: question})
    metrics = Metrics()
    rules = access_rules(host="127.0.0.1", control_key=CONTROL_KEY)
    secret = derive_secret(CONTROL_KEY)
    with bind("127.0.0.1", port) as listener:
        async with (
            open_episodes(catalog, home, secret=secret, sinks=(metrics,)) as episodes,
            open_app(catalog, episodes, rules=rules, metrics=metrics) as app,
            listen(app, listener),
        ):
            sys.stdout.write(json.dumps({"url": url_of(listener)}) + "\n")
            sys.stdout.flush()
            await run_until_stopped(anyio.sleep_forever)


def main() -> None:
    """Serve until a signal."""
    home, port, ledger = sys.argv[1:]
    anyio.run(_serve, Path(home), int(port), Path(ledger), backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main()
