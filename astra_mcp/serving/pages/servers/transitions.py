"""The tool graph of a server, read from what the synthesis of tasks kept of its stages.

A run that asks a model for chains keeps its proposals, which are the graph, and the walks on it; one that
makes chains of types keeps the chains alone. Knows the stages by their names, and loads none of them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import anyio.to_thread
from pydantic import BaseModel, ConfigDict

from astra_mcp.errors import RegistryError
from astra_mcp.pipeline import StoredItem
from astra_mcp.serving.pages.graph import ToolGraph, draw_tools
from astra_mcp.synthesis.trajectories.chain import FoundChain
from registry.store.database import Database
from registry.store.items import find_outcomes, runs_with

__all__ = ["OFFLINE", "PROPOSAL", "PROPOSE", "WALK", "ServerGraph", "read_graph"]

PROPOSE, PROPOSAL, WALK, OFFLINE = "propose", "proposal", "walk", "offline_chains"
"""Stages of the synthesis of tasks."""
_MAX_PROPOSALS = 1000
_MAX_CHAINS = 50
"""So many are listed, the heaviest first."""


class _Proposal(BaseModel):
    """What is read of a proposal."""

    model_config = ConfigDict(frozen=True)
    version: str
    tools: tuple[str, ...]


class ShownChain(NamedTuple):
    """A chain of a server's tools."""

    tools: Sequence[str]
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerGraph:
    """What a run of synthesis knows of the order of a server's tools."""

    run: str
    runs: Sequence[str]
    """All that have a graph of the server."""
    is_proposed: bool
    """Whether a model proposed the transitions; else they are of chains that types alone gave."""
    version: str
    """Of the documents that it was made of; empty where nothing came of them."""
    graph: ToolGraph
    chains: Sequence[ShownChain]
    num_chains: int


async def read_graph(
    database: Database, server: str, tools: Sequence[str], run: str | None
) -> ServerGraph | None:
    """Read the graph of a server; None where no run has made one.

    Args:
        database: Keeps the outcomes of stages.
        server: Its name.
        tools: The names of its tools.
        run: Which run's; where it is None, or has none, the first by name of those that asked a model.

    Raises:
        RegistryError: The database failed, or what it keeps is damaged.
    """
    by_run: dict[str, str] = {}
    for stage in (OFFLINE, PROPOSE):
        by_run |= dict.fromkeys(await _runs(database, stage, server), stage)
    runs = sorted(by_run)
    if not runs:
        return None
    chosen = run if run in by_run else min(runs, key=lambda each: (by_run[each] != PROPOSE, each))
    is_proposed = by_run[chosen] == PROPOSE
    settled = await _outputs(database, chosen, WALK if is_proposed else OFFLINE, [server])
    proposals = await _accepted(database, chosen, server) if is_proposed else None

    def put_together() -> ServerGraph:
        found = _Found(server=server, settled=settled, proposals=proposals)
        weights, chains, version = found.read()
        return ServerGraph(
            run=chosen,
            runs=runs,
            is_proposed=is_proposed,
            version=version,
            graph=draw_tools(tools, weights),
            chains=chains[:_MAX_CHAINS],
            num_chains=len(chains),
        )

    try:
        return await anyio.to_thread.run_sync(put_together)
    except ValueError:
        msg = (
            f"what the registry keeps of the chains of {server!r} in the run {chosen!r} is damaged"
        )
        raise RegistryError(f"{msg}: restore the registry, or make the run again") from None


async def _runs(database: Database, stage: str, server: str) -> Sequence[str]:
    return await database.read(partial(runs_with, stage=stage, item=server))


async def _outputs(
    database: Database, run: str, stage: str, items: Sequence[str]
) -> Sequence[StoredItem]:
    read = partial(find_outcomes, run=run, stage=stage, items=items)
    return [output for outcome in await database.read(read) for output in outcome.outputs]


async def _accepted(database: Database, run: str, server: str) -> Sequence[StoredItem]:
    """Read the proposals of a server that were let through."""
    proposals = await _outputs(database, run, PROPOSE, [server])
    ids = [proposal.id for proposal in proposals[:_MAX_PROPOSALS]]
    return await _outputs(database, run, PROPOSAL, ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What stages made of a server."""

    server: str
    settled: Sequence[StoredItem]
    """Its chains."""
    proposals: Sequence[StoredItem] | None
    """What transitions are counted in; None for the chains themselves."""

    def read(self) -> tuple[Mapping[tuple[str, str], int], Sequence[ShownChain], str]:
        """Count the transitions; tell the chains, the heaviest first, and of which version they are."""
        found = [FoundChain.model_validate(item.value) for item in self.settled]
        chains = [ShownChain([s.tool for s in f.chain.steps], f.chain.weight) for f in found]
        told = [_Proposal.model_validate(item.value) for item in self.proposals or ()]
        followed = [chain.tools for chain in (chains if self.proposals is None else told)]
        versions = [p.version for p in told] + [f.versions.get(self.server, "") for f in found]
        weights = Counter(pair for tools in followed for pair in pairwise(tools))
        listed = sorted(chains, key=lambda chain: (-chain.weight, chain.tools))
        return weights, listed, next(iter(versions), "")
