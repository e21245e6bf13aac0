"""What a stage is, and one attempt at one item in it: the one place where what stops a stage becomes data."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Generic, Protocol, TypeVar, cast

import anyio
from pydantic import BaseModel, Field, ValidationError

from astra_mcp.errors import (
    AstraError,
    BudgetSpentError,
    ConfigError,
    ModelError,
    PipelineError,
)
from astra_mcp.llm.outage import LOST
from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline.item import Item, ItemStatus, Outcome, StoredItem
from astra_mcp.types import FrozenModel, JsonObject, canonical_json, json_fault

_LOST = {f"model_{fault}" for fault in LOST}
ValueT = TypeVar("ValueT")
OutputT_co = TypeVar("OutputT_co", covariant=True)

__all__ = [
    "BUDGET",
    "DEADLINE",
    "Failed",
    "Made",
    "Rejected",
    "Stage",
    "StageLimits",
    "attempt",
    "can_be_kept",
    "input_hash",
    "is_budget_spent",
    "is_model_lost",
    "outcome_of",
]

BUDGET = "budget"
"""Reason of an item whose work was cut short because the budget is spent."""
UNKEEPABLE = "unkeepable"
"""Reason of an item of which something was made that JSON carries to no other program."""
DEADLINE = "deadline"
"""Reason of an item that took longer than its stage allows."""


@dataclass(frozen=True, slots=True)
class Made(Generic[OutputT_co]):
    """The item is finished in this stage; what was made of it goes on, each output as an item of its own."""

    outputs: tuple[Item[OutputT_co], ...]
    """Their ids derive from the item's id, so that every run makes the same; none of it may be twice."""

    def __post_init__(self) -> None:
        doubled = [id for id, num in Counter(o.id for o in self.outputs).items() if num > 1]
        if doubled:
            msg = f"two outputs have the id {doubled[0]!r}: derive ids by number or content"
            raise ValueError(msg)

    @staticmethod
    def of(*outputs: Item[ValueT]) -> "Made[ValueT]":
        """Wrap any number of outputs; none is fine, where the stage itself is the end of the item."""
        return Made(outputs)


@dataclass(frozen=True, slots=True)
class Rejected:
    """The item is not good enough, for good; never a word for something that failed."""

    reason: str
    """A short name out of few, which the yield table counts by."""
    detail: str = ""
    """What is wrong with this very item, for people."""

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError("a rejection needs a reason: the yield table counts by it")


class Stage(Protocol[ValueT, OutputT_co]):
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

    @property
    def takes(self) -> type[ValueT]:
        """The type of the values that it works on: a model, or ``dict`` for any JSON object."""
        ...

    async def run(self, item: Item[ValueT]) -> Made[OutputT_co] | Rejected:
        """Work on one item.

        Raises:
            AstraError: A model, a sandbox or another part failed: the item fails; the next run tries again.
            BudgetSpentError: The item fails like that, and no further one is begun in this run.
            ConfigError: The caller has to mend something first, so the whole run stops, as it does with
                any exception that is none of this project's: that is a mistake in the stage.
        """
        ...


class StageLimits(FrozenModel):
    """How much a stage may do at once, and how long one item may take in it."""

    concurrency: int = Field(default=8, ge=1, le=4096)
    """Items in work at once."""
    item_seconds: float = Field(default=600.0, gt=0)
    """Deadline of one item; it fails then with the reason ``deadline``."""


def input_hash(stage: Stage[Any, Any], item: StoredItem) -> str:
    """Hash what an outcome depends on: the stage's version and the item's value."""
    return sha256(canonical_json([stage.version, item.value])).hexdigest()


