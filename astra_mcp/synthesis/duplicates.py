"""Near-duplicates across a run, decided in the order of the sources, whatever the order of answers.

What was made of a source waits until it is known what became of all that come before it. So the first of
two alike is always the one that stays, also where a run was killed and goes on. Sources are given so far
ahead, and no further, that those that wait never take all places.

What failed or was not begun in a run may become the first of two alike in the next one. So nothing behind it
is let through that it could keep out: what asks nearly the same, and, where it is not known yet what it will
ask, what is made of the same source. And each run decides all anew, which costs no call of a model.
"""

import re
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import ceil
from secrets import token_hex

import anyio

from astra_mcp.errors import UndecidedError
from astra_mcp.pipeline import Given, ItemStatus, NotBegun, Outcome, Progress, Settled, StoredItem
from astra_mcp.synthesis.likeness import ALIKE, ComparedText

__all__ = ["NearDuplicates", "SourceOrder"]

_NOT_DECIDED = "failed or was not begun, and has to be decided first"


class NearDuplicates:
    """Finds, of questions that are added one by one, an earlier one that is nearly the same."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, ComparedText]] = []
        self._places: dict[str, list[int]] = {}
        """Where each token stands."""

    def find(self, question: str) -> str | None:
        """The id of the first that is alike; None where there is none."""
        text = ComparedText.of(question)
        rarest = self._rarest(text.tokens)
        places = {place for token in rarest for place in self._places.get(token, ())}
        for place in sorted(places):
            id, other = self._texts[place]
            if text.is_like(other):
                return id
        return None

    def add(self, id: str, question: str) -> None:
        """Take one in."""
        text = ComparedText.of(question)
        for token in text.tokens:
            self._places.setdefault(token, []).append(len(self._texts))
        self._texts.append((id, text))

    def _rarest(self, tokens: frozenset[str]) -> Sequence[str]:
        """So many tokens that whatever is alike has one of them, and such that few others have."""
        num = len(tokens) - ceil(ALIKE * len(tokens)) + 1
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
    undecided: dict[str, str] = field(default_factory=dict[str, str])
    """What is asked by those that failed or were not begun, by id."""
    unwritten: list[str] = field(default_factory=list[str])
    """Ids of those of which it is not known what will be made of them."""


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
        written: Collection[str] = (),
    ) -> None:
        """Begin with nothing.

        Args:
            leads: Names of the stages that items go through before it.
            decides: Name of the stage in which items wait for their turn.
            member: Of its outputs' values; holds the text that is compared.
            window: How many sources may be under way before the first of them is decided. The stage needs as
                many workers as items can be made of so many sources.
            ends: Those of ``leads`` whose outputs end a run: what they lead to is given to another one.
            written: Those of ``leads`` that change no text and make one item of one at most.
        """
        self._leads, self._decides, self._ends = frozenset(leads), decides, frozenset(ends)
        self._written = {*written, decides}
        self._member = member
        self._texts: dict[str, str] = {}
        """Of items on their way, as far as they are known."""
        self._undecided = NearDuplicates()
        """Those of earlier sources that failed or were not begun."""
        self.opened = token_hex(8)
        """Another in each run: a decision depends on all items before, so that no run takes another's."""
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

    def find(self, item: str, question: str) -> str | None:
        """The id of the first accepted one that asks nearly the same; None where there is none.

        Args:
            item: Id of the one whose turn it is.
            question: What it asks.

        Raises:
            UndecidedError: One before it, which has to be decided first, failed or was not begun.
        """
        alike = self.accepted.find(question)
        source = self._source(item)
        if alike is None and source is not None:
            self._require_decided(source, item, question)
        return alike

    def _require_decided(self, source: _Awaited, item: str, question: str) -> None:
        place, asked = _by_numbers(item), ComparedText.of(question)
        alike = self._undecided.find(question) or next(
            (
                id
                for id, text in source.undecided.items()
                if _by_numbers(id) < place and asked.is_like(ComparedText.of(text))
            ),
            None,
        )
        if alike is not None:
            raise UndecidedError(f"{alike}, which asks nearly the same, {_NOT_DECIDED}")
        unwritten = [id for id in source.unwritten if _by_numbers(id) < place]
        if unwritten:
            raise UndecidedError(f"{unwritten[0]}, of which may come the same, {_NOT_DECIDED}")

    def hear(self, event: Progress) -> None:
        """Take note of a step of a run."""
        match event:
            case Given(item=item):
                self._count(item, 1)
            case Settled(stage=stage, outcome=outcome) if self._is_heard(stage):
                if outcome.status is ItemStatus.FAILED:
                    self._leave_open(stage, outcome.item)
                self._settle(stage, outcome)
            case NotBegun(stage=stage, item=item) if self._is_heard(stage):
                self._leave_open(stage, item)
                if stage == self._decides:
                    self._decide(item)
                else:
                    self._count(item, -1)
            case _:
                return
        self._advance()

    def _is_heard(self, stage: str) -> bool:
        return stage == self._decides or stage in self._leads

    def _settle(self, stage: str, outcome: Outcome) -> None:
        self._texts.pop(outcome.item, None)
        if stage == self._decides:
            self._accept(outcome)
            self._decide(outcome.item)
            return
        is_end = stage in self._ends
        self._count(outcome.item, (0 if is_end else len(outcome.outputs)) - 1)
        for output in () if is_end else outcome.outputs:
            text = output.value.get(self._member)
            if isinstance(text, str):
                self._texts[output.id] = text

    def _leave_open(self, stage: str, item: str) -> None:
        """Note that an item comes no further in this run, and is tried again by the next one."""
        name = self._source_name(item)
        if name is None:
            return
        text = self._texts.pop(item, None)
        if text is not None:
            self._sources[name].undecided[item] = text
        if text is None or stage not in self._written:
            # What several items that ended a run lead to begins with the source's id alone.
            self._sources[name].unwritten.append(name if stage in self._ends else item)

    def _source(self, item: str) -> _Awaited | None:
        """What is awaited of an item's source; None where it is none that was begun."""
        name = self._source_name(item)
        return None if name is None else self._sources[name]

    def _source_name(self, item: str) -> str | None:
        name = item
        while name not in self._sources:
            name, slash, _ = name.rpartition("/")
            if not slash:
                return None
        return name

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
            for id, text in first.undecided.items():
                self._undecided.add(id, text)
            del self._sources[name]
            self._room.release()


def _by_numbers(id: str) -> tuple[list[str | int], str]:
    """Compare ids by their parts, those that are numbers by value."""
    parts = re.split(r"([0-9]+)", id)
    return [int(part) if n % 2 else part for n, part in enumerate(parts)], id
