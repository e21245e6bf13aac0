"""Synthesis of environments with a model: what its stages work with, put together."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from astra_mcp.compose.bundles import BundlePublisher, open_bundle_sandbox
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.synthesis.runs import alone, serve_words
from astra_mcp.compose.verdicts import StoredJudgements, versioned_acceptance
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.asking import judge_bundle
from astra_mcp.environments.judging.judgement import Judgement
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import Progress, YieldTable
from astra_mcp.synthesis.environments.demo.script import MODEL, Script
from astra_mcp.synthesis.environments.pipeline import Parts, Recipe, synthesize
from astra_mcp.synthesis.environments.questions.source import Source
from astra_mcp.types import JsonObject
from registry.store.completions import DatabaseCompletionCache
from registry.store.database import open_database
from registry.store.items import DatabaseItemStore

if TYPE_CHECKING:
    from astra_mcp.completions import CompletionRequest, Reply

__all__ = ["open_demo_models", "run_synthesis"]


@asynccontextmanager
async def open_demo_models(settings: Settings, script: Script) -> AsyncGenerator[Settings]:
    """Serve the answers that were written by hand on a loopback port.

    The settings name that place for the generator and the judge; a change of the script is another
    revision of the model, so that no answer of an earlier one is recalled.
    """
    from astra_mcp.completions import Answer, AnswerCall, Refusal  # noqa: PLC0415 - the demo alone needs it

    def reply(request: "CompletionRequest") -> "Reply":
        tools = cast("list[JsonObject]", request.body.get("tools") or [])
        if tools and request.messages[-1]["role"] != "tool":  # the hacker begins
            names = [cast("JsonObject", tool["function"])["name"] for tool in tools]
            return Answer(calls=tuple(AnswerCall(name=str(n), arguments={}) for n in names))
        system = str(request.messages[0].get("content"))
        try:
            return Answer(content=script.answer(system, request.text, request.turn))
        except LookupError as error:
            return Refusal(404, str(error))

    roles = (Role.GENERATOR, Role.JUDGE)
    async with serve_words(settings, MODEL, script.version, reply, roles) as served:
        yield served


async def run_synthesis(
    settings: Settings,
    run: str,
    sources: Iterable[Source],
    recipe: Recipe,
    *,
    budget: Budget,
    folder: Path,
    hear: Callable[[Progress], None],
) -> YieldTable:
    """Make environments of sources, by the models of the roles ``generator`` and ``judge``.

    Args:
        settings: Name the models, the registry that keeps outcomes and completions, and the limits.
        run: Its name; outcomes are found again by it.
        sources: What to make them from.
        recipe: How.
        budget: Of all calls.
        folder: Where bundles go; absolute.
        hear: Told every step.

    Raises:
        ConfigError: A model is not configured, a bundle cannot be written, or another process works on the
            run.
        RegistryError: The registry cannot be opened.
        SandboxUnavailableError: This machine cannot isolate tool code.
    """
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to load

    publisher = BundlePublisher(folder)
    publisher.prepare()
    async with (
        open_database(settings.registry_url) as database,
        open_bundle_sandbox(settings, ()) as sandbox,
    ):
        cache = DatabaseCompletionCache(database)
        configs = {role: settings.models.of_role(role) for role in (Role.GENERATOR, Role.JUDGE)}
        async with AsyncExitStack() as opened:
            opening = partial(open_model, cache=cache, budget=budget)
            writes, judges = configs[Role.GENERATOR], configs[Role.JUDGE]
            generator = judge = await opened.enter_async_context(opening(Role.GENERATOR, writes))
            if judges != writes:  # one model in both roles keeps to its one max_concurrency
                judge = await opened.enter_async_context(opening(Role.JUDGE, judges))
            accepting = versioned_acceptance(settings, sandbox.report)
            acceptance, version = await opened.enter_async_context(accepting)

            said = StoredJudgements(settings.home)

            async def judged(bundle: Bundle) -> Sequence[Judgement]:
                found = await judge_bundle(judge, recipe.num_judge_votes, bundle, sandbox)
                said.keep(bundle, found)
                return found

            parts = Parts(
                generator=generator,
                judge=judge,
                hacker=generator,
                judge_bundle=judged,
                names={
                    role.value: f"{c.model} {c.revision}".strip() for role, c in configs.items()
                },
                writer=writes.model,
                sandbox=sandbox,
                acceptance=acceptance,
                acceptance_version=version,
                publisher=publisher,
                place=str(folder),
            )
            store = DatabaseItemStore(database)
            with alone(settings.home, run):
                return await synthesize(run, sources, recipe, parts, store, hear=hear)
