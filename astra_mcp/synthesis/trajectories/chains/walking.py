"""The stage ``walk``: chains as random walks on the transition graph, of bounded length and number.

Source: ASTRA sec. 2.1. Walks are drawn, never listed: twelve tools that all lead to one another have 193,248
walks of two to five, and a server has as many chains as its cap allows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from math import prod
from random import Random
from typing import Final

from pydantic import Field

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.asking import stage_version
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, FoundChain, ToolRef
from astra_mcp.synthesis.trajectories.chains.graph import (
    TransitionGraph,
    transition_graph,
    transitions_from,
)
from astra_mcp.synthesis.trajectories.chains.proposing import (
    USUAL_LENGTHS,
    Lengths,
)
from astra_mcp.synthesis.trajectories.server import Documents, document_of
from astra_mcp.types import FrozenModel, canonical_json

__all__ = ["ProposedChains", "Walking", "chain_item", "random_walk", "random_walks", "share_of"]

_TRIES: Final = 32
"""Walks that are drawn for each that is wanted; a small graph has fewer than are wanted."""


class ProposedChains(FrozenModel):
    """All chains of one server that a run's proposals came to."""

    server: str
    version: str
    chains: tuple[tuple[str, ...], ...] = Field(min_length=1)
    """A multiset of the names of tools, in the order of the proposals."""


def random_walk(
    graph: "TransitionGraph[str]", lengths: Lengths, chance: Random, *, is_acyclic: bool = False
) -> tuple[str, ...] | None:
    """Draw one walk: its length, where it begins, and each step by the weights of the transitions.

    It begins at a tool by how many transitions lead on from it, and ends early where none does.

    Args:
        graph: Is walked on.
        lengths: How many tools a walk has.
        chance: Draws.
        is_acyclic: No tool comes twice.

    Returns:
        The names of the tools; None where the walk came to an end too early.
    """
    starts = {tool: sum(transitions_from(graph, tool).values()) for tool in sorted(graph)}
    if not any(starts.values()):
        return None
    wanted = chance.randint(lengths.least, lengths.most)
    walk = [_drawn(starts, chance)]
    while len(walk) < wanted:
        next_ones = transitions_from(graph, walk[-1])
        if is_acyclic:
            next_ones = {tool: num for tool, num in next_ones.items() if tool not in walk}
        if not next_ones:
            break
        walk.append(_drawn(next_ones, chance))
    return tuple(walk) if len(walk) >= lengths.least else None


def random_walks(
    graph: "TransitionGraph[str]",
    lengths: Lengths,
    chance: Random,
    *,
    most: int,
    is_acyclic: bool = False,
) -> list[tuple[str, ...]]:
    """Draw different walks, in the order in which they came.

    Args:
        graph: Is walked on.
        lengths: How many tools a walk has.
        chance: Draws.
        most: So many, or fewer where the graph gave no more in 32 times as many tries.
        is_acyclic: No tool comes twice.
    """
    found: dict[tuple[str, ...], None] = {}
    for _ in range(most * _TRIES):
        walk = random_walk(graph, lengths, chance, is_acyclic=is_acyclic)
        if walk is not None:
            found[walk] = None
        if len(found) == most:
            break
    return [*found]


def share_of(graph: "TransitionGraph[str]", walk: Sequence[str]) -> float:
    """The product of the shares that a walk's steps have among the transitions from each tool."""
    return prod(_share(graph, before, after) for before, after in pairwise(walk))


def chain_item(parent: str, found: FoundChain) -> Item[FoundChain]:
    """Make an item of a chain; its id follows from what it was made of and its own tools."""
    steps = [[step.server, step.tool] for step in found.chain.steps]
    return Item(id=f"{parent}/{sha256(canonical_json(steps)).hexdigest()[:16]}", value=found)


@dataclass(frozen=True, slots=True)
class Walking:
    """Draws the chains of a server from all that was proposed of it."""

    documents: Documents = field(repr=False)
    lengths: Lengths = USUAL_LENGTHS
    most: int = 8
    """Chains of one server."""
    is_acyclic: bool = False
    seed: int = 0
    name = "walk"
    takes = ProposedChains

    @property
    def version(self) -> str:
        """Of the rules and what is asked for."""
        return stage_version(
            rules="1",
            lengths=self.lengths,
            most=self.most,
            is_acyclic=self.is_acyclic,
            seed=self.seed,
        )

    async def run(self, item: Item[ProposedChains]) -> Made[FoundChain] | Rejected:
        """Walk on the graph of one server."""
        proposed = item.value
        server = document_of(self.documents, proposed.server, proposed.version)
        graph = transition_graph((tool.name for tool in server.tools), proposed.chains)
        chance = generator(self.seed, "walk", server.name)
        walks = random_walks(
            graph, self.lengths, chance, most=self.most, is_acyclic=self.is_acyclic
        )
        if not walks:
            told = f"{self.lengths.least} to {self.lengths.most} tools"
            return Rejected("no_walk", f"no walk of {told} was found on the graph of its proposals")
        found = (_found(proposed, walk, share_of(graph, walk)) for walk in walks)
        return Made.of(*(chain_item(item.id, chain) for chain in found))


def _found(proposed: ProposedChains, walk: Sequence[str], weight: float) -> FoundChain:
    steps = tuple(ToolRef(server=proposed.server, tool=tool) for tool in walk)
    chain = Chain(steps=steps, origin=ChainOrigin.GRAPH, weight=weight)
    return FoundChain(chain=chain, versions={proposed.server: proposed.version})


def _drawn(weights: dict[str, int], chance: Random) -> str:
    return chance.choices([*weights], [*weights.values()])[0]


def _share(graph: "TransitionGraph[str]", before: str, after: str) -> float:
    transitions = transitions_from(graph, before)
    return transitions[after] / sum(transitions.values())
