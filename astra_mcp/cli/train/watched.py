"""How alarms and a pre-flight of reinforcement learning look to people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from astra_mcp.errors import ConfigError
from astra_mcp.report.console import out, say
from astra_mcp.report.shown import Table, styled, whole
from astra_mcp.types import JsonObject
from training.rl.native.settings import RlSettings
from training.sft.training import Outcome, Progress
from training.signals.health.alarms import ALARMS, Level, Raised
from training.signals.health.structure import State

__all__ = ["PREFLIGHT_STEPS", "Watched", "settings_of_preflight"]

PREFLIGHT_STEPS = 50
_FIGURES = (
    *(f"structure/{state}" for state in State),
    *("probe/json", "probe/end", "probe/start", "rollout/reward", "kl"),
)
"""Of which a pre-flight tells the first and the last value."""
_NONE = "-"


def settings_of_preflight(settings: RlSettings) -> RlSettings:
    """Give the settings of the first steps of a run, which end at whatever is critical."""
    steps = min(settings.training.steps, PREFLIGHT_STEPS)
    return settings.model_copy(
        update={
            "training": settings.training.model_copy(update={"steps": steps}),
            "alarms": settings.alarms.of_preflight(),
        }
    )


@dataclass(slots=True)
class Watched:
    """What was seen of a run while it went on."""

    is_preflight: bool = False
    raised: list[Raised] = field(default_factory=list[Raised])
    first: Progress | None = None
    last: Progress | None = None

    def hear(self, progress: Progress) -> None:
        """Take the figures of a step."""
        self.first = self.first or progress
        self.last = progress

    def hear_alarm(self, raised: Raised) -> None:
        """Tell of an alarm at once."""
        self.raised.append(raised)
        say.print(styled((str(raised.alarm.level), "bold red"), ": ", str(raised)))

    @property
    def stopping(self) -> Sequence[Raised]:
        """Those that ended the run."""
        return [each for each in self.raised if each.action == "stop"]

    @property
    def critical(self) -> Sequence[str]:
        """Names of the critical alarms that were raised, or that hold since before."""
        values: Mapping[str, float] = self.last.values if self.last else {}
        raised = {each.alarm.name for each in self.raised}
        return [
            alarm.name
            for alarm in ALARMS
            if alarm.level is Level.CRITICAL
            and (alarm.name in raised or values.get(f"alarms/{alarm.name}"))
        ]

    @property
    def is_enough(self) -> bool:
        """Whether a pre-flight has seen enough: something was critical already when it began."""
        return self.is_preflight and bool(self.critical)

    def check_preflight(self, outcome: Outcome, settings: RlSettings) -> None:
        """Refuse a pre-flight that had nothing to look at.

        Raises:
            ConfigError: The run is past the steps of a pre-flight.
        """
        if self.first is None:
            raise ConfigError(
                f"{settings.out} has made {outcome.step} steps, and a pre-flight looks at the first"
                f" {settings.training.steps}: name another folder with --out"
            )

    def print_preflight(self) -> None:
        """Say what was seen."""
        if self.first is None or self.last is None:
            return
        first, last = self.first, self.last
        table = Table(whole("figure"), f"step {first.step}", f"step {last.step}")
        for name in _FIGURES:
            if name in first.values or name in last.values:
                table.add_row(
                    name, *(_shown(progress.values.get(name)) for progress in (first, last))
                )
        out.print(table)
        names = ", ".join(dict.fromkeys(each.alarm.name for each in self.raised))
        out.print(f"alarms: {names or 'none was raised'}")

    def as_json(self) -> JsonObject:
        """Give the alarms for programs."""
        return {
            "alarms": [
                {
                    "step": each.step,
                    "name": each.alarm.name,
                    "level": str(each.alarm.level),
                    "action": each.action,
                    "values": {**each.values},
                    "signature": each.signature,
                    "cause": each.alarm.cause,
                }
                for each in self.raised
            ]
        }


def _shown(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3g}"
