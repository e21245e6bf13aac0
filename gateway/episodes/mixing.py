"""Mixing distractors into the tool list of an episode.

An index chooses them; here they are made real: their servers are prepared, their names checked against those
that the agent sees anyway, and the whole list is put into an order that tells nothing. What could not be
shown is written down. Knows servers and tools; knows neither records nor likenesses.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import (
    ConfigError,
    ModelError,
    NotAvailableError,
    RegistryError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.seeds import generator
from gateway.api.seams import (
    Catalog,
    Distractor,
    DistractorIndex,
    DistractorSample,
    ScopedTool,
    Upstream,
)
from gateway.api.wire import DistractorMix, DistractorRequest, LeftOutDistractor
from gateway.episodes.shown_tools import Route, of_tools, routes_of

PREPARE_SECONDS = 10.0
"""A distractor's server that takes longer to start is left out."""
_AT_ONCE = 16
_UNBANDED = "random"
"""Stands for a band where there are none."""
_IS_OWN = "its server is one of the episode's own"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolList:
    """What an episode shows, and what stands behind it."""

    routes: Mapping[str, Route]
    """By the tools' shown names, in the order in which the agent sees them."""
    upstreams: tuple[Upstream, ...]
    """The servers of the source, and after them those of distractors."""
    mix: DistractorMix | None = None
    """None where no distractors were asked for."""


@dataclass(frozen=True, slots=True)
class Mixing:
    """Lays out the tool lists of one gateway's episodes."""

    _catalog: Catalog
    """Has the servers of distractors."""
    _index: DistractorIndex | None
    """Chooses them; None where the gateway has no pool of tools."""

    async def list_tools(
        self, own: Sequence[Upstream], asked: DistractorRequest | None, seed: int
    ) -> ToolList:
        """Lay out the tool list of an episode; its seed decides the choice of distractors, and the order.

        The servers of its source must be prepared.

        Raises:
            NotAvailableError: There is nothing to choose distractors from, or the settings do not allow it.
            UpstreamError: They cannot be chosen now.
        """
        routes = await of_tools(sum(len(u.tools) for u in own), routes_of, own)
        if asked is None or asked.mode == "none":
            return ToolList(routes=routes, upstreams=tuple(own))
        # Own tools of one name are shown under others, and are meant by it all the same.
        taken = {*routes, *(tool.name for u in own for tool in u.tools)}
        sample = await self._sample(own, asked.mode, asked.k, seed, sorted(taken))
        servers = await self._prepare({d.server for d in sample.distractors}, own)
        left_out: list[LeftOutDistractor] = []
        for chosen in sample.distractors:
            found = _route_of(chosen, servers[chosen.server], taken)
            if isinstance(found, Route):
                routes[chosen.tool] = found
                taken.add(chosen.tool)
            else:
                left_out.append(LeftOutDistractor(**chosen._asdict(), reason=found))
        used = {r.server for r in routes.values() if r.is_distractor}
        further = [s for name, s in sorted(servers.items()) if name in used]
        lacking = Counter(dict(sample.shortfall))
        lacking.update(d.band or _UNBANDED for d in left_out)
        names = list(routes)
        generator(seed, "order").shuffle(names)
        return ToolList(
            routes={name: routes[name] for name in names},
            upstreams=(*own, *(s for s in further if not isinstance(s, str))),
            mix=DistractorMix(
                mode=asked.mode, k=asked.k, shortfall=dict(lacking), left_out=tuple(left_out)
            ),
        )

    async def _sample(
        self,
        own: Sequence[Upstream],
        mode: Literal["random", "banded"],
        k: int,
        seed: int,
        taken: Collection[str],
    ) -> DistractorSample:
        if self._index is None:
            raise NotAvailableError(
                "distractors: they are not available, for this gateway has no pool of tools to choose "
                "them from; leave them out or use mode 'none'"
            )
        scope = [ScopedTool(u.name, tool) for u in own for tool in u.tools]
        try:
            return await self._index.sample(scope, mode=mode, k=k, seed=seed, taken=taken)
        except ConfigError as error:
            raise NotAvailableError(f"distractors: {error}") from error
        except (ModelError, RegistryError) as error:
            raise UpstreamError(f"distractors cannot be chosen now: {error}") from error

    async def _prepare(
        self, names: Collection[str], own: Sequence[Upstream]
    ) -> dict[str, Upstream | str]:
        """Find servers of distractors, by name; a text says why one cannot be used."""

        async def prepare(name: str) -> Upstream | str:
            try:
                upstream = self._catalog.upstream(name)
                with anyio.fail_after(PREPARE_SECONDS):
                    await upstream.prepare()
            except (UnknownNameError, UpstreamError) as error:
                return str(error)
            except TimeoutError:
                return f"its server was not ready within {PREPARE_SECONDS:g} s"
            return upstream

        found: dict[str, Upstream | str] = {u.name: _IS_OWN for u in own}
        others = sorted(set(names) - set(found))
        prepared = await map_concurrently(prepare, others, limit=_AT_ONCE)
        return found | dict(zip(others, prepared, strict=True))


def _route_of(chosen: Distractor, server: Upstream | str, taken: Collection[str]) -> Route | str:
    """Lead to a distractor, under its own name; a text says why it cannot be shown."""
    if isinstance(server, str):
        return server
    if chosen.tool in taken:
        return "a tool of this name is shown already"
    tool = next((tool for tool in server.tools if tool.name == chosen.tool), None)
    if tool is None:
        return "its server does not list it any more"
    return Route(
        shown=tool, server=server.name, tool=tool.name, is_distractor=True, band=chosen.band
    )
