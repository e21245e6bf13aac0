"""What a run can be told of signals, as one section of its settings: the one place of all defaults.

Counts and defaults come from the study of collapses in multi-step tool use, where it names them.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from astra_mcp.home import user_path
from astra_mcp.types import FrozenModel
from training.signals.health.alarms import ALARMS

__all__ = [
    "DemonstrationSettings",
    "HintSettings",
    "ReflectionSettings",
    "ScheduleSettings",
    "Shaping",
    "SignalSettings",
    "SupervisionSettings",
    "TextSource",
]

_UserPath = Annotated[Path, AfterValidator(user_path)]
Shaping = Literal["none", "luffy"]
TextSource = Literal["template", "file", "model"]
"""Who writes a text: a template over gold and record, nobody's own words; a file; a model."""


def _alarm(name: str) -> str:
    known = [alarm.name for alarm in ALARMS]
    if name not in known:
        raise ValueError(f"there is no alarm {name!r}, only {', '.join(known)}")
    return name


def _needs_its_file(source: TextSource, file: Path | None, section: str) -> None:
    if (source == "file") != (file is not None):
        raise ValueError(f'{section}.source = "file" and {section}.file go together')


class DemonstrationSettings(FrozenModel):
    """Members of each group that play the gold calls in the place of the policy (OPS)."""

    members: int = Field(default=0, ge=0)
    """k of a group's G; the study has 1 of 8. 0 is none."""
    shaping: Shaping = "none"
    """``luffy``: what such a member's tokens count is p / (p + gamma) in the place of the clipped ratio."""
    gamma: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    """For ``luffy`` alone."""
    closing: str = Field(default="Every gold call has been made.", min_length=1)
    """What is said behind the last gold call; by default the oracle's words."""

    @model_validator(mode="after")
    def _is_used(self) -> Self:
        if not self.members and self.shaping != "none":
            raise ValueError("shaping is for demonstrations: set members too")
        if self.shaping == "none" and "gamma" in self.model_fields_set:
            raise ValueError('gamma is for shaping = "luffy"')
        return self


class HintSettings(FrozenModel):
    """Members of each group that are sampled with a hint, which training does not see (HBG)."""

    members: int = Field(default=0, ge=0)
    """The study has 2 of 8. 0 is none."""
    position: Literal["system", "user"] = "system"
    """At the end of the standing instructions, or as a message of the user behind the question."""
    source: TextSource = "template"
    file: _UserPath | None = None
    """Rows ``{"environment", "question", "text"}`` (.jsonl, .ndjson, .parquet); without ``question`` the
    main one."""

    @model_validator(mode="after")
    def _has_its_file(self) -> Self:
        if not self.members and self.model_fields_set - {"members"}:
            raise ValueError("hints need members, who are given them")
        _needs_its_file(self.source, self.file, "hints")
        return self


class ScheduleSettings(FrozenModel):
    """After which steps the policy is supervised for a while."""

    stages: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """Steps of each stretch of reinforcement learning, a supervised phase behind each but the last, such as
    50, 100, 150. A run has no more steps than they come to."""
    first: int | None = Field(default=None, ge=1)
    """In the place of stages: steps before the first phase ..."""
    growth: float = Field(default=2.0, ge=1, le=100)
    """... and by what each further stretch is longer than the one before."""
    alarms: tuple[Annotated[str, AfterValidator(_alarm)], ...] = ()
    """Alarms that bring a phase on while their condition holds, in the place of both or beside them."""
    least_gap: int = Field(default=10, ge=1)
    """Steps from one phase to the next that an alarm can bring on."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.stages and self.first is not None:
            raise ValueError("give either stages, or first with growth")
        if len(self.stages) == 1:
            raise ValueError("one stage has no supervised phase: give two or more")
        if self.first is None and "growth" in self.model_fields_set:
            raise ValueError("growth goes with first")
        if not self.alarms and "least_gap" in self.model_fields_set:
            raise ValueError("least_gap goes with alarms")
        return self

    @property
    def is_empty(self) -> bool:
        """Nothing ever brings a phase on."""
        return not (self.stages or self.first or self.alarms)


class ReflectionSettings(FrozenModel):
    """What is said of sampled episodes, and by whom (PRS)."""

    source: TextSource = "template"
    file: _UserPath | None = None
    """Rows ``{"environment", "question", "kind", "text"}``; ``kind`` is ``review`` or ``analysis``."""
    members: int = Field(default=1, ge=1)
    """Of each group in the window, so many of those that the policy played alone are spoken of."""
    condition: Literal["question", "analysis_prompt"] = "question"
    """What the text is an answer to: the question of the episode, or the prompt that asks for the text."""

    @model_validator(mode="after")
    def _has_its_file(self) -> Self:
        _needs_its_file(self.source, self.file, "reflections")
        return self


class SupervisionSettings(FrozenModel):
    """What a supervised phase learns, and how."""

    kind: Literal["errors", "reflections"] = "errors"
    """The gold of what failed (ETS); or what is said of episodes, and that gold too (PRS)."""
    window: int = Field(default=10, ge=1)
    """The newest steps whose episodes are looked at."""
    failure: Literal["no_reward", "recall"] = "no_reward"
    """An episode failed where its reward is 0, or where its recall is below 1."""
    failed: Literal["all", "any"] = "all"
    """A question is an error where all its episodes in the window failed, or any of them."""
    epochs: int = Field(default=2, ge=1)
    batch_size: int = Field(default=128, ge=1)
    learning_rate: float | None = Field(default=None, gt=0, le=1)
    """At its peak, from where it falls by a cosine; has to be given where there is a schedule."""
    warmup_ratio: float = Field(default=0.3, ge=0, le=1)
    optimizer: Literal["fresh", "keep", "apart"] = "fresh"
    """Of AdamW: each phase, and each stretch behind it, begins anew; or one state goes on through all; or
    each phase has its own, and that of reinforcement learning waits meanwhile."""
    reference: Literal["first", "renewed"] = "renewed"
    """What a divergence is measured from behind a phase: the run's first model, or the phase's last."""


class SignalSettings(FrozenModel):
    """All of them; as it stands, there is none."""

    demonstrations: DemonstrationSettings = DemonstrationSettings()
    hints: HintSettings = HintSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    supervision: SupervisionSettings = SupervisionSettings()
    reflections: ReflectionSettings = ReflectionSettings()

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        is_supervised = not self.schedule.is_empty
        if is_supervised and self.supervision.learning_rate is None:
            raise ValueError("a schedule needs supervision.learning_rate")
        if not is_supervised and self.supervision.model_fields_set:
            raise ValueError("supervision needs a schedule: when there is a phase")
        if self.reflections.model_fields_set and not self.reflects:
            raise ValueError('reflections go with a schedule and supervision.kind = "reflections"')
        return self

    @property
    def num_helped(self) -> int:
        """Members of each group that do not play alone, the first ones."""
        return self.demonstrations.members + self.hints.members

    @property
    def is_supervised(self) -> bool:
        """There are phases of supervision."""
        return not self.schedule.is_empty

    @property
    def reflects(self) -> bool:
        """Phases learn from what is said of episodes, too."""
        return self.is_supervised and self.supervision.kind == "reflections"

    @property
    def needs_gold(self) -> bool:
        """Something is made of gold calls."""
        hints = self.hints.members and self.hints.source != "file"
        return bool(self.demonstrations.members or hints or self.is_supervised)

    @property
    def needs_model(self) -> bool:
        """A model writes texts."""
        asks = self.hints.members and self.hints.source == "model"
        return bool(asks or (self.reflects and self.reflections.source == "model"))
