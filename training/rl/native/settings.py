"""What a run of reinforcement learning can be told, as one value: the one place of all defaults.

What ASTRA leaves open (group size, delta, epsilon of the clip) has a usual value here.
"""

import math
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from astra_mcp.home import user_path
from astra_mcp.types import FrozenModel
from gateway.api.wire import DistractorRequest, FailureRequest
from training.rl.core.policy import PROMPT_TOKENS, RESPONSE_TOKENS, TURNS
from training.sft.settings import CheckpointSettings, GatewayUrl, LogSettings
from training.signals.health.alarms import AlarmSettings
from training.signals.supervision.settings import SignalSettings

__all__ = [
    "Credit",
    "DistractorShare",
    "Earned",
    "FillingSettings",
    "KlUse",
    "LimitSettings",
    "ObjectiveSettings",
    "QuestionSet",
    "RlSettings",
    "UpdateSettings",
    "UserSettings",
    "ValidationSettings",
]

_UserPath = Annotated[Path, AfterValidator(user_path)]
_Beta = Annotated[float, Field(ge=0, lt=1)]
Credit = Literal["episode", "turn"]
Earned = Literal["f1", "recall", "precision"]
KlUse = Literal["none", "metric", "loss"]


class DistractorShare(DistractorRequest):
    """Which task-irrelevant tools to mix in, and how many groups have these. Source: ASTRA sec. 3.2.2."""

    share: float = Field(default=1.0, gt=0, le=1)
    """Of the groups of a set; a draw by the group's number decides which."""


def _listed(value: object) -> object:
    """Take one table for the list of it."""
    if isinstance(value, str):
        raise ValueError('write a table, such as {mode = "banded"}, or a list of tables')  # noqa: TRY004
    many = isinstance(value, list | tuple)
    return cast("object", value) if many else [value]


class QuestionSet(FrozenModel):
    """Questions that are played in groups, and what is asked for with each."""

    environments: tuple[str, ...] = ()
    """Names of a gateway's environments."""
    questions: Literal["main", "all"] = "main"
    """Of each environment that is named."""
    file: _UserPath | None = None
    """Rows of ``export rl`` (.jsonl, .ndjson, .parquet) in the place of names. An episode of a row may ask
    for ``distractors`` and ``failures`` of its own; its seed is not used: seeds derive from the run's.
    """
    distractors: Annotated[tuple[DistractorShare, ...], BeforeValidator(_listed)] = ()
    """Where a row says nothing of them: one kind, or several by shares. Empty: the gateway decides."""
    failures: FailureRequest | None = None
    """Where a row says nothing of them; None: the gateway decides."""

    @field_validator("distractors")
    @classmethod
    def _are_all(cls, kinds: tuple[DistractorShare, ...]) -> tuple[DistractorShare, ...]:
        shares = math.fsum(kind.share for kind in kinds)
        if kinds and not math.isclose(shares, 1, abs_tol=1e-6):
            raise ValueError(f'the shares come to {shares:g}, not to 1; "none" may have one too')
        return kinds

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if bool(self.environments) == (self.file is not None):
            raise ValueError("name either environments or a file of rows")
        if self.file is not None and self.questions == "all":
            raise ValueError("questions is for environments: a file has a row for each question")
        return self


