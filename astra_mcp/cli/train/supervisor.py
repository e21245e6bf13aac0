"""The supervisor of a run of GRPO: the model that writes hints and reflections, and all signals in words."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import Role
from astra_mcp.synthesis.asking import Asks
from training.rl.native.settings import RlSettings
from training.signals.supervision.schedule import Schedule

__all__ = ["open_adviser", "signals_shown"]


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
    signals, told = settings.signals, list[str]()
    size = settings.training.group_size
    if signals.demonstrations.members:
        told.append(f"{signals.demonstrations.members} of {size} members play gold")
    if signals.hints.members:
        by = signals.hints.source
        told.append(f"{signals.hints.members} of {size} are given hints by a {by}")
    if signals.is_supervised:
        planned = Schedule(signals.schedule).planned(settings.training.steps)
        steps = [*map(str, planned), *(f"alarm {name}" for name in signals.schedule.alarms)]
        told.append(
            f"supervision ({signals.supervision.kind}) behind {', '.join(steps) or 'no step'}"
        )
    return "; ".join(told) or "none"
