"""A catalog of servers in this process, and a gateway that serves one on a loopback socket."""

import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import uvicorn

from astra_mcp.addresses import bind, url_of
from astra_mcp.errors import UnknownNameError
from astra_mcp.reward import JobItem
from astra_mcp.testing.server import InMemoryServer, Question
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.protocol import (
    Catalog,
    EnvironmentInfo,
    EpisodeCreated,
    EpisodeRequest,
    GoldCall,
    Upstream,
)
from gateway.app import open_app
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes

__all__ = ["CONTROL_KEY", "InMemoryCatalog", "RunningGateway", "open_test_gateway"]

CONTROL_KEY = "the control key of a test"


class InMemoryCatalog:
    """Publishes servers; those with a question are environments. Servers may come and go."""

    def __init__(self, *servers: InMemoryServer) -> None:
        self._servers = {server.name: server for server in servers}
        self._listeners: list[Callable[[str], None]] = []

    def publish(self, server: InMemoryServer) -> None:
        """Add a server, or replace the one of its name."""
        self._servers[server.name] = server
        self._tell(server.name)

    def withdraw(self, name: str) -> None:
        """Take a server away."""
        del self._servers[name]
        self._tell(name)

    def environments(self) -> Sequence[EnvironmentInfo]:
        """The servers with a question, by name."""
        return [_describe(s, s.question) for _, s in sorted(self._servers.items()) if s.question]

    def question(self, environment: str) -> str:
        """What an environment asks."""
        return self._question(environment).text

    def job(self, environment: str) -> tuple[JobItem, ...]:
        """One sub-task, solved by any of the gold tools."""
        question = self._question(environment)
        tools = tuple(dict.fromkeys(tool for tool, _ in question.gold))
        return (JobItem(id=1, answer=question.answer, tools=tools),)

    def gold(self, environment: str) -> tuple[GoldCall, ...]:
        """The gold calls; the last of them solves."""
        calls = self._question(environment).gold
        solves = [()] * (len(calls) - 1) + [(1,)]
        return tuple(
            GoldCall(tool=tool, arguments=arguments, solves=solved)
            for (tool, arguments), solved in zip(calls, solves, strict=True)
        )

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name."""
        return [server for _, server in sorted(self._servers.items())]

    def upstream(self, name: str) -> InMemoryServer:
        """One server; ``UnknownNameError`` where there is none."""
        if name not in self._servers:
            msg = f"no server is named {name!r}"
            raise UnknownNameError(msg)
        return self._servers[name]

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Tell of each server that is published or withdrawn, until the end is called."""
        self._listeners.append(hear)
        return lambda: self._listeners.remove(hear)

    def _question(self, environment: str) -> Question:
        question = self.upstream(environment).question
        if question is None:
            msg = f"no environment is named {environment!r}"
            raise UnknownNameError(msg)
        return question

    def _tell(self, name: str) -> None:
        for hear in tuple(self._listeners):
            hear(name)


def _describe(server: InMemoryServer, question: Question) -> EnvironmentInfo:
    return EnvironmentInfo(
        name=server.name,
        title=server.name,
        description="",
        version=server.version,
        status="verified",
        domain="other",
        language="en",
        scenario_type=None,
        question=question.text,
        sub_tasks=1,
        tools=server.tools,
    )


@dataclass(frozen=True, kw_only=True)
class RunningGateway:
    """A gateway that answers at an address; made by :func:`open_test_gateway`."""

    url: str
    """``/mcp`` and ``/servers/{name}/mcp`` below it are for MCP clients."""
    key: str
    """Opens the control plane."""
    control: GatewayClient
    """A client of the control plane."""
    episodes: Episodes
    """The gateway's own, for a look behind the planes."""

    async def open_episode(self, *names: str, **request: Any) -> EpisodeCreated:
        """Open an episode of one environment, or of servers that are none.

        Args:
            names: The environment, or the servers.
            request: Further fields of an :class:`~gateway.api.protocol.EpisodeRequest`, such as ``seed``.
        """
        environments = {info.name for info in await self.control.environments()}
        source: dict[str, object] = {"kind": "servers", "names": names}
        if len(names) == 1 and names[0] in environments:
            source = {"kind": "environment", "name": names[0]}
        asked = EpisodeRequest.model_validate({"source": source, **request})
        return await self.control.create_episode(asked)

    def agent(self, episode: EpisodeCreated) -> EpisodeClient:
        """Make a thin client of an episode; any other client of MCP does too, at ``episode.mcp_url``."""
        return EpisodeClient(episode.mcp_url, self.control.http)


@asynccontextmanager
async def open_test_gateway(
    catalog: Catalog, home: Path | None = None
) -> AsyncGenerator[RunningGateway]:
    """Serve a catalog on a free loopback port of this process while the context is open.

    Args:
        catalog: Of servers in memory, or of anything that satisfies the gateway.
        home: Gets the records; by default a folder that goes with the context.
    """
    metrics = Metrics()
    rules = access_rules(host="127.0.0.1", control_key=CONTROL_KEY)
    with _folder(home) as folder, bind("127.0.0.1", 0) as listener:
        url = url_of(listener)
        async with (
            open_episodes(catalog, folder, secret=b"test", sinks=(metrics,)) as episodes,
            open_app(catalog, episodes, rules=rules, metrics=metrics) as app,
            anyio.create_task_group() as group,
            GatewayClient(url, CONTROL_KEY) as control,
        ):
            settings: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None}
            server = _Server(uvicorn.Config(app, access_log=False, **settings))
            group.start_soon(server.serve, [listener])
            try:
                yield RunningGateway(url=url, key=CONTROL_KEY, control=control, episodes=episodes)
            finally:
                server.should_exit = server.force_exit = True


@contextmanager
def _folder(home: Path | None) -> Generator[Path]:
    if home is not None:
        yield home
        return
    with tempfile.TemporaryDirectory(prefix="astra-mcp-") as folder:
        yield Path(folder)


class _Server(uvicorn.Server):
    """Leaves signals to its owner."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
