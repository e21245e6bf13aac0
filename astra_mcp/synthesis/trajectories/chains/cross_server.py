"""Chains over two or three servers: what one gives that means the same to all, another one takes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, FoundChain, Join, ToolRef
from astra_mcp.synthesis.trajectories.chains.deeds import Deed
from astra_mcp.synthesis.trajectories.chains.joining import Step, joins_for, steps_of
from astra_mcp.synthesis.trajectories.chains.meanings import shared_meanings
from astra_mcp.synthesis.trajectories.server import Documents

__all__ = ["cross_server_chains"]

_PATIENCE: Final = 4000
"""So many draws in a row without a further chain, and there are taken to be no more."""
_NEAR: Final = 0.5
"""Of the draws, those that stay within a domain where they can."""
_OF_PAIR: Final = 3
"""Chains that begin with the same two servers."""
_OF_TOOL: Final = 12
"""Chains that one tool comes to be in."""

_Places = dict[str, list[Step]]
"""Tools by their servers."""


@dataclass(slots=True)
class _Index:
    """The tools that give a meaning, and those that take it, by the meaning."""

    givers: dict[str, _Places] = field(default_factory=dict[str, _Places])
    takers: dict[str, _Places] = field(default_factory=dict[str, _Places])

    def meanings(self) -> list[str]:
        """Those that two servers can be joined by."""
        return sorted(
            name
            for name in self.givers.keys() & self.takers.keys()
            if len(self.givers[name].keys() | self.takers[name].keys()) > 1
        )


def cross_server_chains(
    documents: Documents, num: int, *, seed: int, share_of_three: float = 0.5
) -> list[FoundChain]:
    """Build chains over servers, joined by output fields to inputs; ``chain_item`` makes items of them.

    Two servers are compatible where a result of one holds what an argument of the other one takes, and the
    value means the same to every server (``meanings.toml``); so are their domains then. Half of the draws
    stay within one domain where they can. Meanings are drawn before servers, and servers before tools, so
    that neither a frequent meaning nor a large server takes all places. A third server takes something of
    either of the first two. The first tool needs nothing that only a server can say.

    Args:
        documents: The servers by name.
        num: Chains that are wanted; fewer where the documents do not give them.
        seed: Root seed.
        share_of_three: Of the chains, those for which a third server is looked for.
    """
    index = _indexed(documents)
    meanings = index.meanings()
    chance = generator(seed, "cross-server chains")
    found: dict[tuple[ToolRef, ...], FoundChain] = {}
    pairs, tools = Counter[tuple[str, ...]](), Counter[ToolRef]()
    patience = _PATIENCE if meanings else 0
    while len(found) < num and patience:
        patience -= 1
        steps = _drawn(index, documents, chance.choice(meanings), chance, share_of_three)
        refs = tuple(ToolRef(server=step.server, tool=step.fields.name) for step in steps)
        pair = tuple(step.server for step in steps[:2])
        is_full = pairs[pair] >= _OF_PAIR or any(tools[ref] >= _OF_TOOL for ref in refs)
        if refs and refs not in found and not is_full:
            found[refs] = _chain(documents, refs, _joins(steps))
            pairs[pair] += 1
            tools.update(refs)
            patience = _PATIENCE
    return [*found.values()]


def _indexed(documents: Documents) -> _Index:
    index = _Index()
    for name in sorted(documents):
        for step in steps_of(documents[name]):
            if joins_for((), step) is not None:
                for meaning in step.given:
                    _put(index.givers, meaning, step)
            if not step.fields.has_more_needs:
                for meaning in step.taken.values():
                    _put(index.takers, meaning, step)
    return index


def _put(places: dict[str, _Places], meaning: str, step: Step) -> None:
    of_server = places.setdefault(meaning, {}).setdefault(step.server, [])
    if step not in of_server:
        of_server.append(step)


def _drawn(
    index: _Index, documents: Documents, meaning: str, chance: Random, share_of_three: float
) -> list[Step]:
    """Draw the steps of one chain; none where what was drawn cannot follow one another."""
    giver = _choose(index.givers[meaning], chance, without=())
    steps = [] if giver is None else _longer([giver], index, documents, meaning, chance)
    if len(steps) < 2 or chance.random() >= share_of_three or steps[-1].fields.deed is Deed.REMOVES:
        return steps if len(steps) > 1 else []
    given = dict.fromkeys(meaning for step in steps for meaning in step.given)
    options = [meaning for meaning in given if meaning in index.takers]
    return _longer(steps, index, documents, chance.choice(options), chance) if options else steps


def _longer(
    steps: Sequence[Step], index: _Index, documents: Documents, meaning: str, chance: Random
) -> list[Step]:
    """Append a step of a further server that takes a meaning, where one can follow."""
    before = [step.server for step in steps]
    places = index.takers[meaning]
    if chance.random() < _NEAR:
        domain = documents[before[0]].domain
        near = {name: found for name, found in places.items() if documents[name].domain == domain}
        places = near if near.keys() - set(before) else places
    taker = _choose(places, chance, without=before)
    if taker is None or _repeats(steps, taker) or not joins_for(steps, taker):
        return [*steps]
    return [*steps, taker]


def _repeats(steps: Sequence[Step], taker: Step) -> bool:
    """Say whether a step would do with a value what an earlier one did: read the same page, such as."""
    taken = {meaning for step in steps for meaning in step.taken.values()}
    once = {meaning.name for meaning in shared_meanings() if meaning.is_once}
    return not once.isdisjoint(taken.intersection(taker.taken.values()))


def _choose(places: _Places, chance: Random, *, without: Sequence[str]) -> Step | None:
    names = [name for name in places if name not in without]
    return chance.choice(places[chance.choice(names)]) if names else None


def _joins(steps: Sequence[Step]) -> tuple[Join, ...]:
    joins = (joins_for(steps[:at], step) or () for at, step in enumerate(steps))
    return tuple(join for each in joins for join in each)


def _chain(documents: Documents, refs: tuple[ToolRef, ...], joins: tuple[Join, ...]) -> FoundChain:
    chain = Chain(steps=refs, origin=ChainOrigin.CROSS_SERVER, joins=joins)
    return FoundChain(
        chain=chain, versions={name: documents[name].version for name in chain.servers}
    )
