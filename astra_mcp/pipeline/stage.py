"""What a stage is: makes something of one item, or says why it is not good enough."""

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, Self

from pydantic import BaseModel, ConfigDict, Field

from astra_mcp.pipeline.item import Item
from astra_mcp.types import canonical_json

__all__ = ["Made", "Rejected", "Stage", "StageLimits", "input_hash"]


@dataclass(frozen=True, slots=True)
class Made:
    """The item is finished in this stage; what was made of it goes on, each output as an item of its own."""

    outputs: tuple[Item, ...]
    """Their ids derive from the item's id, so that every run makes the same; none of it may be twice."""

    def __post_init__(self) -> None:
        doubled = [id for id, num in Counter(o.id for o in self.outputs).items() if num > 1]
        if doubled:
            msg = f"two outputs have the id {doubled[0]!r}: derive ids by number or content"
            raise ValueError(msg)

    @classmethod
    def of(cls, *outputs: Item) -> Self:
        """Wrap any number of outputs; none is fine, where the stage itself is the end of the item."""
        return cls(outputs)


@dataclass(frozen=True, slots=True)
class Rejected:
    """The item is not good enough, for good; never a word for something that failed."""

    reason: str
    """A short name out of few, which the yield table counts by."""
    detail: str = ""
    """What is wrong with this very item, for people."""

    def __post_init__(self) -> None:
        if not self.reason:
            msg = "a rejection needs a reason: the yield table counts by it"
            raise ValueError(msg)


class Stage(Protocol):
    """One step of a pipeline; one object works on many items at once."""

    @property
    def name(self) -> str:
        """Unique in its pipeline, and the same in every run."""
        ...

    @property
    def version(self) -> str:
        """Of all that its outputs depend on beside the item (code, prompts, model, settings).

        Under a new version every item is computed anew.
        """
        ...

    async def run(self, item: Item) -> Made | Rejected:
        """Work on one item.

        Raises:
            AstraError: A model, a sandbox or another part failed: the item fails; the next run tries again.
            BudgetSpentError: The item fails like that, and no further one is begun in this run.
            ConfigError: The caller has to mend something first, so the whole run stops, as it does with
                any exception that is none of this project's: that is a mistake in the stage.
        """
        ...


class StageLimits(BaseModel):
    """How much a stage may do at once, and how long one item may take in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: int = Field(default=8, ge=1, le=4096)
    """Items in work at once."""
    item_seconds: float = Field(default=600.0, gt=0)
    """Deadline of one item; it fails then with the reason ``deadline``."""


def input_hash(stage: Stage, item: Item) -> str:
    """Hash what an outcome depends on: the stage's version and the item's value."""
    return sha256(canonical_json([stage.version, item.value])).hexdigest()
