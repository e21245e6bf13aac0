"""Near-duplicates across a run, decided in the order of the sources, whatever the order of answers.

What was made of a source waits until it is known what became of all that come before it. So the first of
two alike is always the one that stays, also where a run was killed and goes on. Sources are given so far
ahead, and no further, that those that wait never take all places.
"""

import re
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import ceil

import anyio

from astra_mcp.answers import tokenize
from astra_mcp.pipeline import Given, ItemStatus, NotBegun, Outcome, Progress, Settled, StoredItem

__all__ = ["NearDuplicates", "SourceOrder"]

_ALIKE = 0.8
"""Jaccard similarity of the sets of tokens from which two questions count as one."""


class NearDuplicates:
    """Finds, of questions that are added one by one, an earlier one that is nearly the same."""

    def __init__(self) -> None:
        self._tokens: list[tuple[str, frozenset[str]]] = []
        self._places: dict[str, list[int]] = {}
        """Where each token stands."""

    def find(self, question: str) -> str | None:
        """The id of the first that is alike; None where there is none."""
        tokens = frozenset(tokenize(question))
        places = {place for token in self._rarest(tokens) for place in self._places.get(token, ())}
        for place in sorted(places):
            id, other = self._tokens[place]
            if len(tokens & other) >= _ALIKE * len(tokens | other):
                return id
        return None

    def add(self, id: str, question: str) -> None:
        """Take one in."""
        tokens = frozenset(tokenize(question))
        for token in tokens:
            self._places.setdefault(token, []).append(len(self._tokens))
        self._tokens.append((id, tokens))

    def _rarest(self, tokens: frozenset[str]) -> Sequence[str]:
        """So many tokens that whatever is alike has one of them, and such that few others have."""
        num = len(tokens) - ceil(_ALIKE * len(tokens)) + 1
        return nsmallest(num, tokens, key=lambda token: len(self._places.get(token, ())))


@dataclass(slots=True)
class _Awaited:
    """What is not decided of a source."""

    num_holds: int = 1
    """How many may still give items that are made of it."""
    num_items: int = 0
    """On their way, those that wait included."""
    waiting: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])
    """Those that wait for their turn, by id."""


class SourceOrder:
    """Knows of each source what is still awaited; hears the runs that work on what is made of it.

    The order is that of the sources, and of one source's items that of their ids, numbers in them by value.
    Ids of items begin with that of their source, then ``/``. Where several runs work at the same sources,
    each of them is heard, and :meth:`begin`, :meth:`hold` and :meth:`release` say which sources are open.
    """

    def __init__(
        self,
        leads: Iterable[str],
        decides: str,
        *,
        member: str,
        window: int,
        ends: Collection[str] = (),
    ) -> None:
        """Begin with nothing.

        Args:
            leads: Names of the stages that items go through before it.
            decides: Name of the stage in which items wait for their turn.
            member: Of its outputs' values; holds the text that is compared.
            window: How many sources may be under way before the first of them is decided. The stage needs as
                many workers as items can be made of so many sources.
            ends: Those of ``leads`` whose outputs end a run: what they lead to is given to another one.
        """
        self._leads, self._decides, self._ends = frozenset(leads), decides, frozenset(ends)
        self._member = member
        self._room = anyio.Semaphore(window)
        self._sources: dict[str, _Awaited] = {}
        """In their order; those that are decided are left out."""
        self.accepted = NearDuplicates()

    async def feed(self, sources: Iterable[StoredItem]) -> AsyncGenerator[StoredItem]:
        """Give sources to a run, in their order."""
        for source in sources:
            await self.begin(source.id)
            yield source
            self.release(source.id)

    async def begin(self, source: str) -> None:
        """Wait until there is room for a source, and hold it open: more may be given of it."""
        await self._room.acquire()
        self._sources[source] = _Awaited()

    def hold(self, source: str) -> None:
        """Hold a source open once more, for another one who gives items of it."""
        self._sources[source].num_holds += 1

    def release(self, source: str) -> None:
        """Say that whoever held a source gives nothing more of it; what was given is on its way."""
        self._sources[source].num_holds -= 1
        self._advance()

    async def turn(self, item: str) -> None:
        """Wait until all before the item of this id are decided.

        Raises:
            LookupError: It is of no source that is under way, which is a mistake in its id.
        """
        source = self._source(item)
        if source is None:
            raise LookupError(f"the item {item!r} is of no source that is under way")
        event = source.waiting.setdefault(item, anyio.Event())
        self._advance()
        await event.wait()

    def hear(self, event: Progress) -> None:
        """Take note of a step of a run."""
        match event:
            case Given(item=item):
                self._count(item, 1)
            case Settled(stage=self._decides, outcome=outcome):
                self._accept(outcome)
                self._decide(outcome.item)
            case Settled(stage=stage, outcome=outcome) if stage in self._leads:
                num_outputs = 0 if stage in self._ends else len(outcome.outputs)
                self._count(outcome.item, num_outputs - 1)
            case NotBegun(stage=self._decides, item=item):
                self._decide(item)
            case NotBegun(stage=stage, item=item) if stage in self._leads:
                self._count(item, -1)
            case _:
                return
        self._advance()

    def _source(self, item: str) -> _Awaited | None:
        """What is awaited of an item's source; None where it is none that was begun."""
        name = item
        while name not in self._sources:
            name, slash, _ = name.rpartition("/")
            if not slash:
                return None
        return self._sources[name]

    def _count(self, item: str, more: int) -> None:
        source = self._source(item)
        if source is not None:
            source.num_items += more

    def _accept(self, outcome: Outcome) -> None:
        if outcome.status is ItemStatus.FINISHED:
            for output in outcome.outputs:
                self.accepted.add(output.id, str(output.value[self._member]))

    def _decide(self, item: str) -> None:
        source = self._source(item)
        if source is not None:
            source.waiting.pop(item, None)
            source.num_items -= 1

    def _advance(self) -> None:
        while self._sources:
            name, first = next(iter(self._sources.items()))
            if first.num_holds or first.num_items > len(first.waiting):
                return
            if first.waiting:
                first.waiting[min(first.waiting, key=_by_numbers)].set()
                return
            del self._sources[name]
            self._room.release()


def _by_numbers(id: str) -> tuple[list[str | int], str]:
    """Compare ids by their parts, those that are numbers by value."""
    parts = re.split(r"([0-9]+)", id)
    return [int(part) if n % 2 else part for n, part in enumerate(parts)], id
