"""The devices of a run, by Accelerate: one, or several that share weights (FSDP2) and sequences."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, cast

import torch
from accelerate import Accelerator
from accelerate.parallelism_config import ParallelismConfig
from accelerate.state import AcceleratorState
from accelerate.tracking import TensorBoardTracker, WandBTracker
from accelerate.utils import FullyShardedDataParallelPlugin
from torch import Tensor
from torch.nn import functional

from astra_mcp.errors import ConfigError
from training.sft.batches import IGNORED, MicroBatch
from training.sft.model import Model
from training.sft.settings import Precision, SftSettings

__all__ = ["Devices", "parallelism"]

_TENSORBOARD = "tensorboard"
_COMMAND = "torchrun --nproc-per-node {processes} -m astra_mcp train sft ..."


def parallelism(settings: SftSettings) -> dict[str, Any]:
    """Give what Accelerate is told of several GPUs; nothing for one.

    Raises:
        ConfigError: Accelerate refuses it.
    """
    processes, context = settings.parallel.processes, settings.parallel.context
    if processes == 1:
        return {}
    try:
        sizes = ParallelismConfig(
            dp_replicate_size=1,
            dp_shard_size=processes // context,
            tp_size=1,
            cp_size=context,
            sp_size=1,
        )
        shards = FullyShardedDataParallelPlugin(
            fsdp_version=2,
            auto_wrap_policy="transformer_based_wrap",
            cpu_ram_efficient_loading=True,
            activation_checkpointing=settings.training.gradient_checkpointing,
        )
    except ValueError as error:
        raise ConfigError(f"parallel: Accelerate refuses it: {error}") from None
    return {"parallelism_config": sizes, "fsdp_plugin": shards}


class Devices:
    """Computes losses and gradients on the devices of this run."""

    def __init__(self, settings: SftSettings) -> None:
        """Join the other processes.

        Raises:
            ConfigError: The run was started as another number of processes than the settings say.
        """
        self._settings = settings
        started, wanted = int(os.environ.get("WORLD_SIZE", "1")), settings.parallel.processes
        if started != wanted:
            how = _COMMAND.format(processes=wanted) if wanted > 1 else "start it without torchrun"
            raise ConfigError(
                f"parallel.processes is {wanted}, and this run was started as {started}: {how}"
            )
        has_gpu = torch.cuda.is_available()
        self.is_sharded = has_gpu and wanted > 1
        """Whether weights are spread (FSDP2), which then also computes activations again where asked for."""
        if settings.parallel.context > 1 and not has_gpu:
            raise ConfigError(
                f"parallel.context is {settings.parallel.context}: it takes GPUs, and there is none"
            )
        # Accelerate holds all runs of a process to the precision of the first; Transformers resets it, too.
        AcceleratorState._reset_state()  # pyright: ignore[reportPrivateUsage]
        self.accelerator = Accelerator(
            cpu=started > 1 and not has_gpu,  # else each of several processes would be alone
            mixed_precision=self._precision(),
            project_dir=settings.out,
            # Accelerate shards over GPUs alone: on CPUs, each process has the whole model.
            **(parallelism(settings) if has_gpu else {}),
        )

    def _precision(self) -> str:
        wanted = self._settings.training.precision
        if wanted is Precision.AUTO:
            wanted = Precision.BFLOAT16 if torch.cuda.is_available() else Precision.FLOAT32
        return "bf16" if wanted is Precision.BFLOAT16 else "no"

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and speaks to people."""
        return bool(self.accelerator.is_main_process)

    @property
    def rank(self) -> int:
        """Number of this device among those with data of their own."""
        return int(self.accelerator.process_index) // self._settings.parallel.context

    @property
    def ranks(self) -> int:
        """How many devices have data of their own."""
        return self._settings.parallel.processes // self._settings.parallel.context

    @property
    def multiple(self) -> int:
        """What lengths of sequences are a multiple of: those that share one take two pieces each."""
        context = self._settings.parallel.context
        return 2 * context if context > 1 else 1

    def place(
        self, model: Model, optimizer: torch.optim.Optimizer
    ) -> tuple[Model, torch.optim.Optimizer]:
        """Spread a model and its optimizer over the devices."""
        return cast("Any", self.accelerator).prepare(model, optimizer)

    def add_gradients(self, model: Model, micros: Sequence[MicroBatch], num_trained: int) -> Tensor:
        """Compute the gradients of a batch, and give the sum of this device's losses.

        The loss is the mean over all tokens of the batch, however it is cut: gradients are averaged over
        processes, so each loss is multiplied by their number.

        Args:
            model: As it was placed.
            micros: Of this device.
            num_trained: Tokens with loss in the batch, on all devices.
        """
        scale = self._settings.parallel.processes / num_trained
        total = torch.zeros((), device=self.accelerator.device)
        for number, micro in enumerate(micros):
            is_last = number == len(micros) - 1
            with nullcontext() if is_last else self.accelerator.no_sync(model):
                total += self._add(model, micro, scale)
        return total

    def _add(self, model: Model, micro: MicroBatch, scale: float) -> Tensor:
        """Add the gradients of a micro-batch, while its sequences are shared."""
        with self._summed_loss(model, micro) as loss:
            self.accelerator.backward(loss * scale)
            return loss.detach()

    @torch.no_grad()
    def losses(self, model: Model, micros: Sequence[MicroBatch]) -> Tensor:
        """Give the sum of this device's losses, without gradients."""
        total = torch.zeros((), device=self.accelerator.device)
        for micro in micros:
            with self._summed_loss(model, micro) as loss:
                total += loss
        return total

    @contextmanager
    def _summed_loss(self, model: Model, micro: MicroBatch) -> Generator[Tensor]:
        """Give the sum of a micro-batch's losses; sequences are shared while the context is open.

        Logits are computed where there is a loss alone: those of all places would take more memory than the
        model, since a vocabulary has 150,000 members.
        """
        here = micro.to(self.accelerator.device)
        tensors = [here.ids, here.labels, here.positions]
        shared = (
            self.accelerator.maybe_context_parallel(
                buffers=tensors, buffer_seq_dims=[1, 1, 1], no_restore_buffers=set(tensors)
            )
            if self._settings.parallel.context > 1
            else nullcontext()
        )
        with shared:
            has_loss = (here.labels != IGNORED).any(dim=0)
            kept = (
                has_loss.nonzero().squeeze(1)
                if has_loss.any()
                else torch.zeros_like(here.ids[0, :1])
            )
            output = cast("Any", model)(
                input_ids=here.ids,
                position_ids=here.positions,
                use_cache=False,
                logits_to_keep=kept,
            )
            yield functional.cross_entropy(
                output.logits.float().flatten(0, 1),
                here.labels[:, kept].flatten(),
                ignore_index=IGNORED,
                reduction="sum",
            )

    @contextmanager
    def trackers(self, first_step: int) -> Generator[None]:
        """Tell TensorBoard and Weights & Biases while the context is open.

        Args:
            first_step: The next one; what was told of it and of later ones before is made anew.
        """
        log, out = self._settings.log, self._settings.out
        told: list[Any] = []
        if log.tensorboard:
            told.append(TensorBoardTracker(_TENSORBOARD, out, purge_step=first_step))
        if log.wandb_project:
            name = out.resolve().name
            told.append(
                WandBTracker(log.wandb_project, name=name, id=name, resume="allow", dir=str(out))
            )
        self.accelerator.log_with = told
        self.accelerator.init_trackers(log.wandb_project or _TENSORBOARD)
        try:
            yield
        finally:
            self.accelerator.end_training()

    def tell(self, step: int, values: Mapping[str, float]) -> None:
        """Tell them the figures of a step."""
        self.accelerator.log(dict(values), step=step)

    def summed(self, *values: Tensor | float) -> list[float]:
        """Add values up over all processes."""
        own = torch.stack(
            [torch.as_tensor(v, dtype=torch.float32, device="cpu") for v in values]
        ).to(self.accelerator.device)
        return cast("Any", self.accelerator.reduce(own, reduction="sum")).tolist()

    def clip(self, model: Model, norm: float) -> float:
        """Clip the gradients to a norm; gives the norm before."""
        found = cast("Any", self.accelerator.clip_grad_norm_(model.parameters(), norm))
        full = found.full_tensor() if hasattr(found, "full_tensor") else found
        return float(full)
