"""The agent that ``--agent`` names: built in, a chat model, or a class; and the model's endpoint and key."""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from astra_mcp.cli.rollout.own_agents import find_own_agent, names_own_agent
from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.llm.chat import Chat
from astra_mcp.llm.config import ModelConfig, Role, at_base_url
from astra_mcp.report.console import say
from gateway.api.client import GatewayClient
from training.rollout.agent import Agent
from training.rollout.agents.baselines import EchoAgent, EnumerateAgent, ExploreAgent
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.agents.scripted import NoopAgent, OracleAgent, ProbeAgent

__all__ = ["KEY_RULE", "QWEN_AGENT", "SHARED_KEY", "model_config", "model_of", "open_agent"]

QWEN_AGENT = "qwen-agent:"
"""Stands before the name of a model that plays by Qwen-Agent's loop."""

SHARED_KEY = "OPENAI_API_KEY"
KEY_RULE = (
    "the key of models.agent is for the host of models.agent.base_url, OPENAI_API_KEY for that of "
    "OPENAI_BASE_URL, or for any --base-url where that is not set"
)


@asynccontextmanager
async def open_agent(
    settings: Settings, name: str, base_url: str | None, gateway: GatewayClient
) -> AsyncGenerator[Agent]:
    """Open an agent.

    Args:
        settings: Of models, and of the home.
        name: A built-in agent, a class, ``qwen-agent:`` and a chat model, else a chat model.
        base_url: Of the model's endpoint, where it is not that of the settings.
        gateway: Tells the oracle, and nobody else, the gold calls.
    """
    match name:
        case "oracle":
            yield OracleAgent(gateway.gold)
        case "noop":
            yield NoopAgent()
        case "probe":
            yield ProbeAgent()
        case "echo":
            yield EchoAgent()
        case "explore":
            yield ExploreAgent()
        case "enumerate":
            yield EnumerateAgent()
        case "random":
            yield _random_agent(settings)
        case own if names_own_agent(own):
            async with _open_own_agent(settings, own, base_url) as agent:
                yield agent
        case _:
            async with _open_model_agent(settings, name, base_url) as agent:
                yield agent


def model_of(settings: Settings, agent: str) -> str:
    """Name the model that an agent plays by, as ``--agent`` has it; that of a class is the settings'."""
    return settings.models.agent.model if names_own_agent(agent) else agent.removeprefix(QWEN_AGENT)


def _random_agent(settings: Settings) -> Agent:
    # Hypothesis writes its character tables beside the user's files unless it is told where to.
    cache = str(settings.home / "cache" / "hypothesis")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", cache)
    from training.rollout.agents.random import RandomAgent  # noqa: PLC0415 - half a second to import

    return RandomAgent()


@asynccontextmanager
async def _open_own_agent(
    settings: Settings, name: str, base_url: str | None
) -> AsyncGenerator[Agent]:
    found = find_own_agent(name)
    if not found.wants_chat:
        if base_url is not None:
            msg = (
                f"--base-url names a model's endpoint, and --agent {name} takes no model to be made"
            )
            raise ConfigError(msg)
        yield found.open(None)
        return
    model = model_of(settings, name)
    if not model:
        raise ConfigError(f"--agent {name} takes a model to be made: set models.agent.model")
    async with _open_chat(settings, model, base_url) as chat:
        yield found.open(chat)


@asynccontextmanager
async def _open_model_agent(
    settings: Settings, name: str, base_url: str | None
) -> AsyncGenerator[Agent]:
    model = model_of(settings, name)
    make: Callable[[str, Chat], Agent] = ModelAgent
    if name != model:
        from training.rollout.agents.qwen_agent import QwenAgent  # noqa: PLC0415 - an extra

        make = QwenAgent
    async with _open_chat(settings, model, base_url) as chat:
        yield make(model, chat)


@asynccontextmanager
async def _open_chat(settings: Settings, model: str, base_url: str | None) -> AsyncGenerator[Chat]:
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to import

    config = model_config(settings, model, base_url)
    if config.api_key is None and (settings.models.agent.api_key or os.environ.get(SHARED_KEY)):
        say.print(f"no key is sent to --base-url {base_url}: {KEY_RULE}", style="yellow")
    async with open_model(Role.AGENT, config) as chat:
        yield chat


def model_config(settings: Settings, agent: str, base_url: str | None) -> ModelConfig:
    """Find the endpoint, and the key that is meant for it, as ``KEY_RULE`` says."""
    config = settings.models.of_role(Role.AGENT)
    if base_url is not None:
        configured, config = config, at_base_url(settings.models.agent, base_url)
        if urlsplit(configured.base_url or "")[:2] == urlsplit(base_url)[:2]:
            config = config.model_copy(update={"api_key": configured.api_key})
    return config.model_copy(update={"model": agent})