class ObjectiveSettings(FrozenModel):
    """What is made small. Source: ASTRA eq. 32."""

    reward: Earned = "f1"
    """What of the gateway's reward an episode is trained by; a validation says all three. Source: ASTRA sec.
    3.2.2, and 4.2 for the others.
    """
    clip: float = Field(default=0.2, gt=0, lt=1)
    """Epsilon."""
    kl: KlUse = "none"
    """Of a divergence from the model that the run began with: nothing, a figure, or a part of the loss."""
    kl_weight: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Beta; needs ``kl`` to be ``loss``."""
    entropy_weight: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Of a bonus on the entropy of each token."""
    credit: Credit = "episode"
    """What an advantage is for: a whole episode, as in the paper, or each turn by what it solved. Formula:
    :func:`training.rl.native.credit.turn_advantages`."""
    credit_weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Of what tells the turns of an episode apart; for ``credit`` ``turn`` alone."""

    @model_validator(mode="after")
    def _weighs_what_is_used(self) -> Self:
        if self.credit != "turn" and self.credit_weight != 1:
            raise ValueError('credit_weight is for credit = "turn"')
        if (self.kl == "loss") != (self.kl_weight > 0):
            raise ValueError('kl = "loss" and a kl_weight above 0 go together')
        return self


class UpdateSettings(FrozenModel):
    """The optimisation."""

    steps: int = Field(default=50, ge=1)
    """A run that has made them goes on where more are asked for."""
    groups: int = Field(default=8, ge=1, le=4096)
    """n: groups of a batch."""
    group_size: int = Field(default=8, ge=2, le=256)
    """G: episodes of one question."""
    mini_batches: int = Field(default=1, ge=1)
    """Parts of a batch with an update each; 1, as in the paper, is strictly online."""
    micro_batch_size: int = Field(default=32, ge=1)
    """Episodes that are computed at once; changes memory and speed, and sums in their last digits."""
    learning_rate: float = Field(gt=0, le=1)
    """Constant, as in the paper."""
    betas: tuple[_Beta, _Beta] = (0.9, 0.95)
    weight_decay: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    clip_norm: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _can_be_cut(self) -> Self:
        if self.mini_batches > self.groups * self.group_size:
            msg = f"a batch of {self.groups * self.group_size} episodes has no {self.mini_batches} parts"
            raise ValueError(msg)
        return self


class FillingSettings(FrozenModel):
    """How batches are filled. Source: ASTRA sec. 3.1."""

    min_spread: float = Field(default=1e-6, ge=1e-8, allow_inf_nan=False)
    """Delta: a group trains where the standard deviation of its rewards is more. Less than 1e-8 is no spread:
    an advantage is divided by it."""
    max_age: int | None = Field(default=None, ge=1)
    """Steps that a group may wait; None is without bound."""
    max_refills: int | None = Field(default=100, ge=0)
    """Rounds of rollouts beyond the first, for one batch; None is without bound."""


class LimitSettings(FrozenModel):
    """How far the policy may go in one episode."""

    turns: int = Field(default=TURNS, ge=1)
    """Source, like that of the next three: ASTRA sec. 3.2.2."""
    user_turns: int = Field(default=TURNS, ge=1)
    """Of a user who goes on speaking, the first one included."""
    prompt_tokens: int = Field(default=PROMPT_TOKENS, ge=1)
    """Of the first prompt; an episode with a longer one fails, and has no reward."""
    response_tokens: int = Field(default=RESPONSE_TOKENS, ge=1)
    """Of all that follows the prompt: what the policy wrote, and what it was shown in between."""
    turn_tokens: int | None = Field(default=None, ge=1)
    """None: as many as the model's context suggests."""
    context_tokens: int | None = Field(default=None, ge=2)
    """Of prompt and response together; None: all that the model reads, which is the most."""
    end_when_solved: bool = False
    """End an episode with the turn in which the last sub-task is solved."""
    concurrency: int = Field(default=64, ge=1, le=4096)
    """Episodes at once; not fewer than a group has."""


class UserSettings(FrozenModel):
    """Who speaks to the policy after its answers, in training and validation. Source: ASTRA sec. 3.2.2."""

    model: str | None = Field(default=None, min_length=1)
    """As in ``rollout --user``: ``simulated``, or a model's name; None: the prompt is all that is said."""


class ValidationSettings(FrozenModel):
    """Held-out environments that the policy plays, greedily and at T = 1, before the first step and later."""

    environments: tuple[str, ...] = ()
    samples: int = Field(default=1, ge=1, le=64)
    """Episodes of each environment at T = 1."""
    every: int = Field(default=10, ge=1)
    """Steps; the last step is always validated."""
    distractors: DistractorRequest | None = None
    """None: the gateway decides."""


class RlSettings(FrozenModel):
    """A whole run."""

    model: str = Field(min_length=1)
    """A folder, or a name of the hub."""
    out: _UserPath
    """The run's folder."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    url: GatewayUrl | None = None
    """None takes the gateway that runs here, or serves its own."""
    data: tuple[QuestionSet, ...] = Field(min_length=1)
    training: UpdateSettings
    objective: ObjectiveSettings = ObjectiveSettings()
    filling: FillingSettings = FillingSettings()
    limits: LimitSettings = LimitSettings()
    user: UserSettings = UserSettings()
    signals: SignalSettings = SignalSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    validation: ValidationSettings = ValidationSettings()
    log: LogSettings = LogSettings()
    alarms: AlarmSettings = AlarmSettings()
    """What is done where the figures show that something goes wrong; changes no weight."""

    @model_validator(mode="after")
    def _seats_a_group(self) -> Self:
        size = max(self.training.group_size, self.validation.samples)
        if self.limits.concurrency < size:
            msg = f"limits.concurrency is {self.limits.concurrency}, and {size} episodes are played together"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _leaves_a_member_alone(self) -> Self:
        helped, size = self.signals.num_helped, self.training.group_size
        if helped and helped >= size:
            raise ValueError(
                f"signals guide {helped} members of each group, and a group has {size}: the policy plays at"
                " least one alone"
            )
        return self

    @model_validator(mode="after")
    def _can_be_scheduled(self) -> Self:
        schedule = self.signals.schedule
        if schedule.stages and self.training.steps > sum(schedule.stages):
            raise ValueError(
                f"signals.schedule.stages come to {sum(schedule.stages)} steps, and training.steps is"
                f" {self.training.steps}: take fewer steps, or a longer last stage in another folder"
            )
        if self.alarms.kl != "log" and self.objective.kl == "none":
            raise ValueError(
                'alarms.kl is raised with objective.kl = "metric" or "loss" alone: set that too'
            )
        if "kl" in schedule.alarms and self.objective.kl == "none":
            raise ValueError(
                'signals.schedule.alarms names kl, which is raised with objective.kl = "metric" or "loss"'
                " alone"
            )
        return self
