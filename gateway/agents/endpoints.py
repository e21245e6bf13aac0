"""What each endpoint shows, and whose state a request to it uses.

An endpoint is one episode, one server, or all servers. It shows the tools of its servers, and of those that
speak MCP themselves (they *relay*) everything else that they have. A visit is one request there, as the
relay's handlers see it. Knows episodes by what agents may do with them, and the catalog; of MCP only the
names of capabilities, and who is calling.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from mcp.server import ServerRequestContext

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeId, EpisodeStatus
from astra_mcp.errors import EpisodeEndedError, UnknownNameError
from astra_mcp.mcp.bridge import McpRequest
from astra_mcp.mcp.made_up import mark_tool
from astra_mcp.mcp.request_context import Era
from astra_mcp.types import EmulatorKind, JsonObject, JsonValue, ToolSpec
from gateway.agents.client_channel import era_of
from gateway.agents.targets import (
    AgentEpisode,
    AgentEpisodes,
    EpisodeTarget,
    InteractiveTarget,
    Target,
)
from gateway.api.seams import ServerCatalog, Upstream, emulated
from gateway.episodes.shown_tools import of_tools, routes_of

_MAX_MARKED = 1024
_OF_RETRIES = ("inputResponses", "requestState")
_RELAYED = ("tools", "resources", "prompts", "completions", "logging")
_NO_SERVER = (
    "no server is shown here: what is published is open to episodes alone, or emulated, or nothing is "
    "(`astra-mcp serve --interactive`, `--mcp-config`)"
)
_INSTRUCTIONS = (
    "Call the listed tools to solve the task. A result marked as an error says what to change."
)


@dataclass(frozen=True)
class EndpointView:
    """What one target shows at the moment."""

    target: Target
    upstreams: tuple[Upstream, ...]

    @cached_property
    def relaying(self) -> tuple[Upstream, ...]:
        """The servers of which more than the tools can be reached, in their order."""
        return tuple(u for u in self.upstreams if u.relays)

    @property
    def sole(self) -> Upstream | None:
        """The one server that relays, where all that it has is shown under its own names."""
        if isinstance(self.target, InteractiveTarget) and self.target.server is None:
            return None
        return self.relaying[0] if len(self.relaying) == 1 else None

    @property
    def emulator(self) -> EmulatorKind | None:
        """Who makes up what an interactive endpoint answers; None where it is real, and in an episode."""
        if isinstance(self.target, EpisodeTarget) or len(self.upstreams) != 1:
            return None
        made_up = emulated(self.upstreams[0])
        return made_up.emulator if made_up is not None else None

    def having(self, capability: str) -> tuple[Upstream, ...]:
        """The relaying servers that have a capability."""
        return tuple(u for u in self.relaying if capability in u.capabilities)

    @property
    def capabilities(self) -> JsonObject:
        """What the endpoint can do in MCP's terms; of relaying servers no more than is relayed."""
        shown: JsonObject = {}
        if not self._is_bare:
            # The list of an episode is fixed for its life.
            changes = isinstance(self.target, InteractiveTarget)
            shown["tools"] = {"listChanged": True} if changes else {}
        for upstream in self.relaying:
            for name in _RELAYED:
                if name in upstream.capabilities:
                    shown[name] = _joined(shown.get(name), upstream.capabilities[name])
        if self._is_bare and "tools" in shown:
            shown["tools"] = {"listChanged": True}
        return shown

    @property
    def _is_bare(self) -> bool:
        """True where the endpoint shows one relaying server and no other."""
        return isinstance(self.target, InteractiveTarget) and self.sole is not None

    @property
    def instructions(self) -> str | None:
        """What a client is told about the use."""
        if self._is_bare and self.sole is not None:
            return self.sole.instructions
        return _INSTRUCTIONS

    @property
    def server_info(self) -> JsonObject:
        """Name and version under which the endpoint presents itself."""
        if isinstance(self.target, InteractiveTarget) and self.target.server is not None:
            return {"name": self.target.server, "version": self.upstreams[0].version}
        return {"name": "astra-mcp", "version": __version__}


def _joined(known: JsonValue, further: JsonValue) -> JsonValue:
    """Join what two servers say of one capability: a flag holds where one of them has it."""
    options: JsonObject = dict(known) if isinstance(known, dict) else {}
    for flag, value in (further if isinstance(further, dict) else {}).items():
        options[flag] = options.get(flag) or value
    return options


