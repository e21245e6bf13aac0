"""The supervisor of a run of GRPO: the model that writes hints and reflections, and all signals in words."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import Role
from astra_mcp.synthesis.asking import Asks
from training.rl.native.settings import RlSettings
from training.signals.supervision.schedule import Schedule

__all__ = ["alarms_shown", "open_adviser", "signals_shown"]


@asynccontextmanager
async def open_adviser(settings: RlSettings, told: Settings) -> AsyncGenerator[Asks | None]:
    """Open the model that writes hints and reflections; None where none does."""
    if not settings.signals.needs_model:
        yield None
        return
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to import

    config = told.models.of_role(Role.GENERATOR)
    if not config.model:
        raise ConfigError(
            'a source of signals is "model", which is that of models.generator.model, and that is not set'
        )
    async with open_model(Role.GENERATOR, config) as model:
        yield model


def signals_shown(settings: RlSettings) -> str:
    """Say which signals a run has."""
    return "; ".join(_told(settings)) or "none"


def alarms_shown(settings: RlSettings) -> str:
    """Say what is done about alarms."""
    actions = {name: action for name, action in settings.alarms if action != "log"}
    told = [f"{name}: {action}" for name, action in actions.items()]
    return ", ".join([*told, "all others are written down" if told else "all are written down"])


def _told(settings: RlSettings) -> Iterator[str]:
    signals, size = settings.signals, settings.training.group_size
    shown, hints = signals.demonstrations, signals.hints
    if shown.members:
        shaping = (
            "" if shown.shaping == "none" else f", shaped by {shown.shaping} ({shown.gamma:g})"
        )
        yield f"{shown.members} of {size} members play gold{shaping}"
    if hints.members:
        place = "the standing instructions" if hints.position == "system" else "a message"
        yield f"{hints.members} of {size} are given hints by a {hints.source}, in {place}"
    if signals.is_supervised:
        planned = Schedule(signals.schedule).planned(settings.training.steps)
        steps = [*map(str, planned), *(f"alarm {name}" for name in signals.schedule.alarms)]
        yield f"supervision ({signals.supervision.kind}) behind {', '.join(steps) or 'no step'}"
