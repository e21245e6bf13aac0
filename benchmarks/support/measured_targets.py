"""What the gateway benchmark measures: each target is an address to call and a process to account for."""

import sys
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeRequest

from echo_bundle import NAME as BUNDLE
from echo_bundle import write_echo_bundle
from measured_programs import SUPPORT, Program, run_program, run_serve

__all__ = ["NAMES", "Target", "open_targets"]

NAMES = {
    "baseline": "the SDK's low-level server, 2026-07-28",
    "baseline_handshake": "the same, 2025-11-25",
    "gateway": "in-process echo, one episode per connection, 2026-07-28",
    "gateway_handshake": "the same, 2025-11-25",
    "interactive": "in-process echo at /servers/echo/mcp, one caller per connection",
    "sandboxed": "an environment's tool in its sandbox, one episode per connection",
    "http_upstream": "a deployed HTTP server (the baseline) behind the gateway",
    "http_upstream_pageless": "the same, with serve.pages = false",
    "stdio_upstream": "a deployed stdio server, one process per episode",
}
"""Every target, in the order of a round, with what it is."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """One thing to call."""

    name: str
    what: str
    host: str
    port: int
    pid: int
    """Whose processor time counts."""
    with_children: bool = False
    era: str = "modern"
    tool: str = "echo"
    path: str = "/mcp"
    """``{n}`` is the number of the connection; unused where ``source`` is set."""
    source: dict[str, object] | None = None
    """Each connection gets an own episode of this source."""
    key: str = field(default="", repr=False)
    max_connections: int = 1 << 16
    """With more it is left out."""

    @asynccontextmanager
    async def paths(self, connections: int) -> AsyncGenerator[list[str]]:
        """Name a path of each connection; episodes are closed afterwards."""
        if self.source is None:
            yield [self.path.format(n=n) for n in range(connections)]
            return
        body = {
            "source": self.source,
            "limits": {"calls": None, "idle_seconds": 86400},
            "labels": {"made_by": "benchmark"},
        }
        request = EpisodeRequest.model_validate(body)
        async with GatewayClient(f"http://{self.host}:{self.port}", self.key) as client:
            episodes = await client.create_episodes([request] * connections)
            try:
                yield [urlsplit(episode.mcp_url).path for episode in episodes]
            finally:
                for episode in episodes:
                    await client.close_episode(episode.id)


@contextmanager
def open_targets(names: Sequence[str], folder: Path) -> Generator[list[Target]]:
    """Start what the named targets need; all of it runs until the context is left.

    Args:
        names: Keys of :data:`NAMES`.
        folder: Empty; takes homes and bundles.

    Raises:
        RuntimeError: A program did not start.
    """
    with ExitStack() as stack:
        makers: dict[str, Callable[[], list[Target]]] = {
            "baseline": lambda: _baselines(stack),
            "gateway": lambda: _in_process(stack, folder),
            "sandboxed": lambda: _sandboxed(stack, folder),
            "http_upstream": lambda: _deployed_http(stack, folder),
            "http_upstream_pageless": lambda: _deployed_http(stack, folder, pageless=True),
            "stdio_upstream": lambda: _deployed_stdio(stack, folder),
        }
        groups = {"interactive": "gateway"}
        wanted = dict.fromkeys(groups.get(n, n.removesuffix("_handshake")) for n in names)
        made = [target for group in wanted for target in makers[group]()]
        yield [target for target in made if target.name in names]


def _script(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-P", str(SUPPORT / name), *arguments]


def _target(name: str, program: Program, **members: object) -> Target:
    known: dict[str, object] = {
        "name": name,
        "what": NAMES[name],
        "host": "127.0.0.1",
        "port": program.port,
        "pid": program.pid,
        "key": program.hello.get("key", ""),
    }
    return Target(**(known | members))  # pyright: ignore[reportArgumentType] - members of Target


def _baselines(stack: ExitStack) -> list[Target]:
    program = stack.enter_context(run_program(_script("baseline_server.py")))
    return [
        _target("baseline", program),
        _target("baseline_handshake", program, era="handshake"),
    ]


def _in_process(stack: ExitStack, folder: Path) -> list[Target]:
    home = folder / "in-process"
    program = stack.enter_context(run_program(_script("echo_gateway.py", str(home))))
    source = {"kind": "servers", "names": ["echo"]}
    return [
        _target("gateway", program, source=source),
        _target("gateway_handshake", program, source=source, era="handshake"),
        _target("interactive", program, path="/servers/echo/mcp?caller=connection-{n}"),
    ]


def _sandboxed(stack: ExitStack, folder: Path) -> list[Target]:
    bundle = write_echo_bundle(folder / "bundles")
    options = ("--environments", str(bundle))
    program = stack.enter_context(run_serve(folder / "sandboxed", *options))
    source = {"kind": "servers", "names": [BUNDLE]}
    return [_target("sandboxed", program, source=source, with_children=True)]


def _deployed_http(stack: ExitStack, folder: Path, *, pageless: bool = False) -> list[Target]:
    upstream = stack.enter_context(run_program(_script("baseline_server.py")))
    entry: dict[str, object] = {"url": f"{upstream.url}/mcp"}
    name = "http_upstream_pageless" if pageless else "http_upstream"
    variables = {"ASTRA_MCP_SERVE__PAGES": "false"} if pageless else {}
    program = _serve_deployed(stack, folder, name, entry, **variables)
    return [_target(name, program, source={"kind": "servers", "names": ["echo"]})]


def _deployed_stdio(stack: ExitStack, folder: Path) -> list[Target]:
    command, *arguments = _script("stdio_echo.py")
    entry: dict[str, object] = {"command": command, "args": arguments, "max_processes": 256}
    program = _serve_deployed(stack, folder, "stdio_upstream", entry)
    return [_target("stdio_upstream", program, source={"kind": "servers", "names": ["echo"]})]


def _serve_deployed(
    stack: ExitStack, folder: Path, name: str, entry: dict[str, object], **variables: str
) -> Program:
    config = folder / f"{name}.json"
    config.write_bytes(orjson.dumps({"mcpServers": {"echo": entry}}))
    options = ("--mcp-config", str(config))
    return stack.enter_context(run_serve(folder / name, *options, log=None, port=0, **variables))
