"""Chains of one server without a model: greedy, of tools of which one gives what the next one takes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.asking import stage_version
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, FoundChain, Join, ToolRef
from astra_mcp.synthesis.trajectories.chains.deeds import Deed
from astra_mcp.synthesis.trajectories.chains.joining import Step, fit, joins_for, steps_of
from astra_mcp.synthesis.trajectories.chains.proposing import (
    USUAL_LENGTHS,
    Lengths,
)
from astra_mcp.synthesis.trajectories.chains.walking import chain_item
from astra_mcp.synthesis.trajectories.server import (
    DocumentedServer,
    Documents,
    ServerItem,
    document_of,
)

__all__ = ["OfflineChains", "offline_chains"]

_PATIENCE: Final = 24
"""So many tries in a row without a further chain, and there are taken to be no more."""
_MOST_TOOLS: Final = 64
"""Tools of a server that are compared with one another; of a larger one so many are drawn."""
_ALONE: Final = 0.05
"""Weight of a tool that needs nothing, beside the strength of joins."""
_GIVING: Final = frozenset((Deed.LISTS, Deed.SHOWS))


class _Links:
    """What may follow what in a server."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.weights: dict[tuple[str, str], float] = {}
        """By the names of two tools, the strength of the best fit between them."""
        for source in steps:
            for target in steps:
                fits = (fit(source, target, need) for need in target.fields.needs)
                best = max((found.strength for found in fits if found), default=0.0)
                if best and source is not target:
                    self.weights[source.fields.name, target.fields.name] = best
        leading = {source for source, _ in self.weights}
        self.starts = [s for s in steps if s.fields.name in leading and joins_for((), s) == ()]

    def weight(self, earlier: Sequence[Step], target: Step) -> float:
        """How much speaks for a tool to come next; 0 where nothing does."""
        if target in earlier or earlier[-1].fields.deed is Deed.REMOVES:
            return 0.0
        best = max(self.weights.get((s.fields.name, target.fields.name), 0.0) for s in earlier)
        if best:
            return best
        return _ALONE if not target.fields.needs and target.fields.deed in _GIVING else 0.0


def offline_chains(
    server: DocumentedServer, *, seed: int, lengths: Lengths = USUAL_LENGTHS, most: int = 8
) -> list[FoundChain]:
    """Build chains of a server from its documents alone.

    The first step needs nothing that only a server can say. Each one after it is joined to an earlier one, or
    needs nothing; one join at least is there. No tool comes twice, and what removes something comes last.

    Args:
        server: Its documents.
        seed: Root seed; each server has a seed of its own.
        lengths: How many tools a chain has.
        most: Chains that are wanted; different ones.
    """
    chance = generator(seed, "offline chains", server.name)
    steps = steps_of(server)
    if len(steps) > _MOST_TOOLS:
        steps = [steps[at] for at in sorted(chance.sample(range(len(steps)), _MOST_TOOLS))]
    links = _Links(steps)
    found: dict[tuple[str, ...], FoundChain] = {}
    patience = _PATIENCE if links.starts else 0
    while len(found) < most and patience:
        patience -= 1
        steps, joins = _grown(links, chance.randint(lengths.least, lengths.most), chance)
        names = tuple(step.fields.name for step in steps)
        if len(names) >= lengths.least and joins and names not in found:
            found[names] = _chain(server, names, joins)
            patience = _PATIENCE
    return [*found.values()]


def _grown(links: _Links, wanted: int, chance: Random) -> tuple[list[Step], tuple[Join, ...]]:
    steps, joins = [chance.choice(links.starts)], ()
    while len(steps) < wanted:
        weights = {
            at: weight for at, s in enumerate(links.steps) if (weight := links.weight(steps, s))
        }
        while weights:
            at = chance.choices([*weights], [*weights.values()])[0]
            del weights[at]
            further = joins_for(steps, links.steps[at])
            if further is not None:
                steps.append(links.steps[at])
                joins += further
                break
        else:
            break
    return steps, joins


def _chain(server: DocumentedServer, names: Sequence[str], joins: tuple[Join, ...]) -> FoundChain:
    steps = tuple(ToolRef(server=server.name, tool=name) for name in names)
    chain = Chain(steps=steps, origin=ChainOrigin.OFFLINE, joins=joins)
    return FoundChain(chain=chain, versions={server.name: server.version})


@dataclass(frozen=True, slots=True)
class OfflineChains:
    """The stage that stands in the place of proposals and walks where no model is asked."""

    documents: Documents = field(repr=False)
    lengths: Lengths = USUAL_LENGTHS
    most: int = 8
    """Chains of one server."""
    seed: int = 0
    name = "offline_chains"
    takes = ServerItem

    @property
    def version(self) -> str:
        """Of the rules and what is asked for."""
        return stage_version(rules="2", lengths=self.lengths, most=self.most, seed=self.seed)

    async def run(self, item: Item[ServerItem]) -> Made[FoundChain] | Rejected:
        """Build the chains of one server."""
        server = document_of(self.documents, item.value.name, item.value.version)
        chains = offline_chains(server, seed=self.seed, lengths=self.lengths, most=self.most)
        if not chains:
            detail = (
                "its documents do not say of any tool that its result holds what another one takes"
            )
            return Rejected("no_join", detail)
        return Made.of(*(chain_item(item.id, chain) for chain in chains))
