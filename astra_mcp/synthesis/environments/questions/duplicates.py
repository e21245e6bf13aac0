"""Near-duplicates across a run, decided in the order of the sources, whatever the order of answers.

An instance waits until it is known what became of all that come before it. So the first of two alike is
always the one that stays, also where a run was killed and goes on. Sources are given so far ahead, and no
further, that those that wait never take all places.
"""

from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from hashlib import sha256
from math import ceil

import anyio

from astra_mcp.answers import tokenize
from astra_mcp.pipeline import ItemStatus, NotBegun, Progress, Settled, StoredItem
from astra_mcp.synthesis.environments.questions.source import Source

__all__ = ["NearDuplicates", "SourceOrder"]

_ALIKE = 0.8
"""Jaccard similarity of the sets of tokens from which two questions count as one."""


class NearDuplicates:
    """Finds, of questions that are added one by one, an earlier one that is nearly the same."""

    def __init__(self) -> None:
        self._tokens: list[tuple[str, frozenset[str]]] = []
        self._places: dict[str, list[int]] = {}

    def find(self, question: str) -> str | None:
        """The id of the first that is alike; None where there is none."""
        tokens = frozenset(tokenize(question))
        places = {place for token in _prefix(tokens) for place in self._places.get(token, ())}
        for place in sorted(places):
            id, other = self._tokens[place]
            if len(tokens & other) >= _ALIKE * len(tokens | other):
                return id
        return None

    def add(self, id: str, question: str) -> None:
        """Take one in."""
        tokens = frozenset(tokenize(question))
        for token in _prefix(tokens):
            self._places.setdefault(token, []).append(len(self._tokens))
        self._tokens.append((id, tokens))


def _prefix(tokens: frozenset[str]) -> Sequence[str]:
    """So many tokens, in one order of all, that two sets that are alike share one of them."""
    ordered = sorted(tokens, key=lambda token: sha256(token.encode()).digest())
    return ordered[: len(ordered) - ceil(_ALIKE * len(ordered)) + 1]


class SourceOrder:
    """Knows of each source what is still awaited; hears the run that it gives sources to."""

    def __init__(self, makes: str, decides: str, *, window: int) -> None:
        """Begin with nothing.

        Args:
            makes: Name of the stage that makes instances of sources.
            decides: Name of the stage in which instances wait for their turn.
            window: How many sources may be under way before the first of them is decided.
        """
        self._makes, self._decides = makes, decides
        self._room = anyio.Semaphore(window)
        self._sources: deque[str] = deque()
        self._awaited: dict[str, list[str] | None] = {}
        """Instances of each source that are not decided, in order; None where they are not known."""
        self._turns: dict[str, anyio.Event] = {}
        self.accepted = NearDuplicates()

    async def feed(self, sources: Iterable[Source]) -> AsyncGenerator[StoredItem]:
        """Give sources to a run, in their order."""
        for source in sources:
            await self._room.acquire()
            self._sources.append(source.id)
            self._awaited[source.id] = None
            yield StoredItem(id=source.id, value=source.model_dump(mode="json"))

    async def turn(self, instance: str) -> None:
        """Wait until all instances before the one of this id are decided."""
        event = self._turns.setdefault(instance, anyio.Event())
        self._advance()
        await event.wait()

    def hear(self, event: Progress) -> None:
        """Take note of a step of the run."""
        match event:
            case Settled(stage=self._makes, outcome=outcome):
                self._awaited[outcome.item] = [output.id for output in outcome.outputs]
            case Settled(stage=self._decides, outcome=outcome):
                if outcome.status is ItemStatus.FINISHED:
                    for output in outcome.outputs:
                        self.accepted.add(output.id, str(output.value["main_question"]))
                self._decide(outcome.item)
            case NotBegun(stage=self._makes, item=source):
                self._awaited[source] = []
            case NotBegun(stage=self._decides, item=instance):
                self._decide(instance)
            case _:
                return
        self._advance()

    def _decide(self, instance: str) -> None:
        self._turns.pop(instance, None)
        for awaited in self._awaited.values():
            if awaited is not None and instance in awaited:
                awaited.remove(instance)

    def _advance(self) -> None:
        while self._sources:
            awaited = self._awaited[self._sources[0]]
            if awaited:
                if awaited[0] in self._turns:
                    self._turns[awaited[0]].set()
                return
            if awaited is None:
                return
            del self._awaited[self._sources.popleft()]
            self._room.release()
