"""A fake store of outcomes, and stages that do what a test tells them to."""

from collections.abc import Awaitable, Callable

import anyio.lowlevel

from astra_mcp.pipeline import Made, Outcome, Rejected, StoredItem
from astra_mcp.types import JsonObject

Work = Callable[[StoredItem], Awaitable[Made[JsonObject] | Rejected]]


def item(id: str, **value: str | int) -> StoredItem:
    """An item whose value says its id too."""
    return StoredItem(id=id, value={"id": id, **value})


def items(num: int) -> list[StoredItem]:
    """Items ``i0``, ``i1``, ..."""
    return [item(f"i{n}") for n in range(num)]


class FakeItemStore:
    """Keeps outcomes in memory; each save takes two steps, so that one that is cut off leaves a half."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str, str], Outcome] = {}
        self.half: set[tuple[str, str, str]] = set()
        """What was begun to be saved, and never was."""
        self.num_saves = 0

    async def find(self, run: str, stage: str, item: str) -> Outcome | None:
        """The outcome that was saved last."""
        await anyio.lowlevel.checkpoint()
        return self.outcomes.get((run, stage, item))

    async def save(self, run: str, stage: str, outcome: Outcome) -> None:
        """Keep an outcome as its JSON, as a database would."""
        key = (run, stage, outcome.item)
        self.half.add(key)
        await anyio.lowlevel.checkpoint()
        self.outcomes[key] = Outcome.model_validate_json(outcome.model_dump_json())
        self.half.remove(key)
        self.num_saves += 1


class ScriptedStage:
    """Does what a function says, and remembers for which items it was asked."""

    takes: type[JsonObject] = dict

    def __init__(self, name: str, work: Work | None = None, *, version: str = "1") -> None:
        """Take the work; without any, an item goes on as it is."""
        self.name = name
        self.version = version
        self._work = work
        self.asked: list[str] = []

    async def run(self, item: StoredItem) -> Made[JsonObject] | Rejected:
        """Do the work."""
        self.asked.append(item.id)
        await anyio.lowlevel.checkpoint()
        return Made.of(item) if self._work is None else await self._work(item)
