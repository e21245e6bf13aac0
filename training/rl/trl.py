"""Our episodes as environments of TRL's ``GRPOTrainer``: a class for each source, a method for each tool.

TRL makes the schema of a tool from its method: types from annotations, texts from the docstring. So types,
enums and unions of an argument become annotations; what annotations cannot say (a format, bounds, a default,
members of an object) stands behind its description as JSON Schema. How calls are parsed, results are
rendered and batches are filled is TRL's. Knows what TRL expects, and imports nothing of it; written for 1.16.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import Parameter, Signature
from itertools import count
from typing import Any, Literal, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal

from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import ConfigError, EpisodeEndedError, TransportError
from astra_mcp.report.shown import json_text
from astra_mcp.types import JsonObject, JsonValue, ToolSpec
from gateway.api.client import CallRefusedError, EpisodeClient, GatewayClient
from gateway.api.wire import (
    DistractorRequest,
    EpisodeCreated,
    EpisodeRequest,
    EpisodeState,
    FailureRequest,
)
from training.rollout.plan import Source

__all__ = ["TrlEnvironments", "TrlEpisode", "TrlPlay", "open_trl_environments", "tool_method"]

_logger = logging.getLogger(__name__)
_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
_SAID = {"type", "enum", "const", "anyOf", "oneOf", "items", "description", "title"}
"""Keywords that annotations and docstrings say; a title says nothing."""
_RESERVED = ("reset", "get_reward", "play")
_DEEPEST = 8
"""Schemas within schemas beyond this are told as JSON alone."""
_SECTION = re.compile(r"\b(Args|Returns|Raises|choices):", re.IGNORECASE)
"""What readers of docstrings take for their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """How episodes are reached from TRL's threads: through a loop of our own, where the connections live."""

    portal: BlockingPortal
    gateway: GatewayClient
    labels: Mapping[str, str]
    open: set[EpisodeId] = field(default_factory=set[EpisodeId])

    async def create(self, source: Source, seed: int) -> EpisodeCreated:
        """Open an episode that has its own tools alone."""
        request = EpisodeRequest(
            source=source,
            seed=seed,
            distractors=DistractorRequest(mode="none"),
            failures=FailureRequest(rate=0),
            labels=dict(self.labels),
        )
        return await self.gateway.create_episode(request)

    async def close(self, plays: Sequence["TrlPlay"]) -> None:
        """Close what is open of these; one that the gateway does not close has no reward."""
        for play in plays:
            if play.episode is not None and play.state is None:
                play.state = await self._closed(play.episode.id)

    async def close_all(self) -> None:
        """Close what is open."""
        for episode_id in [*self.open]:
            await self._closed(episode_id)

    async def _closed(self, episode_id: EpisodeId) -> EpisodeState | None:
        """Close one; None where the gateway does not, which the end tries once more."""
        try:
            state = await self.gateway.close_episode(episode_id)
        except TransportError as error:
            _logger.warning("episode %s was not closed: %s", episode_id, error)
            return None
        self.open.discard(episode_id)
        return state


@dataclass(slots=True, kw_only=True)
class TrlPlay:
    """One episode after the other of one source."""

    name: str
    source: Source
    tools_hash: str
    link: _Link
    episode: EpisodeCreated | None = None
    """The newest."""
    state: EpisodeState | None = None
    """How it ended, its failure or reward included; None while it is open."""
    _client: EpisodeClient | None = None
    _places: Iterator[int] = field(default_factory=count)
    _is_lost: bool = False
    """A call did not come through, so that nobody knows what the model would have earned."""

    @property
    def reward(self) -> float | None:
        """None before the episode is closed, where it failed, and where it has no job."""
        if self.state is None or self.state.reward is None or self._is_lost:
            return None
        return self.state.reward.reward

    async def begin(self, seed: int) -> None:
        """Open a new episode; one that is open is closed, and counts for nothing."""
        await self.link.close([self])
        created = await self.link.create(self.source, seed)
        self.link.open.add(created.id)
        self.episode, self.state, self._is_lost = created, None, False
        self._client = EpisodeClient(created.mcp_url, self.link.gateway.http)
        self._places = count()
        if created.tools_hash != self.tools_hash:
            raise ConfigError(
                f"{self.name} lists other tools than when TRL was told of them: start again"
            )

    async def call(self, tool: str, arguments: JsonObject) -> str:
        """Call a tool from another loop; gives what the model reads, also of a call that was not possible."""
        if self._client is None:
            raise RuntimeError("a tool was called before reset")
        place = next(self._places)
        called = self.link.portal.start_task_soon(self._send, self._client, tool, arguments, place)
        return await asyncio.wrap_future(called)

    async def _send(
        self, client: EpisodeClient, tool: str, arguments: JsonObject, place: int
    ) -> str:
        try:
            return (await client.call(tool, arguments, seq=place)).text
        except (CallRefusedError, EpisodeEndedError) as error:
            return str(error)
        except TransportError:
            self._is_lost = True
            raise


