"""Alarms: what in the figures of a run is a sign that it goes wrong, and what is probably behind it.

An alarm is data: over which figures its rule looks, how bad it is, and the failure of which it is the
signature. The board carries the rules out, step by step, and its state is a few numbers that a checkpoint
holds. Source of the causes: the study of collapses of tool-use RL; its text gives no thresholds, so these
are chosen here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Any, Final, Literal, cast

from astra_mcp.types import FrozenModel
from training.signals.health.probes import END_AFTER_START
from training.signals.health.rules import Above, Fall, Jump, Leap, Loss, Memory, Rule
from training.signals.health.structure import Reason, State

__all__ = [
    "ALARMS",
    "Action",
    "Alarm",
    "AlarmBoard",
    "AlarmSettings",
    "Heard",
    "Heeded",
    "Level",
    "Raised",
]

Action = Literal["log", "checkpoint", "stop"]
"""What is done when an alarm is raised, beside saying so: nothing, a save, or a save and the end."""
_POLLUTED, _COLLAPSED = f"structure/{State.POLLUTED}", f"structure/{State.COLLAPSED}"
_CALLS, _KL, _REWARD = f"structure/{State.TOOL_CALL}", "kl", "rollout/reward"
_REASONS = "structure/reasons/"


class Level(StrEnum):
    """How bad it is."""

    WARNING = "warning"
    SERIOUS = "serious"
    CRITICAL = "critical"
    """The policy is lost, or about to be; a pre-flight ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What is watched."""

    name: str
    level: Level
    rule: Rule
    condition: str
    """The rule in words."""
    cause: str
    """What is probably wrong, in words."""


ALARMS: Final = (
    Alarm(
        name="polluted",
        level=Level.WARNING,
        rule=Jump(_POLLUTED, floor=0.05, factor=3),
        condition="more than 5 % of the turns are polluted, and more than three times their moving average",
        cause="control tokens begin to stand where they do not belong, as they do before a collapse",
    ),
    Alarm(
        name="collapse",
        level=Level.CRITICAL,
        rule=Above(((_COLLAPSED, 0.05), (_POLLUTED, 0.2)), steps=3),
        condition="for 3 steps, more than 5 % of the turns are collapsed or more than 20 % polluted",
        cause=(
            "control tokens are amplified until turns hold little else: the form is lost, and what the policy"
            " can do is hidden behind it; supervision in the same form (SFT before or between) and a smaller"
            " learning rate are what helps"
        ),
    ),
    Alarm(
        name="kl",
        level=Level.SERIOUS,
        rule=Leap(_KL, factor=10, window=20),
        condition="the divergence from the first model is more than 10 times its median of the last 20 steps",
        cause=(
            "the policy leaves the model that it began with in one leap: too large a learning rate, or tokens"
            " whose probability was next to nothing are driven up"
        ),
    ),
    Alarm(
        name="reward",
        level=Level.SERIOUS,
        rule=Fall(_REWARD, share=0.5, steps=10),
        condition="for 10 steps, the reward is less than half of the best that its moving average was",
        cause=(
            "what was learned is lost again: where the form of the turns changed too, it is a collapse;"
            " where it did not, the questions became harder, or the updates too large"
        ),
    ),
    Alarm(
        name="calls",
        level=Level.SERIOUS,
        rule=Loss(_CALLS, share=0.2),
        condition="the share of turns with a sound call is less than a fifth of that of the first step",
        cause=(
            "the policy stops to call tools: it answers from memory, or cannot bring a call to its end any"
            " more; the skill may still be there behind another form of the prompt"
        ),
    ),
    Alarm(
        name="start",
        level=Level.SERIOUS,
        rule=Above(((END_AFTER_START, 0.05),)),
        condition="right behind the start of a call, the end of the turn has a probability above 5 %",
        cause=(
            "the end of a turn is amplified behind the start of a call, which is how the study's policies"
            " came to write nothing but the two"
        ),
    ),
)
"""Every alarm, in the order in which they are told."""

_SIGNATURES: Mapping[Reason, str] = {
    Reason.EMPTY: "turns are empty",
    Reason.ONLY_TAGS: "turns hold control tokens alone",
    Reason.UNCLOSED_CALL: "calls are begun and not closed",
    Reason.STRAY_CLOSE: "calls are closed that were not begun",
    Reason.STRAY_TAG: (
        "tags of thoughts, turns or results stand in the words: do SFT, sampling and training render alike?"
    ),
    Reason.UNCLOSED_THOUGHT: "thoughts are not closed: is the thinking policy the same in SFT and RL?",
    Reason.TAG_INSIDE_CALL: "control tokens stand within calls",
    Reason.BAD_JSON: "calls are no JSON",
    Reason.BAD_SCHEMA: "calls have JSON of another form: did SFT write calls in this dialect?",
    Reason.UNREAD_PART: "something stands where the dialect has no place for it",
    Reason.NO_END: "turns are cut before their end: are limits.turn_tokens enough, or is no end learned?",
    Reason.UNREADABLE_CALL: "calls cannot be read",
}


class AlarmSettings(FrozenModel):
    """What is done about each alarm."""

    polluted: Action = "log"
    collapse: Action = "log"
    kl: Action = "log"
    reward: Action = "log"
    calls: Action = "log"
    start: Action = "log"

    def of_preflight(self) -> "AlarmSettings":
        """Stop at whatever is critical."""
        critical = {alarm.name: "stop" for alarm in ALARMS if alarm.level is Level.CRITICAL}
        return self.model_copy(update=critical)


@dataclass(frozen=True, slots=True)
class Raised:
    """An alarm whose condition came to hold at a step, and did not before."""

    step: int
    alarm: Alarm
    action: Action
    values: Mapping[str, float]
    """The figures over which it looks."""
    signature: str | None = None
    """Of what form most of the unhealthy turns of the step are; for alarms over such turns."""

    def __str__(self) -> str:
        alarm = self.alarm
        values = ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())
        seen = f"; mostly, {self.signature}" if self.signature else ""
        return (
            f"step {self.step}: {alarm.level} alarm {alarm.name}: {alarm.condition} ({values}){seen}."
            f" Probably: {alarm.cause}"
        )


Heard = Callable[[Raised], None]
"""Told of each alarm that is raised."""


@dataclass(frozen=True, slots=True)
class Heeded:
    """What the alarms of a step ask for."""

    figures: Mapping[str, float]
    holding: frozenset[str]
    """Names of the alarms whose condition holds."""
    is_saved: bool
    is_stopped: bool


@dataclass(slots=True)
class _Watched:
    """How an alarm stands after a step."""

    holds: bool = False
    memory: Memory = field(default_factory=list[float])


class AlarmBoard:
    """All alarms of a run, and what they keep from step to step."""

    def __init__(self, settings: AlarmSettings, alarms: Sequence[Alarm] = ALARMS) -> None:
        """Hang them up.

        Args:
            settings: What is done about each.
            alarms: Which there are.
        """
        self._settings = settings
        self._watched = {alarm: _Watched() for alarm in alarms}

    def see(self, step: int, values: Mapping[str, float]) -> list[Raised]:
        """Look at the figures of a step, and give the alarms that are raised by it.

        An alarm is raised once, and again after its condition has not held in between. Where a step lacks a
        figure of an alarm, that stays as it was.

        Args:
            step: Number of the step, from 1.
            values: Its figures by their names.
        """
        raised: list[Raised] = []
        for alarm, watched in self._watched.items():
            figures = alarm.rule.figures
            if not all(isfinite(values.get(name, float("nan"))) for name in figures):
                continue
            held, watched.holds = watched.holds, alarm.rule.holds(values, watched.memory)
            if watched.holds and not held:
                seen = {name: values[name] for name in figures}
                action: Action = getattr(self._settings, alarm.name)
                signature = _signature(values) if {*figures} & {_POLLUTED, _COLLAPSED} else None
                raised.append(Raised(step, alarm, action, seen, signature))
        return raised

    def heed(self, step: int, values: Mapping[str, float], hear: Heard) -> Heeded:
        """Look at the figures of a step, and say what is to be done about it.

        Args:
            step: Number of the step, from 1.
            values: Its figures by their names.
            hear: Told of each alarm that is raised.
        """
        raised = self.see(step, values)
        for each in raised:
            hear(each)
        actions = {each.action for each in raised}
        return Heeded(
            self.figures,
            self.holding,
            is_saved=bool(actions - {"log"}),
            is_stopped="stop" in actions,
        )

    @property
    def holding(self) -> frozenset[str]:
        """Names of those whose condition holds."""
        return frozenset(alarm.name for alarm, each in self._watched.items() if each.holds)

    @property
    def figures(self) -> dict[str, float]:
        """Whether the condition of each holds, as 1 or 0, behind ``alarms/``."""
        return {f"alarms/{a.name}": float(each.holds) for a, each in self._watched.items()}

    def state(self) -> dict[str, Any]:
        """Give what a checkpoint has to hold."""
        return {
            alarm.name: {"holds": each.holds, "memory": [*each.memory]}
            for alarm, each in self._watched.items()
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what a checkpoint held; an alarm that it does not know begins anew."""
        for alarm, each in self._watched.items():
            known = cast("Mapping[str, Any]", state.get(alarm.name, {}))
            each.holds = bool(known.get("holds", False))
            each.memory = [float(number) for number in known.get("memory", ())]


def _signature(values: Mapping[str, float]) -> str | None:
    """Say in words of what form most unhealthy turns of a step are."""
    counts = {reason: values.get(f"{_REASONS}{reason}", 0.0) for reason in Reason}
    most = max(counts, key=lambda reason: counts[reason])
    return _SIGNATURES[most] if counts[most] else None
