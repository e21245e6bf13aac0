"""How far a model may go in an episode, and who speaks to it: from options and settings."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import ValidationError

from astra_mcp.cli.completing import BUILT_IN_AGENTS
from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.llm.config import ModelConfig, Role
from astra_mcp.types import JsonObject
from training.rollout.limits import NO_LIMITS, PlayLimits
from training.rollout.settings import RolloutSettings
from training.rollout.users.user import Users

__all__ = ["SIMULATED", "Bounds", "ask_bounds", "open_users"]

SIMULATED = "simulated"
"""Names the model of ``models.user``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What holds in every episode of a rollout."""

    limits: PlayLimits
    """None for agents that are no model's."""
    user: str | None
    """The model that speaks as the user; None where the prompt is all that is said."""
    recorded: JsonObject
    """For the trajectories."""


def ask_bounds(
    settings: Settings, agent: str, *, user: str | None, **asked: float | None
) -> Bounds:
    """Read the options.

    Args:
        settings: What holds where an option says nothing.
        agent: ``--agent``.
        user: ``--user``.
        asked: The options of limits, by the names of their settings.

    Raises:
        ConfigError: They do not go together, or there is no model of the user.
    """
    given = {name: value for name, value in asked.items() if value is not None}
    if agent in BUILT_IN_AGENTS:
        if given or user is not None:
            option = next(iter(given), "user").replace("_", "-")
            raise ConfigError(f"--{option} is for a model's agent; {agent!r} has its own bounds")
        return Bounds(limits=NO_LIMITS, user=None, recorded={})
    if user is None and "max_user_turns" in given:
        raise ConfigError("--max-user-turns goes with --user: else the prompt is all that is said")
    try:
        said = RolloutSettings.model_validate({**settings.rollout.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        option = str(fault["loc"][0]).replace("_", "-")
        raise ConfigError(f"--{option}: {fault_words(fault['type'], fault['msg'])}") from None
    recorded: JsonObject = said.model_dump(mode="json", exclude={"max_user_turns"})
    model = user and user_config(settings, user).model
    if model:
        recorded |= {"user": model, "max_user_turns": said.max_user_turns}
    return Bounds(limits=said.limits, user=user, recorded=recorded)


def user_config(settings: Settings, user: str, option: str = "--user") -> ModelConfig:
    """Find the endpoint of the user's model, which that option names.

    Raises:
        ConfigError: No model is named, or its endpoint is not known.
    """
    config = settings.models.of_role(Role.USER)
    if user != SIMULATED:
        config = config.model_copy(update={"model": user})
    if not config.model:
        msg = (
            f"{option} {user} is the model of models.user.model, which is not set: name one instead"
        )
        raise ConfigError(msg)
    if config.base_url is None and config.api_key is None:
        raise ConfigError(
            f"{option} {user}: the endpoint of {config.model!r} is not known: set models.user.base_url, or"
            " OPENAI_API_KEY for OpenAI's"
        )
    return config


@asynccontextmanager
async def open_users(
    settings: Settings, user: str | None, option: str = "--user"
) -> AsyncGenerator[Users | None]:
    """Open the model that speaks as the user, which that option names; None where there is none."""
    if user is None:
        yield None
        return
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to import
    from training.rollout.users.simulated import SimulatedUsers  # noqa: PLC0415

    config = user_config(settings, user, option)
    async with open_model(Role.USER, config) as model:
        yield SimulatedUsers(model, config.model)
