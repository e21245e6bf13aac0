"""A catalog of servers in this process, and a gateway that serves one on a loopback socket."""

import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import anyio
import uvicorn

from astra_mcp.addresses import bind, url_of
from astra_mcp.errors import UnknownNameError
from astra_mcp.mcp.listeners import Listeners
from astra_mcp.types import JobItem, JsonObject
from gateway.api.client import EpisodeClient, GatewayClient
from gateway.api.seams import (
    Catalog,
    DistractorIndex,
    EnvironmentInfo,
    GoldCall,
    QuestionInfo,
    TaskDirectory,
    Upstream,
    shown_together,
)
from gateway.api.wire import EpisodeCreated, EpisodeRequest
from gateway.app import open_app
from gateway.edge.metrics import Metrics
from gateway.edge.security import access_rules
from gateway.episodes.live import Episodes, open_episodes

__all__ = ["CONTROL_KEY", "InMemoryCatalog", "Question", "RunningGateway", "open_test_gateway"]

CONTROL_KEY = "the control key of a test"


@dataclass(frozen=True, slots=True)
class Question:
    """What makes a server an environment: one question, and the calls that solve it."""

    text: str
    answer: str
    """A call of a gold tool whose result holds it solves the question."""
    gold: Sequence[tuple[str, JsonObject]]
    """Tools and arguments, as an oracle plays them."""


class InMemoryCatalog:
    """Publishes servers, which may come and go; those with a question are environments."""

    def __init__(
        self, *servers: Upstream, questions: Mapping[str, Question] = MappingProxyType({})
    ) -> None:
        """Publish servers.

        Args:
            servers: In this process, or any others that satisfy the gateway.
            questions: By the names of servers, some of which may be published later.

        Raises:
            UnknownNameError: A gold call names a tool that its server does not have.
        """
        self._servers: dict[str, Upstream] = {}
        self._questions = dict(questions)
        self._listeners = Listeners[[str]]()
        for server in servers:
            self.publish(server)

    def publish(self, server: Upstream) -> None:
        """Add a server, or replace the one of its name; its tools must be those of its question."""
        question, tools = self._questions.get(server.name), [tool.name for tool in server.tools]
        for tool, _ in question.gold if question else ():
            if tool not in tools:
                raise UnknownNameError.among("tool", tool, tools, f"see {server.name}.tools")
        self._servers[server.name] = server
        self._listeners.tell(server.name)

    def withdraw(self, name: str) -> None:
        """Take a server away."""
        del self._servers[name]
        self._listeners.tell(name)

    def environments(self) -> Sequence[EnvironmentInfo]:
        """The servers with a question, by name."""
        asked = [(server, self._questions.get(server.name)) for server in self.upstreams()]
        return [_describe(server, question) for server, question in asked if question]

    def summaries(self) -> Sequence[EnvironmentInfo]:
        """The servers with a question, by name."""
        return self.environments()

    def environment(self, name: str) -> EnvironmentInfo:
        """One server with its question."""
        return _describe(self.upstream(name), self._question(name, None))

    def questions(self, environment: str) -> Sequence[QuestionInfo]:
        """None beside the one of each environment."""
        self._question(environment, None)
        return ()

    def question(self, environment: str, question: str | None = None) -> str:
        """What an environment asks."""
        return self._question(environment, question).text

    def job(self, environment: str, question: str | None = None) -> tuple[JobItem, ...]:
        """One sub-task, solved by any of the gold tools."""
        asked = self._question(environment, question)
        tools = tuple(dict.fromkeys(tool for tool, _ in asked.gold))
        return (JobItem(id=1, answer=asked.answer, tools=tools),)

    def gold(self, environment: str, question: str | None = None) -> tuple[GoldCall, ...]:
        """The gold calls; the last of them solves."""
        calls = self._question(environment, question).gold
        solves = [()] * (len(calls) - 1) + [(1,)]
        return tuple(
            GoldCall(tool=tool, arguments=arguments, solves=solved)
            for (tool, arguments), solved in zip(calls, solves, strict=True)
        )

    def upstreams(self) -> Sequence[Upstream]:
        """All servers, by name."""
        return [server for _, server in sorted(self._servers.items())]

    def together(self) -> Sequence[Upstream]:
        """All but emulated ones, by name."""
        return shown_together(self.upstreams())

    def upstream(self, name: str) -> Upstream:
        """One server; ``UnknownNameError`` names all where there is none."""
        if name not in self._servers:
            raise UnknownNameError.among("server", name, self._servers, "see /v1/servers")
        return self._servers[name]

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Tell of each server that is published or withdrawn, until the end is called."""
        return self._listeners.add(hear)

    def _question(self, environment: str, further: str | None) -> Question:
        if environment not in self._questions or environment not in self._servers:
            asked = [info.name for info in self.environments()]
            raise UnknownNameError.among("environment", environment, asked, "see /v1/environments")
        if further is not None:
            raise UnknownNameError.among(f"question of {environment}", further, (), "it has one")
        return self._questions[environment]


def _describe(server: Upstream, question: Question) -> EnvironmentInfo:
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
            request: Further fields of an :class:`~gateway.api.wire.EpisodeRequest`, such as ``seed``.
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
    catalog: Catalog,
    home: Path | None = None,
    *,
    distractors: DistractorIndex | None = None,
    tasks: TaskDirectory | None = None,
    **rules: Any,
) -> AsyncGenerator[RunningGateway]:
    """Serve a catalog on a free loopback port of this process while the context is open.

    Args:
        catalog: Of servers in memory, or of anything that satisfies the gateway.
        home: Gets the records; by default a folder that goes with the context.
        distractors: Chooses task-irrelevant tools; without it no episode has any.
        tasks: The synthesized tasks; without it no episode is of one.
        rules: Such as ``api_keys``; see :func:`~gateway.edge.security.access_rules`.
    """
    metrics = Metrics()
    checked = access_rules(host="127.0.0.1", control_key=CONTROL_KEY, **rules)
    kept = nullcontext(home) if home else tempfile.TemporaryDirectory(prefix="astra-mcp-")
    with kept as folder, bind("127.0.0.1", 0) as listener:
        url = url_of(listener)
        async with (
            open_episodes(
                catalog,
                Path(folder),
                secret=b"test",
                sinks=(metrics,),
                distractors=distractors,
                tasks=tasks,
            ) as episodes,
            open_app(catalog, episodes, rules=checked, metrics=metrics, tasks=tasks) as app,
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


class _Server(uvicorn.Server):
    """Leaves signals to its owner, and waits for no client."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections: from Python 3.12 on, a listener is closed only when they are."""
        for connection in list(self.server_state.connections):
            connection.transport.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
