"""Items, what became of them in a stage, where that is kept, and what a run tells while it goes on."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from pydantic import Field

from astra_mcp.llm.usage import Usage
from astra_mcp.types import FrozenModel, JsonObject

ValueT = TypeVar("ValueT")

__all__ = [
    "Begun",
    "Given",
    "Interrupted",
    "Item",
    "ItemStatus",
    "ItemStore",
    "NotBegun",
    "Outcome",
    "Progress",
    "Settled",
    "StoredItem",
]


class ItemStatus(StrEnum):
    """What became of an item in a stage."""

    FINISHED = "finished"
    """The stage made something of it; never computed again."""
    REJECTED = "rejected"
    """The stage judged that it is not good enough; final too, with its reason."""
    FAILED = "failed"
    """A model, a sandbox or the machine failed, or the budget was spent; the next run tries again."""


class Item(FrozenModel, Generic[ValueT]):
    """What goes through the stages; a stage is given a value of its own type."""

    id: str = Field(min_length=1)
    """Unique in its run and stage, and the same in every run: outcomes are found again by it."""
    value: ValueT


StoredItem = Item[JsonObject]
"""An item as the runner carries and keeps it, whatever the types of the stages before and behind."""


class Outcome(FrozenModel):
    """What became of one item in one stage."""

    item: str
    input_hash: str
    """Of the item's value and the stage's version; an outcome of another input is none of this one."""
    status: ItemStatus
    reason: str = ""
    """A short name that the yield table counts by; empty where it finished."""
    detail: str = ""
    """What happened, for people."""
    outputs: tuple[StoredItem, ...] = ()
    """What goes on to the next stage; only of a finished item."""
    usage: Usage = Usage()
    """Of all attempts at this input, the failed ones of earlier runs included."""


class ItemStore(Protocol):
    """Keeps outcomes; satisfied by ``registry``."""

    async def find(self, run: str, stage: str, item: str) -> Outcome | None:
        """The outcome that was saved last, whatever its input was."""
        ...

    async def save(self, run: str, stage: str, outcome: Outcome) -> None:
        """Keep an outcome, with its outputs, in one step: all of it or nothing; replaces an earlier one."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """A source gave an item to a stage."""

    item: str
    stage: str = ""
    """Which one, where it is not the first of the run."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A stage began to work on an item; :class:`Settled` or :class:`Interrupted` follows."""

    stage: str
    item: str


@dataclass(frozen=True, slots=True)
class Settled:
    """It is known, and saved, what became of an item in a stage."""

    stage: str
    outcome: Outcome
    usage: Usage
    """Of this run alone; that of the outcome counts failed attempts of earlier runs too."""
    is_recalled: bool
    """True where an earlier run did the work, so that nothing was begun."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run was stopped at once while a stage worked on an item; nothing of it was saved."""

    stage: str
    item: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class NotBegun:
    """The budget is spent, or the model gives nothing, so a stage did not begin an item that came to it."""

    stage: str
    item: str
    reason: str = ""
    """Why, for people."""


Progress = Given | Begun | Settled | Interrupted | NotBegun
"""The outputs of a settled item are given to the next stage; no event of their own says so."""