def can_be_kept(outputs: Iterable[StoredItem]) -> bool:
    """Tell whether outputs can be stored, hashed and read back, as JSON that any program reads."""
    return all(json_fault(output.value) is None for output in outputs)


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that the item is not to blame for stopped the work on it."""

    reason: str
    detail: str


async def attempt(
    stage: Stage[Any, Any], item: StoredItem, *, seconds: float
) -> Made[Any] | Rejected | Failed:
    """Let a stage work on an item.

    Args:
        stage: Does the work.
        item: Is worked on.
        seconds: Its deadline.

    Raises:
        ConfigError: The caller has to mend something first.
        PipelineError: The value is none of the type that the stage takes.
        Exception: A mistake in the stage, as it was raised, with a note of where it happened.
    """
    given = _typed(stage, item)
    try:
        with anyio.move_on_after(seconds):
            return await stage.run(given)
    except Exception as error:
        failure = _failure_of(error)
        if failure is None:
            error.add_note(f"in the stage {stage.name!r}, at the item {item.id!r}")
            raise
        return failure
    return Failed(DEADLINE, f"not done within {seconds:g} s")


def is_budget_spent(result: Made[Any] | Rejected | Failed) -> bool:
    """True where an attempt ended because the budget is spent."""
    return isinstance(result, Failed) and result.reason == BUDGET


def is_model_lost(result: Made[Any] | Rejected | Failed) -> bool:
    """True where an attempt ended because the model's endpoint is not there, or takes no call."""
    return isinstance(result, Failed) and result.reason in _LOST


def outcome_of(
    item: StoredItem, digest: str, result: Made[Any] | Rejected | Failed, usage: Usage
) -> Outcome:
    """Write down what an attempt led to.

    Args:
        item: Was worked on.
        digest: Its input's hash.
        result: Of the attempt.
        usage: Of all attempts at the item so far.
    """
    outcome = partial(Outcome, item=item.id, input_hash=digest, usage=usage)
    match result:
        case Made():
            outputs = tuple(map(_stored, result.outputs))
            if can_be_kept(outputs):
                return outcome(status=ItemStatus.FINISHED, outputs=outputs)
            detail = (
                "what was made of it holds an integer beyond 64 bits, a number that is not finite, half a"
                " character, or more than 100 levels"
            )
            return outcome(status=ItemStatus.FAILED, reason=UNKEEPABLE, detail=detail)
        case Rejected():
            status = ItemStatus.REJECTED
        case Failed():
            status = ItemStatus.FAILED
    return outcome(status=status, reason=result.reason, detail=result.detail)


def _typed(stage: Stage[ValueT, Any], item: StoredItem) -> Item[ValueT]:
    takes = stage.takes
    if not issubclass(takes, BaseModel):
        return cast("Item[ValueT]", item)
    try:
        return Item[takes](id=item.id, value=takes.model_validate(item.value))
    except ValidationError as error:
        raise PipelineError(
            f"the stage {stage.name!r} takes {takes.__name__}, which the item {item.id!r} is not: an earlier"
            f" stage changed what it makes without a new version ({error.errors()[0]['msg']})"
        ) from None


def _stored(item: Item[Any]) -> StoredItem:
    value: object = item.value
    plain = value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
    return StoredItem(id=item.id, value=cast("JsonObject", plain))


def _failure_of(error: Exception) -> Failed | None:
    """Say which failure an exception stands for; None where it stands for a mistake.

    A stage that runs tasks of its own raises groups: one mistake in a group makes all of it one.
    """
    causes = list(_causes(error))
    if not all(_is_failure(cause) for cause in causes):
        return None
    for cause in causes:
        if isinstance(cause, BudgetSpentError):
            return Failed(BUDGET, str(cause))
    return Failed(_reason(causes[0]), str(causes[0]))


def _causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for member in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _causes(member)
    else:
        yield error


def _is_failure(error: BaseException) -> bool:
    return isinstance(error, AstraError) and not isinstance(error, ConfigError | PipelineError)


def _reason(error: BaseException) -> str:
    """Name a failure after its boundary: ``model_timeout``, ``sandbox_lost``."""
    if isinstance(error, ModelError):
        return f"model_{error.fault}"
    name = type(error).__name__.removesuffix("Error")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
