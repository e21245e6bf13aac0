"""How verl's trainer tells the command of a step, and waits for its orders: a file each way.

What a run has to remember of its orders stands beside verl's own checkpoint.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from astra_mcp.errors import ConfigError, TrainingError
from training.signals.supervision.lessons import Lesson

__all__ = ["OrderFiles", "Orders", "Told", "read_state", "write_state"]

_STATE = "astra_mcp.json"
_POLL_SECONDS = 0.1
_MOST_SECONDS = 12 * 3600.0
"""The command may ask a model for many reflections meanwhile; where it is killed, so is who waits."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the trainer tells of a step."""

    step: int
    """From 1."""
    figures: Mapping[str, float]
    """By verl's names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What is to be done behind a step, before it is saved."""

    lessons: Sequence[Lesson] = ()
    """Of the phase behind it."""
    is_saved: bool = False
    """A checkpoint is to be written, whether or not it is its turn."""
    is_stopped: bool = False
    """The step is the last one."""
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What a checkpoint has to hold of all orders so far."""


class OrderFiles:
    """The files of one start of a run."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; who tells first makes it."""
        self._folder = folder
        self._answered = 0

    def tell(self, step: int, figures: Mapping[str, float]) -> None:
        """Tell the command of a step that is made."""
        self._folder.mkdir(exist_ok=True)
        _write(self._told, {"step": step, "figures": dict(figures)})

    def told(self) -> Told | None:
        """Give what waits for orders; None where nothing does."""
        if not self._told.exists():
            return None
        found = Told(**orjson.loads(self._told.read_bytes()))
        return found if found.step > self._answered else None

    def give(self, step: int, orders: Orders) -> None:
        """Answer the trainer."""
        lessons = [[lesson.kind, lesson.ids, [*map(int, lesson.mask)]] for lesson in orders.lessons]
        told = {
            "lessons": lessons,
            "is_saved": orders.is_saved,
            "is_stopped": orders.is_stopped,
            "state": dict(orders.state),
        }
        _write(self._orders(step), told)
        self._answered = step

    def wait(self, step: int, most_seconds: float = _MOST_SECONDS) -> Orders:
        """Wait for the orders of a step, and take them away.

        Raises:
            TrainingError: None come.
        """
        file, end = self._orders(step), time.monotonic() + most_seconds
        while not file.exists():
            if time.monotonic() > end:
                raise TrainingError(
                    f"the command gave no orders behind step {step} within {most_seconds:g} s: the same"
                    " command goes on from the newest checkpoint"
                )
            time.sleep(_POLL_SECONDS)
        found = orjson.loads(file.read_bytes())
        file.unlink()
        lessons = [
            Lesson(tuple(ids), tuple(map(bool, mask)), kind)
            for kind, ids, mask in found.pop("lessons")
        ]
        return Orders(lessons=lessons, **found)

    @property
    def _told(self) -> Path:
        return self._folder / "told.json"

    def _orders(self, step: int) -> Path:
        return self._folder / f"orders-{step}.json"


def write_state(checkpoint: Path, state: Mapping[str, Any]) -> None:
    """Keep the state of orders in the folder of verl's checkpoint, before verl names that as the newest."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    _write(checkpoint / _STATE, dict(state))


def read_state(checkpoint: Path, *, is_needed: bool = False) -> Mapping[str, Any]:
    """Read what :func:`write_state` wrote; empty where a checkpoint has none, as those of older versions.

    Args:
        checkpoint: Folder of it.
        is_needed: Refuse to go on without.

    Raises:
        ConfigError: It is missing, or cannot be read.
    """
    file = checkpoint / _STATE
    if not file.exists():
        if is_needed:
            raise ConfigError(
                f"{file} is missing, and says which phases are done: put it back, or begin in another folder"
            )
        return {}
    try:
        return orjson.loads(file.read_bytes())
    except ValueError:
        raise ConfigError(
            f"{file} is no JSON, so it is not known what was done: put it back, or begin in another folder"
        ) from None


def _write(file: Path, value: object) -> None:
    draft = file.with_suffix(".draft")
    try:
        draft.write_bytes(orjson.dumps(value))
        draft.replace(file)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None
