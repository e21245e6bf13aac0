"""What verl is told beyond a run of reinforcement learning: where it runs, and how a model is spread."""

from typing import Literal, Self

from pydantic import Field, model_validator

from astra_mcp.types import FrozenModel
from training.rl.native.settings import LimitSettings, RlSettings

__all__ = ["DeviceSettings", "VerlSettings"]


class DeviceSettings(FrozenModel):
    """How a run is laid out on one machine."""

    device: Literal["gpu", "cpu"] = "gpu"
    """GPUs sample with vLLM; a CPU samples with Transformers, in float32."""
    devices: int = Field(default=1, ge=1, le=64)
    """GPUs that train and sample in turn; a CPU is one."""
    tensor_parallel: int = Field(default=1, ge=1)
    """GPUs that sample with one copy of the model."""
    sequence_parallel: int = Field(default=1, ge=1)
    """GPUs that share the tokens of one sequence in training."""
    offload: bool = False
    """Keep parameters and optimizer in the memory of the CPU while they are not used."""
    gradient_checkpointing: bool = True
    """Compute activations again instead of keeping them."""
    memory_share: float = Field(default=0.6, gt=0, lt=1)
    """Of a GPU's memory that vLLM takes."""
    rope_factor: float | None = Field(default=None, gt=1, allow_inf_nan=False)
    """Stretch the positions that the model reads by YaRN, for training and sampling alike."""
    workers: int = Field(default=1, ge=1, le=64)
    """Processes that play episodes; limits.concurrency is divided among them."""
    start_seconds: float = Field(default=300.0, gt=0, le=3600, exclude=True)
    """How long Ray may take to start; no part of what a run is."""
    overrides: tuple[str, ...] = ()
    """Of verl's own configuration, as Hydra writes them; they come last."""

    @model_validator(mode="after")
    def _can_be_laid_out(self) -> Self:
        for name in ("tensor_parallel", "sequence_parallel"):
            if self.devices % getattr(self, name):
                raise ValueError(f"{self.devices} devices are not divided by {name}")
        if self.device == "cpu" and self.devices != 1:
            raise ValueError("a CPU is one device")
        return self


class VerlSettings(RlSettings):
    """A whole run by verl."""

    verl: DeviceSettings = DeviceSettings()

    @property
    def unseen_alarms(self) -> tuple[str, ...]:
        """Names of the alarms over figures that verl does not give."""
        return ("start",)

    @property
    def episodes_of_update(self) -> int:
        """Episodes of one mini-batch, on all devices together."""
        return self.training.groups * self.training.group_size // self.training.mini_batches

    @property
    def episodes_at_once(self) -> int:
        """Episodes that a device computes at once: verl wants equal parts, and some size is the most."""
        shares = self.verl.devices // self.verl.sequence_parallel
        share = self.episodes_of_update // shares
        most = min(self.training.micro_batch_size, share)
        return next(size for size in range(most, 0, -1) if share % size == 0)

    @model_validator(mode="after")
    def _is_known_to_verl(self) -> Self:
        training = self.training
        if self.objective.credit != "episode":
            raise ValueError("objective.credit: verl knows the credit of episodes alone")
        if self.user.model is not None:
            raise ValueError("user.model: with verl nobody speaks to the policy so far")
        if self.limits.user_turns != LimitSettings().user_turns:
            raise ValueError("limits.user_turns: with verl the prompt is all that is said")
        for name in self.unseen_alarms:
            if name in self.alarms.model_fields_set or name in self.signals.schedule.alarms:
                raise ValueError(
                    f"alarms.{name}: it looks at probabilities that verl does not tell, so it is never"
                    " raised: leave it out, also of signals.schedule.alarms"
                )
        if self.signals.demonstrations.shaping != "none":
            raise ValueError(
                "signals.demonstrations.shaping: verl's loss is the same for all tokens; leave it out"
            )
        if training.groups % training.mini_batches:
            raise ValueError(
                f"training.mini_batches: {training.groups} groups have no {training.mini_batches} equal"
                " parts"
            )
        if self.episodes_of_update % self.verl.devices:
            raise ValueError(
                f"verl.devices: {self.episodes_of_update} episodes of an update are not divided by them"
            )
        if self.limits.concurrency < self.verl.workers:
            raise ValueError("verl.workers: limits.concurrency leaves some of them no episode")
        return self
