"""verl's worker, that can also learn lessons by cross entropy: with verl's own loss, engine and optimizer."""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false
# pyright: reportUntypedFunctionDecorator=false, reportPrivateUsage=false

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from verl.single_controller.base.decorator import Dispatch, register
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.dataset_utils import DatasetPadMode
from verl.utils.device import get_device_name
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.utils.losses import sft_loss

__all__ = ["LearningWorker", "Row", "share_of"]

Row = tuple[Sequence[int], Sequence[bool]]
"""Tokens, and which of them the policy would have written."""
_NOTHING: Row = (0, 0), (False, False)
"""Makes shares of devices equal, and counts for nothing."""


class LearningWorker(ActorRolloutRefWorker):
    """Holds the policy, samples with it and may hold the reference; one for each device."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self) -> None:
        """Load what the worker holds; on a CPU as PyTorch takes it."""
        if get_device_name() != "cpu":
            super().init_model()
            return
        from training.rl.verl.cpu.plugin import unpinned  # noqa: PLC0415 - it registers a CPU with verl

        with unpinned():
            super().init_model()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def learn_lessons(
        self,
        updates: Sequence[tuple[float, Sequence[Row]]],
        optimizer: str,
        most_rows: int,
        *,
        is_renewed: bool,
    ) -> list[float | None]:
        """Make the updates of a phase.

        Args:
            updates: Of each the learning rate and the rows, of all devices.
            optimizer: What becomes of it, as ``signals.supervision.optimizer`` says.
            most_rows: That a device computes at once.
            is_renewed: Take the model that comes of it for the reference.

        Returns:
            Of each update the mean loss over its tokens, which is no number where it was not made; None where
            another device knows it.
        """
        actor = self.actor
        loss = actor.loss_fn
        actor.set_loss_fn(partial(sft_loss, config=None))
        try:
            with _optimizer_of(actor.engine, optimizer), actor.engine.train_mode():
                losses = [self._update(rate, rows, most_rows) for rate, rows in updates]
        finally:
            actor.set_loss_fn(loss)
        if is_renewed:
            self._renew_reference()
        return losses

    def _update(self, rate: float, rows: Sequence[Row], most_rows: int) -> float | None:
        engine = self.actor.engine
        for group in engine.optimizer.param_groups:
            group["lr"] = rate
        place, number = engine.get_data_parallel_rank(), engine.get_data_parallel_size()
        output = self.actor.train_batch(_batch(share_of(rows, place, number, most_rows), most_rows))
        if output is None:
            return None
        found = tu.get(output, "metrics")
        return float(found["loss"]) if math.isfinite(found["grad_norm"]) else math.nan

    @torch.no_grad()
    def _renew_reference(self) -> None:
        for part in (self.ref.engine.module, self.actor.engine.module):
            part.reshard()  # what is written to a gathered parameter would be lost
        known = dict(self.actor.engine.module.named_parameters())
        for name, parameter in self.ref.engine.module.named_parameters():
            parameter.to_local().copy_(known[name].to_local())

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_reference(self, folder: str) -> None:
        """Keep this device's part of the reference beside that of the policy."""
        self.ref.engine.module.reshard()
        parameters = self.ref.engine.module.named_parameters()
        file = self._reference_file(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        torch.save({name: each.to_local().cpu() for name, each in parameters}, file)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    @torch.no_grad()
    def load_reference(self, folder: str) -> None:
        """Go on with the reference that was kept."""
        self.ref.engine.module.reshard()
        known = torch.load(self._reference_file(folder), weights_only=True)
        for name, parameter in self.ref.engine.module.named_parameters():
            parameter.to_local().copy_(known[name])

    def _reference_file(self, folder: str) -> Path:
        return Path(folder) / f"reference_world_size_{self.world_size}_rank_{self.rank}.pt"


@contextmanager
def _optimizer_of(engine: Any, kind: str) -> Generator[None]:
    """Have the engine learn with the optimizer of a phase, and leave that of its own as is asked for."""
    own = engine.optimizer
    rates = [group["lr"] for group in own.param_groups]
    if kind == "apart":
        engine.optimizer = engine._build_optimizer(engine.module)
    if kind == "fresh":
        own.state.clear()
    try:
        yield
    finally:
        engine.optimizer = own
        for group, rate in zip(own.param_groups, rates, strict=True):
            group["lr"] = rate
    if kind == "fresh":
        own.state.clear()


def share_of(rows: Sequence[Row], place: int, number: int, most_rows: int) -> list[Row]:
    """Give a device as many rows as all others have, in parts of equal size."""
    ordered = sorted(rows, key=lambda row: len(row[0]))
    size = math.ceil(len(ordered) / number)
    part = min(size, most_rows)
    size = math.ceil(size / part) * part
    own = ordered[place::number]
    return [*own, *[_NOTHING] * (size - len(own))]


def _batch(rows: Sequence[Row], most_rows: int) -> Any:
    def nested(values: Sequence[Sequence[int]]) -> torch.Tensor:
        parts = [torch.tensor(each, dtype=torch.int64) for each in values]
        return torch.nested.as_nested_tensor(parts, layout=torch.jagged)

    tensors = {
        "input_ids": nested([ids for ids, _ in rows]),
        "position_ids": nested([range(len(ids)) for ids, _ in rows]),
        "loss_mask": nested([[*map(int, mask)] for _, mask in rows]),
    }
    told = {
        "temperature": 1.0,
        "pad_mode": DatasetPadMode.NO_PADDING,
        "use_dynamic_bsz": False,
        "micro_batch_size_per_gpu": min(len(rows), most_rows),
        "disable_auto_offload": True,  # it is loaded for all updates at once
    }
    return tu.get_tensordict(tensors, told)
