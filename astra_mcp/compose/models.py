"""Models as commands ask them: whether a description is clear, domains, whether an environment is sound.

The client of models takes a second to load, and is where one is asked alone.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from astra_mcp.compose.embedders import open_embedder
from astra_mcp.compose.registry import Spending
from astra_mcp.compose.settings import Settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.asking import judge_bundle
from astra_mcp.environments.judging.judgement import Judgement
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget, Usage, metered
from astra_mcp.sandbox import Sandbox
from registry.documents.prepared import PreparedServer
from registry.intake.domain_labellers import ModelLabeller, open_similarity_labeller
from registry.intake.domain_labels import DomainLabeller, LabelReport, label_servers
from registry.intake.judging import ask_model, judge_server
from registry.settings import EmbedderKind
from registry.store.completions import DatabaseCompletionCache
from registry.store.database import Database, open_database

if TYPE_CHECKING:
    from astra_mcp.llm.model import Model

__all__ = [
    "BundleJudge",
    "Labelled",
    "label_registry",
    "open_bundle_judge",
    "open_judge",
    "open_role",
    "require_models",
]

BundleJudge = Callable[[Bundle, Sandbox], Awaitable[tuple[Judgement, ...]]]
"""Answers the questions about a bundle that code cannot decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What became of the servers without a domain, and what it took."""

    by: str
    report: LabelReport
    usage: Usage


@asynccontextmanager
async def open_judge(
    settings: Settings, database: Database, spending: Spending
) -> AsyncGenerator[Callable[[PreparedServer], Awaitable[PreparedServer]]]:
    """Open the model of the role ``judge``; what it says is kept, and never paid for twice.

    Raises:
        ConfigError: No such model is configured.
    """
    async with _open_model(settings, database, spending) as model:
        yield partial(judge_server, judge=partial(ask_model, model))


@asynccontextmanager
async def open_bundle_judge(settings: Settings, num_votes: int) -> AsyncGenerator[BundleJudge]:
    """Open the model of the role ``judge`` for environments; what it says is kept as well.

    Raises:
        ConfigError: No such model is configured.
    """
    unlimited = Spending(max_calls=None, max_cost=None)
    async with (
        open_database(settings.registry_url) as database,
        _open_model(settings, database, unlimited) as model,
    ):
        yield partial(judge_bundle, model, num_votes)


def require_models(settings: Settings, budget: Budget, *roles: Role) -> None:
    """Refuse chat models that could not be opened, before a run of them is begun.

    Raises:
        ConfigError: A model is not configured, or the cost of a limited budget cannot be known.
    """
    from astra_mcp.llm.endpoint import check_endpoint  # noqa: PLC0415 - a second to load

    for role in roles:
        check_endpoint(role, settings.models.of_role(role), budget)


@asynccontextmanager
async def open_role(settings: Settings, role: Role, budget: Budget) -> AsyncGenerator["Model"]:
    """Open the model of a role by itself; what it answers is kept, and never paid for twice.

    Args:
        settings: Name the model, and the registry that keeps completions.
        role: Of a chat model.
        budget: Of all calls.

    Raises:
        ConfigError: No such model is configured.
        RegistryError: The registry cannot be opened.
    """
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to load

    config = settings.models.of_role(role)
    async with open_database(settings.registry_url) as database:
        cache = DatabaseCompletionCache(database)
        async with open_model(role, config, cache=cache, budget=budget) as model:
            yield model


async def label_registry(
    settings: Settings,
    *,
    by_model: bool,
    embedder: EmbedderKind | None,
    spending: Spending,
    hear: Callable[[int], None],
) -> Labelled:
    """Give domains to the kept servers whose labels say none.

    Args:
        settings: Name the model of the role ``judge``, or the embedder.
        by_model: True to ask that model, False to compare vectors.
        embedder: Which one; None for that of the settings.
        spending: On the model.
        hear: Told after each batch how many servers were looked at.

    Raises:
        BudgetSpentError: The budget is spent; what was found before is kept.
        ConfigError: No such model is configured.
        RegistryError: The database failed; what was found before is kept.
    """
    with metered() as meter:
        async with (
            open_database(settings.registry_url) as database,
            _open_labeller(settings, database, by_model, embedder, spending) as labeller,
        ):
            report = await label_servers(database, labeller, hear=hear)
            return Labelled(by=labeller.by, report=report, usage=meter.usage)


@asynccontextmanager
async def _open_labeller(
    settings: Settings,
    database: Database,
    by_model: bool,
    embedder: EmbedderKind | None,
    spending: Spending,
) -> AsyncGenerator[DomainLabeller]:
    if by_model:
        async with _open_model(settings, database, spending) as model:
            yield ModelLabeller(model)
    else:
        async with open_embedder(settings, embedder) as opened:
            yield await open_similarity_labeller(opened)


@asynccontextmanager
async def _open_model(
    settings: Settings, database: Database, spending: Spending
) -> AsyncGenerator["Model"]:
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to load

    config = settings.models.of_role(Role.JUDGE)
    budget = Budget(spending.max_calls, spending.max_cost)
    cache = DatabaseCompletionCache(database)
    async with open_model(Role.JUDGE, config, cache=cache, budget=budget) as model:
        yield model