class TrlEpisode:
    """What TRL takes for an environment: public methods but ``reset`` are tools, which subclasses have."""

    def __init__(self, play: TrlPlay) -> None:
        """Take the episodes.

        Args:
            play: Of the source.
        """
        self.play = play
        """With ``play.state`` and ``play.episode``, for reward functions of your own."""

    def reset(self, seed: int = 0, **row: Any) -> None:
        """Open a new episode; one that is open is closed.

        Args:
            seed: Of the episode.
            row: The other columns of the row; the prompt has been said.

        Raises:
            RefusedError: The gateway does not take what is asked for.
            ConfigError: The source has other tools than before.
        """
        del row
        self.play.link.portal.call(self.play.begin, seed)


@dataclass(frozen=True, slots=True)
class TrlEnvironments:
    """What ``GRPOTrainer`` is given; made by :func:`open_trl_environments`."""

    environment_factory: dict[str, Callable[[], Any]]
    """Its argument of this name."""
    rows: list[JsonObject]
    """Of its data set: ``prompt``, ``environment`` and ``seed``, which all episodes of a group share."""

    @staticmethod
    def reward(environments: Sequence[TrlEpisode], **columns: object) -> list[float | None]:
        """Close the episodes of a batch and read what they earned; one of its ``reward_funcs``.

        Args:
            environments: Those of the batch.
            columns: What else TRL tells; not used.

        Returns:
            Of each episode. None, which TRL leaves out, where it failed or has no job.
        """
        del columns
        plays = [each.play for each in environments]
        if plays:
            plays[0].link.portal.call(plays[0].link.close, plays)
        return [play.reward for play in plays]


@contextmanager
def open_trl_environments(
    url: str,
    key: str,
    sources: Mapping[str, Source],
    *,
    seeds: Sequence[int] = (0,),
    labels: Mapping[str, str] | None = None,
) -> Generator[TrlEnvironments]:
    """Reach a gateway from TRL while the context is open; episodes that are open at its end are closed.

    Episodes have no distractors and no injected failures: a class has its tools once and for all.

    Args:
        url: Of the gateway.
        key: Of its control plane.
        sources: What is played, by names of your own; each asks something.
        seeds: Of the episodes: there is a row for each source and seed.
        labels: Words for the records of the episodes.

    Raises:
        ConfigError: A source asks nothing, or has a tool that can be no method.
        RefusedError: The gateway does not know a source.
        TransportError: It does not answer.
    """
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(GatewayClient(url, key)) as gateway,
    ):
        link = _Link(portal=portal, gateway=gateway, labels=labels or {})
        factories: dict[str, Callable[[], TrlEpisode]] = {}
        rows: list[JsonObject] = []
        for name, source in sources.items():
            looked = portal.call(_look, link, source)
            if looked.prompt is None:
                raise ConfigError(f"{name} asks nothing: give the servers a prompt")
            factories[name] = _factory(link, name, source, looked)
            prompt: list[JsonValue] = [{"role": "user", "content": looked.prompt}]
            for seed in seeds:
                row: JsonObject = {"prompt": prompt, "environment": name, "seed": seed}
                rows.append(row)
        try:
            yield TrlEnvironments(factories, rows)
        finally:
            portal.call(link.close_all)


async def _look(link: _Link, source: Source) -> EpisodeCreated:
    """Open an episode to see its tools and its prompt."""
    created = await link.create(source, 0)
    await link.gateway.close_episode(created.id)
    return created


def _factory(
    link: _Link, name: str, source: Source, looked: EpisodeCreated
) -> Callable[[], TrlEpisode]:
    methods = {tool.name: tool_method(name, tool) for tool in looked.tools}
    kind = cast("type[TrlEpisode]", type("Episode", (TrlEpisode,), methods))
    play = partial(TrlPlay, name=name, source=source, tools_hash=looked.tools_hash, link=link)
    return lambda: kind(play())


