"""A whole gateway over one server of this process that echoes: what the gateway itself costs.

    python echo_gateway.py HOME

The gate, the agent plane, episodes and their records are those of ``astra-mcp serve``; only the server
behind them answers directly. Prints its address and its control key as one JSON line.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from astra_mcp.addresses import bind, run_until_stopped, url_of
from astra_mcp.errors import UnknownNameError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.serving.http.server import listen
from astra_mcp.types import (
    CallOutcome,
    JobItem,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from gateway.api.seams import EnvironmentInfo, GoldCall, QuestionInfo, Upstream
from gateway.app import open_app
from gateway.edge.keys import derive_secret
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import open_episodes

__all__ = ["EchoCatalog", "EchoServer", "main"]

KEY = "a control key for measurements"
NAME = "echo"
_TOOLS = (
    ToolSpec(
        name="echo",
        description="Say a text again.",
        input_schema={
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    ),
)


class EchoServer:
    """Satisfies the gateway's ``Upstream`` and its session; has no state."""

    name = NAME
    kind = ServerKind.ENVIRONMENT
    tools = _TOOLS
    version = "1"
    relays = False
    instructions = None
    warnings = ()

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """Tools."""
        return {"tools": {}}

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """Always ready."""
        return ServerStatus.READY, ""

    async def prepare(self) -> None:
        """Nothing is unknown."""

    def open_session(self, *, key: str, seed: int, past: Sequence[PastCall] = ()) -> "EchoServer":
        """Itself, since there is no state."""
        del key, seed, past
        return self

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Answer the text."""
        del tool, exchange
        return UpstreamReply(
            result=ToolResult.from_text(str(arguments.get("text", ""))),
            origin=Origin.TOOL,
            outcome=CallOutcome.APPLIED,
        )

    async def aclose(self) -> None:
        """There is nothing to release."""


class EchoCatalog:
    """One server, no environment."""

    def __init__(self) -> None:
        self._server: Upstream = EchoServer()

    def environments(self) -> Sequence[EnvironmentInfo]:
        """None."""
        return ()

    def summaries(self) -> Sequence[EnvironmentInfo]:
        """None."""
        return ()

    def environment(self, name: str) -> EnvironmentInfo:
        """There is none."""
        raise _unknown(name)

    def questions(self, environment: str) -> Sequence[QuestionInfo]:
        """There is none."""
        raise _unknown(environment)

    def question(self, environment: str, question: str | None = None) -> str:
        """There is none."""
        raise _unknown(environment)

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        """There is none."""
        raise _unknown(environment)

    def gold(self, environment: str, question: str | None = None) -> tuple[GoldCall, ...]:
        """There is none."""
        raise _unknown(environment)

    def upstreams(self) -> Sequence[Upstream]:
        """The one."""
        return (self._server,)

    def together(self) -> Sequence[Upstream]:
        """The one."""
        return (self._server,)

    def upstream(self, name: str) -> Upstream:
        """The one, by name."""
        if name != NAME:
            raise _unknown(name)
        return self._server

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """It stays as it is."""
        del hear
        return lambda: None


def _unknown(name: str) -> UnknownNameError:
    return UnknownNameError(f"nothing is named {name!r} here")


async def _serve(home: Path) -> None:
    catalog = EchoCatalog()
    metrics = Metrics()
    rules = access_rules(host="127.0.0.1", control_key=KEY)
    with bind("127.0.0.1", 0) as listener:
        async with (
            open_episodes(
                catalog, home, secret=derive_secret(KEY), max_open=10_000, sinks=(metrics,)
            ) as episodes,
            open_app(catalog, episodes, rules=rules, metrics=metrics) as app,
            listen(app, listener),
        ):
            hello = {"url": url_of(listener), "pid": os.getpid(), "key": KEY}
            sys.stdout.write(json.dumps(hello) + "\n")
            sys.stdout.flush()
            await run_until_stopped(anyio.sleep_forever)


def main() -> None:
    """Serve until a signal."""
    anyio.run(_serve, Path(sys.argv[1]), backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main()
