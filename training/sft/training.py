"""The loop: batches, gradients, the schedule, checkpoints, validation and figures, until the last step.

Each step follows from its number: batch, learning rate and random numbers are functions of it and of the
settings. So a run that goes on from a checkpoint makes the very weights of one that never stopped.
"""

import logging
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, cast

import torch

from astra_mcp.errors import ConfigError, TrainingError
from astra_mcp.seeds import derive_seed
from training.checkpoints import CheckpointStore, CheckpointWriter
from training.sft.batches import micro_batches, num_trained
from training.sft.devices import Devices
from training.sft.examples import Example
from training.sft.model import (
    Model,
    load_model,
    make_optimizer,
    optimizer_state,
    restore_optimizer,
    set_learning_rate,
    side_files,
    tied_names,
    weights_of,
)
from training.sft.preparing import Prepared
from training.sft.run_folder import RunFolder

__all__ = ["Ending", "Outcome", "Progress", "Validator", "train"]

_logger = logging.getLogger(__name__)


class Validator(Protocol):
    """Says how good a model is, beside its loss; :mod:`training.evaluation` plays environments with it."""

    async def __call__(self, model: Any, step: int) -> Mapping[str, float]:
        """Give figures by their names.

        Args:
            model: As it is after the step, in evaluation mode; it is not changed.
            step: How many steps it was trained.
        """
        ...


class Ending(StrEnum):
    """How a run came to an end."""

    DONE = "done"
    STOPPED = "stopped"
    """Somebody asked for it; the step that was reached is saved."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What is heard after a step."""

    step: int
    """How many are done."""
    num_steps: int
    values: Mapping[str, float]
    """Figures by their names, those of a validation among them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run."""

    ending: Ending
    step: int
    began_at: int
    """The step from which it went on; 0 for a new run."""
    weights: Path | None
    """The newest; None where nothing was saved."""