def tool_method(source: str, tool: ToolSpec) -> Callable[..., Any]:
    """Make the method of a tool, of which TRL reads the tool's schema.

    Raises:
        ConfigError: Neither the tool nor an argument can be named so in Python.
    """
    if tool.name in _RESERVED or tool.name.startswith("_"):
        raise ConfigError(f"{source}: TRL cannot be given a tool that is named {tool.name!r}")
    root = tool.input_schema
    listed: Mapping[str, Any] = root.get("properties", {})
    properties = {name: _whole(schema, root) for name, schema in listed.items()}
    wrong = [each for each in properties if not each.isidentifier() or each == "return"]
    if wrong:
        raise ConfigError(
            f"{source}: TRL cannot be given the argument {wrong[0]!r} of {tool.name}: it is no name in Python"
        )

    async def call(episode: TrlEpisode, /, **arguments: JsonValue) -> str:
        return await episode.play.call(tool.name, arguments)

    kinds = {name: _annotation(schema) for name, schema in properties.items()}
    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = _docstring(tool, properties)
    call.__annotations__ = {**kinds, "return": str}
    vars(call)["__signature__"] = _signature(kinds, root.get("required", ()))
    return call


def _signature(kinds: Mapping[str, Any], required: Sequence[str]) -> Signature:
    """Say which arguments have to be given; positional ones may be named as keywords of Python are."""
    kind = Parameter.POSITIONAL_ONLY
    bound = "self"
    while bound in kinds:
        bound += "_"
    parameters = [Parameter(bound, kind)]
    for name in sorted(kinds, key=lambda each: each not in required):
        default = Parameter.empty if name in required else None
        parameters.append(Parameter(name, kind, annotation=kinds[name], default=default))
    return Signature(parameters)


def _docstring(tool: ToolSpec, properties: Mapping[str, Any]) -> str:
    lines = [_plain(tool.description) or tool.name]
    if properties:
        lines += ["", "Args:"]
        for name, schema in properties.items():
            said = cast("JsonObject", schema if isinstance(schema, dict) else {})
            described = " ".join(str(said.get("description", "")).split())
            full = f"JSON Schema: {json_text(_bare(said))}" if _is_lossy(schema) else ""
            lines.append(f"    {name}: {_plain(f'{described} {full}'.strip()) or name}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Keep a text from being read as the beginning of a section or as a list of choices."""
    return _SECTION.sub(r"\1 :", text.strip())


def _bare(schema: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in {"description", "title"}}


def _is_lossy(schema: Any, depth: int = 0) -> bool:
    """Whether a schema says more than its annotation and its description."""
    if not isinstance(schema, dict):
        return schema is not True
    said = cast("dict[str, Any]", schema)
    is_unsaid = bool(said.keys() - _SAID) or (depth > 0 and "description" in said)
    values = _values(said)
    is_odd = values is not None and not all(map(_is_scalar, values))
    within = [*said.get("anyOf", ()), *said.get("oneOf", ())]
    within += [said["items"]] if "items" in said else []
    return is_unsaid or is_odd or depth > _DEEPEST or any(_is_lossy(e, depth + 1) for e in within)


def _values(schema: Mapping[str, Any]) -> Sequence[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    return schema.get("enum")


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _annotation(schema: Any, depth: int = 0) -> Any:
    """Say a schema as an annotation, as far as one can; what it cannot say, :func:`_is_lossy` notices."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return Any
    said = cast("dict[str, Any]", schema)
    values = _values(said)
    if values and all(map(_is_scalar, values)):
        return Literal[tuple(values)]
    choices = said.get("anyOf") or said.get("oneOf")
    if choices:
        return _union([_annotation(each, depth + 1) for each in choices])
    named = said.get("type", ())
    names: Sequence[str] = [named] if isinstance(named, str) else named
    items = _annotation(said.get("items"), depth + 1)
    kinds = {**_TYPES, "array": list if items is Any else list[items]}
    return _union([kinds.get(name, Any) for name in names])


def _union(kinds: Sequence[Any]) -> Any:
    if not kinds or Any in kinds:
        return Any
    found = kinds[0]
    for kind in kinds[1:]:
        found |= kind
    return found


def _whole(value: Any, root: Mapping[str, Any], path: tuple[str, ...] = ()) -> Any:
    """Put what is referred to in the place of references; a schema within itself says nothing there."""
    if isinstance(value, list):
        return [_whole(each, root, path) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    said = cast("dict[str, Any]", value)
    reference = said.get("$ref")
    if isinstance(reference, str):
        found: Any = (
            {}
            if reference in path
            else _whole(_referred(reference, root), root, (*path, reference))
        )
        others = {key: each for key, each in said.items() if key != "$ref"}
        return {**cast("JsonObject", found), **others} if isinstance(found, dict) else others
    return {key: _whole(each, root, path) for key, each in said.items()}


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    """Follow a reference within the document; an unknown one says nothing."""
    found: Any = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return found
