"""An environment played by hand, or a server's tool called: forms, and calls in a real episode.

The episode is one as every other: opened with its label, recorded, scored, and ended with its limits. Only
those that were opened for it are played, so that nobody disturbs an agent by looking at it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import NamedTuple, cast
from urllib.parse import quote, urlencode

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.errors import CallFaultError, NotAvailableError, UnknownNameError, UpstreamError
from astra_mcp.serving.pages.environments import tool_view
from astra_mcp.serving.pages.episodes import call_views, find_record
from astra_mcp.serving.pages.fields import fields_of, read_fields, read_object
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import Renderer, cut_text
from astra_mcp.types import JobItem, JsonObject, ServerKind
from gateway.api.wire import EpisodeRequest, EpisodeState, SourceEnvironment, SourceServers
from gateway.episodes.episode import Episode
from gateway.episodes.record import read_record

__all__ = ["PlayPages"]

_LABEL = {"played": "by hand"}
_MAX_SEED = 2**63
_HISTORY = 50
"""So many of the last calls stand beside the forms."""
_TOOLS = 50
"""Tools of one page, each with its forms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entered:
    """What somebody wrote into the form of a tool that was not sent on."""

    tool: str
    form: Mapping[str, str] = field(default_factory=dict[str, str])
    faults: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the name of an argument; under an empty name what concerns none."""
    is_json: bool = False


class _Place(NamedTuple):
    """What is played, and where its own page stands."""

    part: str
    part_path: str
    name: str
    title: str

    @property
    def path(self) -> str:
        """Of its page."""
        return f"{self.part_path}/{quote(self.name)}"


def _place_of(state: EpisodeState) -> _Place:
    match state.source["kind"]:
        case "environment":
            name = str(state.source["name"])
            return _Place("Environments", "/environments", name, f"Play {name}")
        case "servers":
            names = [str(name) for name in cast("list[object]", state.source["names"])]
            return _Place("Servers", "/servers", names[0], f"Call tools of {', '.join(names)}")
        case _:
            return _Place("Episodes", "/episodes", state.id, f"Play episode {state.id[:12]}")


class PlayPages:
    """Answers where an environment is played, and where the tools of a server are called."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._parts = parts
        self._renderer = renderer

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/environments/{name}/play", self.open, methods=["POST"])
        yield Route("/servers/{name}/play", self.open_server, methods=["POST"])
        yield Route("/episodes/{id}/play", self.show, methods=["GET"])
        yield Route("/episodes/{id}/calls", self.call, methods=["POST"])
        yield Route("/episodes/{id}/calls", self.back, methods=["GET"])
        yield Route("/episodes/{id}/close", self.close, methods=["POST"])

    async def open(self, request: Request) -> Response:
        """Open an episode of an environment, and lead to it."""
        form: Mapping[str, str] = request.scope["form"]
        source = SourceEnvironment(
            kind="environment",
            name=request.path_params["name"],
            question=form.get("question") or None,
        )
        return await self._open(request, source)

    async def open_server(self, request: Request) -> Response:
        """Open an episode of one server, and lead to the form of a tool; of a real one with consent alone."""
        form: Mapping[str, str] = request.scope["form"]
        name: str = request.path_params["name"]
        upstream = self._parts.catalog.upstream(name)
        if upstream.kind is ServerKind.DEPLOYED and form.get("acts") != "yes":
            words = (
                "What its tools do, such as to write, send, buy or delete, they do: go back, and tick that "
                "you know it."
            )
            return self._renderer.fault(request, 422, f"{name} is a real server", words)
        return await self._open(request, SourceServers(kind="servers", names=(name,)))

    async def _open(self, request: Request, source: SourceEnvironment | SourceServers) -> Response:
        form: Mapping[str, str] = request.scope["form"]
        seed = form.get("seed", "").strip() or "0"
        if not (seed.isascii() and seed.isdigit() and len(seed) < 20 and int(seed) < _MAX_SEED):
            words = f"The seed is a whole number from 0 to {_MAX_SEED - 1}."
            return self._renderer.fault(request, 422, "This seed cannot be", words)
        wanted = EpisodeRequest(source=source, seed=int(seed), labels=_LABEL)
        episode = await self._parts.episodes.create(wanted)
        tool = form.get("tool", "")
        query = f"?{urlencode({'tool': tool})}" if tool else ""
        return self._renderer.go_to(f"/episodes/{episode.id}/play{query}")

    async def show(self, request: Request) -> Response:
        """Show the forms of an episode, and what was called so far; one that has ended by itself."""
        id_ = request.path_params["id"]
        episode = await self._find(id_)
        if not episode.is_open:
            return self._renderer.go_to(f"/episodes/{id_}")
        return await self._page(
            request, episode, _Entered(tool=request.query_params.get("tool", ""))
        )

    async def call(self, request: Request) -> Response:
        """Make a call, and lead back; or say at the fields what is wrong, and call nothing."""
        id_ = request.path_params["id"]
        episode = await self._find(id_)
        form: Mapping[str, str] = request.scope["form"]
        tool = form.get("tool", "")
        arguments, entered = self._read(episode, tool, form)
        if entered.faults:
            return await self._page(request, episode, entered, code=422)
        try:
            await episode.call(tool, arguments, call_id=form.get("call_id") or None)
        except CallFaultError:
            return self._renderer.fault(
                request,
                409,
                "This form was sent before",
                "It made a call with other arguments then. Load the page again for a new form.",
            )
        path = f"/episodes/{id_}"
        return self._renderer.go_to(f"{path}/play?{urlencode({'tool': tool})}#last-call")

    async def back(self, request: Request) -> Response:
        """Lead to the forms, where somebody asks again for the address that one was sent to."""
        return self._renderer.go_to(f"/episodes/{request.path_params['id']}/play")

    def _read(
        self, episode: Episode, tool: str, form: Mapping[str, str]
    ) -> tuple[JsonObject, _Entered]:
        spec = next((t for t in episode.tools if t.name == tool), None)
        if spec is None:
            names = [t.name for t in episode.tools]
            raise UnknownNameError.among("tool", tool, names, "the page of the episode has them")
        if "json" in form:
            arguments, fault = read_object(form["json"])
            faults = {} if fault is None else {"": fault}
            return arguments, _Entered(tool=tool, form=form, faults=faults, is_json=True)
        fields = fields_of(spec.input_schema)
        arguments, faults = read_fields(spec.input_schema, fields, form)
        return arguments, _Entered(tool=tool, form=form, faults=faults)

    async def close(self, request: Request) -> Response:
        """End an episode, and lead to what was recorded."""
        episode = await self._find(request.path_params["id"])
        await self._parts.episodes.close(episode.id)
        return self._renderer.go_to(f"/episodes/{episode.id}")

    async def _find(self, id_: str) -> Episode:
        """Find an episode that is played by hand.

        Raises:
            UnknownNameError: There is none of this id.
            NotAvailableError: It was opened for something else.
        """
        episode = await self._parts.episodes.get(id_)
        episode.expire_if_due()
        if _LABEL.items() <= episode.state().labels.items():
            return episode
        raise NotAvailableError(
            "this episode was not opened to be played by hand: open one at its environment or server"
        )

    async def _page(
        self, request: Request, episode: Episode, entered: _Entered, *, code: int = 200
    ) -> Response:
        state, tools, prompt = episode.state(), episode.tools, episode.prompt or ""
        acts = any(u.kind is ServerKind.DEPLOYED for u in episode.own_upstreams)
        path = find_record(self._parts.records, episode.id)
        begin = _beginning(request.query_params.get("from"), [t.name for t in tools], entered.tool)
        end = begin + _TOOLS
        lead = f"/episodes/{episode.id}/play?from=%d#tools"

        def render() -> Response:
            record = read_record(path)
            job = record.opened.job
            return self._renderer.page(
                request,
                "play",
                code=code,
                state=state,
                place=_place_of(state),
                acts=acts,
                num_sub_tasks=len(job),
                num_all_sub_tasks=self._count_sub_tasks(state, job),
                prompt=cut_text(prompt),
                tools=[tool_view(tool) for tool in tools[begin:end]],
                begin=begin,
                num_tools=len(tools),
                before=lead % (begin - _TOOLS) if begin else None,
                following=lead % end if end < len(tools) else None,
                entered=entered,
                call_id=token_hex(16),
                calls=call_views(record.calls[-_HISTORY:]),
                num_calls=len(record.calls),
            )

        # In a thread, since servers may have tools, and tools arguments, by the thousand.
        return await anyio.to_thread.run_sync(render)

    def _count_sub_tasks(self, state: EpisodeState, job: tuple[JobItem, ...]) -> int | None:
        """Count those without a tool too, where the environment is still the one that was opened."""
        if not job:
            return None
        question = state.source.get("question")
        try:
            bundle = self._parts.bundle_of(_place_of(state).name)
            asked = bundle and bundle.asking(str(question) if question else None)
        except (UnknownNameError, UpstreamError):
            return None  # gone or broken since: the episode goes on without it
        return len(asked.document.sub_tasks) if asked and asked.job == job else None


def _beginning(asked: str | None, names: Sequence[str], tool: str) -> int:
    """The first tool of the page that an address asks for, or that has a tool."""
    if asked and asked.isascii() and asked.isdigit() and len(asked) < 10:
        place = min(int(asked), max(0, len(names) - 1))
    else:
        place = names.index(tool) if tool in names else 0
    return place // _TOOLS * _TOOLS