def train(
    prepared: Prepared,
    *,
    hear: Callable[[Progress], None],
    validate: Callable[[Model, int], Mapping[str, float]] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train to the last step, or until somebody asks for the end.

    Args:
        prepared: What was checked before.
        hear: Told of each step; in the first process only.
        validate: Gives figures of the model beside its loss; called in every process.
        should_stop: Asked after each step.

    Raises:
        ConfigError: The folder holds another run, or weights and no state to go on from, the model cannot
            be loaded, or the processes are not as many as the settings say.
        CheckpointError: A checkpoint cannot be written.
        TrainingError: The loss is no number any more, or the memory does not suffice.
    """
    settings = prepared.settings
    devices = Devices(settings)
    folder = None
    if devices.is_first:
        # More threads add in another order, and so change the last bits.
        versions = {**prepared.versions, "torch-threads": str(torch.get_num_threads())}
        folder = RunFolder.open(settings, prepared.digests, versions)
    devices.accelerator.wait_for_everyone()
    keep = settings.checkpoints
    store = CheckpointStore(settings.out, keep.keep_states, keep.keep_weights)
    with _told_of_memory(), _writer(devices, store) as writer:
        run = _Run(prepared, devices, store, writer, folder)
        if folder is not None:
            folder.log_from(run.began_at)
        with devices.trackers(run.began_at + 1):
            return run.play(hear, validate, should_stop)


def _writer(
    devices: Devices, store: CheckpointStore
) -> AbstractContextManager[CheckpointWriter | None]:
    return CheckpointWriter(store) if devices.is_first else nullcontext()


@contextmanager
def _told_of_memory() -> Generator[None]:
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise TrainingError(
            "the device's memory does not suffice: set training.gradient_checkpointing, take a smaller"
            f" training.micro_batch_size or examples.max_tokens, or more devices ({error})"
        ) from error


def _check_new(store: CheckpointStore) -> None:
    """Refuse to train over weights of a run that has no whole state; a killed first save leaves one step."""
    steps = store.weights.steps()
    if len(steps) > 1:
        raise ConfigError(
            f"{store.folder} has weights up to step {steps[-1]}, and no whole state to go on from: name"
            f" another folder with --out, or move {store.weights.root} away to begin anew"
        )
    if steps:
        _logger.warning(
            "%s has weights of step %d without their state: training begins at step 0, and makes them anew",
            store.folder,
            steps[0],
        )


class _Run:
    """The parts of one run, from loading to the end."""

    def __init__(
        self,
        prepared: Prepared,
        devices: Devices,
        store: CheckpointStore,
        writer: CheckpointWriter | None,
        folder: RunFolder | None,
    ) -> None:
        self._prepared = prepared
        self._settings = prepared.settings
        self._devices = devices
        self._store = store
        self._writer = writer
        self._folder = folder
        checkpoint = store.newest()
        if checkpoint is None:
            _check_new(store)
        self.began_at = checkpoint.step if checkpoint else 0
        self._saved: Path | None = checkpoint.weights if checkpoint else None
        source = str(checkpoint.weights) if checkpoint else self._prepared.model
        loaded = load_model(
            source,
            gradient_checkpointing=self._settings.training.gradient_checkpointing
            and not devices.is_sharded,
        )
        self._files: Mapping[str, bytes] = {}
        if devices.is_first:
            self._files = side_files(loaded, prepared.model)
        self._tied = tied_names(loaded)
        optimizer = make_optimizer(loaded, self._settings.training)
        self._model, self._optimizer = devices.place(loaded, optimizer)
        if checkpoint:
            state = store.load_state(checkpoint)
            restore_optimizer(self._model, self._optimizer, state["optimizer"])

    def play(
        self,
        hear: Callable[[Progress], None],
        validate: Callable[[Model, int], Mapping[str, float]] | None,
        should_stop: Callable[[], bool],
    ) -> Outcome:
        """Make the steps that are left."""
        total = len(self._prepared.batches)
        step, is_stopped = self.began_at, False
        while step < total and not is_stopped:
            values, is_stopped = self._step(step, should_stop)
            step += 1
            is_last = step == total
            if is_last or step % self._settings.validation.every == 0:
                values |= self._validation(step, validate)
            self._tell(step, values)
            if is_last or is_stopped or step % self._settings.checkpoints.every == 0:
                self._save(step)
            if self._devices.is_first:
                hear(Progress(step, total, values))
        if self._writer is not None:
            self._writer.wait()
        is_done = step == total
        ending = Ending.DONE if is_done else Ending.STOPPED
        return Outcome(ending, step, self.began_at, self._saved)

    def _step(self, number: int, should_stop: Callable[[], bool]) -> tuple[dict[str, float], bool]:
        began = time.perf_counter()
        settings, batch = self._settings.training, self._prepared.batch(number)
        rate = self._prepared.schedule.rate(number)
        set_learning_rate(self._optimizer, rate)
        seed = derive_seed(self._settings.seed, "sft", "step", number, self._devices.rank)
        cast("Any", torch).manual_seed(seed >> 1)
        trained = num_trained(batch)
        micros = self._micros(batch)
        lost = self._devices.add_gradients(self._model, micros, trained)
        norm = self._devices.clip(self._model, settings.clip_norm)
        summed, asked = self._devices.summed(lost, float(should_stop()))
        if not (math.isfinite(norm) and math.isfinite(summed)):
            raise TrainingError(
                f"the loss or its gradient is no number any more in step {number + 1}; the checkpoints"
                " before it are as they were: take a smaller training.learning_rate in another folder"
            )
        self._optimizer.step()
        self._optimizer.zero_grad()
        values = {
            "loss": summed / trained,
            "learning_rate": rate,
            "gradient_norm": norm,
            "epoch": self._prepared.epoch(number + 1),
            "examples": len(batch),
            "tokens": sum(len(each.ids) for each in batch),
            "trained_tokens": trained,
            "seconds": time.perf_counter() - began,
        }
        return values, asked > 0

    def _micros(self, batch: Sequence[Example]) -> Any:
        return micro_batches(
            batch,
            self._settings.training.micro_batch_size,
            rank=self._devices.rank,
            ranks=self._devices.ranks,
            multiple=self._devices.multiple,
        )

    def _validation(
        self, step: int, validate: Callable[[Model, int], Mapping[str, float]] | None
    ) -> dict[str, float]:
        values: dict[str, float] = {}
        self._model.eval()
        held_out = self._prepared.validation
        if held_out is not None:
            size = self._settings.training.batch_size
            lost = trained = 0.0
            for at in range(0, len(held_out.examples.examples), size):
                batch = held_out.examples.examples[at : at + size]
                (summed,) = self._devices.summed(
                    self._devices.losses(self._model, self._micros(batch))
                )
                lost += summed
                trained += num_trained(batch)
            values["validation_loss"] = lost / trained
        if validate is not None:
            values |= validate(self._model, step)
        self._model.train()
        return values

    def _tell(self, step: int, values: Mapping[str, float]) -> None:
        if self._folder is not None:
            self._folder.log(step, values)
        self._devices.tell(step, values)

    def _save(self, step: int) -> None:
        weights = weights_of(self._model, self._tied)
        state = {"optimizer": optimizer_state(self._model, self._optimizer), "step": step}
        if self._writer is not None:
            self._writer.save(step, weights, state, self._files)
            self._saved = self._store.weights.final(step)