@dataclass(frozen=True)
class Endpoints:
    """Finds what a target shows, and the state of a caller there."""

    _catalog: ServerCatalog
    """What interactive endpoints show."""
    _episodes: AgentEpisodes
    """Where episodes and states live."""
    _marked: dict[Target, dict[str, JsonObject]] = field(
        default_factory=dict[Target, dict[str, JsonObject]], init=False
    )
    _of_all: dict[tuple[tuple[str, str], ...], tuple[ToolSpec, ...]] = field(
        default_factory=dict[Any, Any], init=False
    )
    """The tools of all servers, by their names and versions: of the last ones alone."""

    def forget(self) -> None:
        """Look anew at what servers list: the catalog has changed."""
        self._marked.clear()

    def marked_schemas(self, target: Target, mark: str) -> dict[str, JsonObject]:
        """The input schemas of a target that hold a keyword, by the shown names of their tools."""
        found = self._marked.get(target)
        if found is None:
            tools = self.tools(target)
            found = {t.name: t.input_schema for t in tools if _holds(t.input_schema, mark)}
            if len(self._marked) >= _MAX_MARKED:
                self._marked.clear()
            self._marked[target] = found
        return found

    def view(self, target: Target) -> EndpointView:
        """Look at a target.

        Raises:
            UnknownNameError: There is no such episode or server.
        """
        match target:
            case EpisodeTarget(id=name):
                return EndpointView(target, self._episodes.at_hand(name).own_upstreams)
            case InteractiveTarget(server=str(server)):
                return EndpointView(target, (self._catalog.upstream(server),))
            case InteractiveTarget():
                return EndpointView(target, tuple(self._catalog.together()))

    async def prepared(self, target: Target) -> EndpointView:
        """Look at a target once what it shows is known.

        At the endpoint of all servers, one that fails or takes too long is left out until it is known.

        Raises:
            UnknownNameError: There is no such episode or server.
            UpstreamError: The one server of the endpoint cannot be started or reached.
        """
        if isinstance(target, EpisodeTarget):
            return self.view(target)  # its servers were prepared when it was opened
        found = self.view(target).upstreams
        of_all = target.server is None
        if of_all:
            await of_tools(sum(len(u.tools) for u in found), self._tools_of_all, found)
        return EndpointView(target, await self._episodes.prepared(found, of_all=of_all))

    def tools(self, target: Target) -> tuple[ToolSpec, ...]:
        """The tools of a target under their shown names, in their fixed order.

        Raises:
            UnknownNameError: There is no such episode or server.
            EpisodeEndedError: The episode is over.
        """
        match target:
            case EpisodeTarget(id=name):
                return self.open_episode(name).tools
            case InteractiveTarget(server=str(server)):
                emulator = self.view(target).emulator
                return tuple(mark_tool(t, emulator) for t in self._catalog.upstream(server).tools)
            case InteractiveTarget():
                return self._tools_of_all(self.view(target).upstreams)

    def _tools_of_all(self, upstreams: Sequence[Upstream]) -> tuple[ToolSpec, ...]:
        key = tuple((u.name, u.version) for u in upstreams)
        found = self._of_all.get(key)
        if found is None:
            routes = routes_of(upstreams, qualify_all=True)
            found = tuple(route.shown for route in routes.values())
            self._of_all.clear()
            self._of_all[key] = found
        return found

    async def state(
        self, target: Target, caller: str, *, call_id: str | None = None
    ) -> AgentEpisode:
        """Find the episode behind a target: itself, or the caller's state, made where there is none.

        Where a ``call_id`` may be that of a retry, the state that has recorded it is found.

        Raises:
            UnknownNameError: There is no such episode or server.
            UpstreamError: The one server of the endpoint cannot be started or reached.
        """
        if isinstance(target, EpisodeTarget):
            return await self._episodes.get(target.id)
        servers = [u.name for u in self.view(target).upstreams]
        if not servers:
            raise UnknownNameError(_NO_SERVER)
        endpoint = target.endpoint
        return await self._episodes.interactive(endpoint, caller, servers, call_id=call_id)

    def open_episode(self, name: EpisodeId) -> AgentEpisode:
        """Find an episode at hand that still shows its tools.

        Raises:
            UnknownNameError: There is no such episode.
            EpisodeEndedError: It is closed or expired.
        """
        episode = self._episodes.at_hand(name)
        episode.expire_if_due()
        if not episode.is_open:
            status = episode.state().status
            if status in (EpisodeStatus.CLOSED, EpisodeStatus.EXPIRED):
                msg = f"this episode is {status.value}: create a new one with POST /v1/episodes"
                raise EpisodeEndedError(msg)
        return episode


@dataclass(frozen=True)
class EndpointRequest:
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


def _holds(schema: object, keyword: str) -> bool:
    if isinstance(schema, dict):
        members = cast("JsonObject", schema)
        return keyword in members or any(_holds(part, keyword) for part in members.values())
    if isinstance(schema, list):
        return any(_holds(part, keyword) for part in cast("list[object]", schema))
    return False
