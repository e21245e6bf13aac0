"""What a run of supervised fine-tuning can be told, as one value (``docs/training.md``)."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from astra_mcp.home import user_path
from astra_mcp.types import FrozenModel
from training.export.selection import Selection

__all__ = [
    "CheckpointSettings",
    "DataSet",
    "ExampleSettings",
    "GatewayUrl",
    "LogSettings",
    "ParallelSettings",
    "Per",
    "Precision",
    "ScheduleShape",
    "SftSettings",
    "TooLong",
    "TrainingSettings",
    "ValidationSettings",
]

_UserPath = Annotated[Path, AfterValidator(user_path)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Beta = Annotated[float, Field(ge=0, lt=1)]


def _holds_no_secret(value: str) -> str:
    try:
        parts = urlsplit(value)
    except ValueError:
        raise ValueError("must be a URL such as http://127.0.0.1:8000") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL such as http://127.0.0.1:8000")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must hold no user, password or query: it is kept in run.json")
    return value


GatewayUrl = Annotated[str, AfterValidator(_holds_no_secret)]
"""Of a gateway, as a run's record may hold it."""
_MOST = 2**31 - 1
"""Of what is counted in steps, examples and tokens."""


class Per(StrEnum):
    """What one example is."""

    TRAJECTORY = "trajectory"
    """A whole trajectory, with loss on each turn of the model."""
    TURN = "turn"
    """One turn of the model, behind all that it was shown. Source: the study of collapses, sec. 3.1."""


class TooLong(StrEnum):
    """What becomes of an example with more tokens than are allowed."""

    LEAVE_OUT = "leave_out"
    CUT_LEFT = "cut_left"
    """Its last tokens are kept."""


class ScheduleShape(StrEnum):
    """How the learning rate falls after the warm-up."""

    COSINE = "cosine"
    LINEAR = "linear"
    CONSTANT = "constant"


class Precision(StrEnum):
    """In which numbers the model computes; weights and optimizer are float32 in any case."""

    AUTO = "auto"
    """bfloat16 on a GPU, float32 on a CPU."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class DataSet(FrozenModel):
    """One set of a mixture, and which of its rows are taken."""

    file: _UserPath
    """Rows of ``export sft`` (.jsonl, .ndjson, .parquet), or trajectories."""
    weight: float = Field(default=1.0, gt=0, le=1000)
    """How often each of its rows is seen in an epoch: 0.5 takes another half of them each time."""
    sources: tuple[str, ...] = ()
    """Names of environments or servers; this and the next need rows that say where they come from."""
    min_reward: _Share | None = None
    max_reward: _Share | None = None
    min_calls: int | None = Field(default=None, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_messages: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        for what in ("reward", "calls"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if least is not None and most is not None and least > most:
                msg = f"min_{what} {least} is above max_{what} {most}: no row is between them"
                raise ValueError(msg)
        return self

    @property
    def selection(self) -> Selection:
        """What a trajectory must be like."""
        return Selection(**self.model_dump(exclude={"file", "weight"}))


class ExampleSettings(FrozenModel):
    """How rows become examples."""

    per: Per = Per.TRAJECTORY
    max_tokens: int = Field(default=20_000, ge=2, le=_MOST)
    too_long: TooLong = TooLong.LEAVE_OUT
    thinking: Literal["native_off", "off_sampling_only", "on"] = "native_off"
    """The policy of the renderer."""


class TrainingSettings(FrozenModel):
    """The optimisation."""

    epochs: float = Field(default=2, gt=0, le=10_000)
    max_steps: int | None = Field(default=None, ge=1, le=_MOST)
    """Ends the run early; the schedule is that of a run of so many steps."""
    batch_size: int = Field(default=32, ge=1, le=_MOST)
    """Examples of one step, on all devices together."""
    micro_batch_size: int = Field(default=1, ge=1, le=_MOST)
    """Examples that a device computes at once; changes memory and speed, and sums in their last digits."""
    learning_rate: float = Field(gt=0, le=1)
    schedule: ScheduleShape = ScheduleShape.COSINE
    warmup_ratio: float = Field(default=0.05, ge=0, lt=1)
    betas: tuple[_Beta, _Beta] = (0.9, 0.999)
    weight_decay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of matrices; biases and norms have none."""
    clip_norm: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    precision: Precision = Precision.AUTO
    gradient_checkpointing: bool = False
    """Compute activations again in the backward pass in the place of keeping them."""


class ParallelSettings(FrozenModel):
    """Over how many devices the run is spread."""

    processes: int = Field(default=1, ge=1)
    """One for each device; weights, gradients and optimizer are sharded over them (FSDP2)."""
    context: int = Field(default=1, ge=1)
    """Devices that share one sequence; divides ``processes``."""

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.processes % self.context:
            msg = f"context {self.context} does not divide processes {self.processes}"
            raise ValueError(msg)
        return self


class CheckpointSettings(FrozenModel):
    """What is kept on disk."""

    every: int = Field(default=50, ge=1)
    """Steps; the last step is always saved."""
    keep_states: int = Field(default=2, ge=1)
    """So many of the newest have what resuming needs."""
    keep_weights: int | None = Field(default=None, ge=1)
    """So many of the newest have weights; None keeps all."""


class ValidationSettings(FrozenModel):
    """What a model is held against while it learns."""

    file: _UserPath | None = None
    """Rows that are not trained on, for the loss."""
    environments: tuple[str, ...] = ()
    """Held-out ones that the model plays through a gateway, greedily and at T = 1."""
    url: GatewayUrl | None = None
    """None takes the one that runs here, or serves its own."""
    samples: int = Field(default=1, ge=1, le=64)
    """Episodes of each environment at T = 1."""
    every: int = Field(default=50, ge=1)
    """Steps; the last step is always validated."""


class LogSettings(FrozenModel):
    """Who is told of the figures, beside ``metrics.jsonl``."""

    tensorboard: bool = True
    wandb_project: str | None = Field(default=None, min_length=1)
    """Its key comes from ``WANDB_API_KEY`` or ``wandb login``; with ``WANDB_MODE=offline`` it stays here."""


class SftSettings(FrozenModel):
    """A whole run."""

    model: str = Field(min_length=1)
    """A folder or a name of the hub; ``tiny`` is made on the spot, and knows nothing."""
    out: _UserPath
    """The run's folder."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    data: tuple[DataSet, ...] = ()
    examples: ExampleSettings = ExampleSettings()
    training: TrainingSettings
    parallel: ParallelSettings = ParallelSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    validation: ValidationSettings = ValidationSettings()
    log: LogSettings = LogSettings()
