"""Held-out environments that a model plays while it learns, through a gateway."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread

from astra_mcp.cli.rollout.episode_sources import ask_sources, find_sources
from astra_mcp.compose.bundles import find_published
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError, UnknownNameError
from astra_mcp.serving.process.gateway_access import open_gateway_access
from gateway.api.client import GatewayClient
from gateway.edge.discovery import find_gateway
from training.evaluation.evaluating import evaluate
from training.evaluation.sampler import ModelSampler, Silence, limits_of_model
from training.render import Renderer, Tokenizer
from training.rl.core.policy import PolicyLimits
from training.rollout.plan import Source
from training.sft.model import model_config
from training.sft.settings import SftSettings
from training.sft.training import Validator

__all__ = ["GatewayValidator", "check_environments", "open_validator"]


class GatewayValidator:
    """Plays the same episodes at each validation; made by :func:`open_validator`."""

    def __init__(
        self,
        gateway: GatewayClient,
        sources: list[tuple[Source, str | None]],
        renderer: Renderer,
        tokenizer: Tokenizer,
        settings: SftSettings,
    ) -> None:
        self._gateway = gateway
        self._sources = sources
        self._renderer = renderer
        self._tokenizer = tokenizer
        self._settings = settings

    async def __call__(self, model: Any, step: int) -> Mapping[str, float]:
        """Play greedily and at T = 1, and give the figures."""
        del step
        found = await evaluate(
            self._gateway,
            ModelSampler(model, self._tokenizer.end_ids),
            self._renderer,
            self._tokenizer,
            self._sources,
            samples=self._settings.validation.samples,
            root_seed=self._settings.seed,
        )
        return found.metrics()

    async def check_room(self, limits: PolicyLimits) -> None:
        """Open each environment once, and make sure that the model can be shown one of them.

        Args:
            limits: Of the model.

        Raises:
            ConfigError: Every prompt is too long for it.
        """
        found = await evaluate(
            self._gateway,
            Silence(limits, self._tokenizer.end_ids),
            self._renderer,
            self._tokenizer,
            self._sources,
            samples=0,
            root_seed=self._settings.seed,
        )
        if found.greedy.no_room == found.greedy.episodes:
            raise ConfigError(
                f"validation.environments: each prompt has more than {limits.prompt_tokens} tokens, or leaves"
                f" no room for a turn of {limits.turn_tokens} within the {limits.context_tokens} that the"
                " model reads: name environments with fewer tools, or a model with a longer context"
            )


async def check_environments(settings: SftSettings) -> None:
    """Look whether what is played is there; nothing is served or written for that.

    Raises:
        ConfigError: An environment is not there; names the closest ones, and where they come from.
        TransportError: The gateway does not answer.
    """
    told, asked = load_settings(), settings.validation
    running = find_gateway(told.home)
    url = asked.url or (running.url if running else None)
    source = "`environments` in astra.toml or ASTRA_MCP_ENVIRONMENTS"
    if url is None:
        known = [*(await anyio.to_thread.run_sync(find_published, told)).found]
        origin = f"they come from the folders in {source}"
    else:
        async with (
            open_gateway_access(told, url=url) as access,
            GatewayClient(access.url, access.key) as client,
        ):
            known = [each.name for each in await client.environments()]
        origin = f"they are those of the gateway at {url}, which read {source} when it was started"
    for name in asked.environments:
        if name not in known:
            hint = "`astra-mcp environments list` names all"
            fault = UnknownNameError.among("environment", name, known, hint)
            raise ConfigError(f"validation.environments: {fault}; {origin}")


@asynccontextmanager
async def open_validator(
    settings: SftSettings, renderer: Renderer, tokenizer: Tokenizer, model: str
) -> AsyncGenerator[Validator | None]:
    """Reach the gateway and find the environments; None where none is named.

    Args:
        settings: Of the run.
        renderer: Of the model.
        tokenizer: Of the model.
        model: Where it is.

    Raises:
        ConfigError: The gateway's key is missing, or no prompt leaves room for a turn.
        UnknownNameError: The gateway has no such environment; names the closest ones.
        TransportError: It does not answer.
    """
    asked = settings.validation
    if not asked.environments:
        yield None
        return
    async with (
        open_gateway_access(load_settings(), url=asked.url) as access,
        GatewayClient(access.url, access.key) as client,
    ):
        found = await find_sources(client, ask_sources(asked.environments, None, None, None))
        validator = GatewayValidator(client, [*found.sources], renderer, tokenizer, settings)
        await validator.check_room(limits_of_model(model_config(model)))
        yield validator
