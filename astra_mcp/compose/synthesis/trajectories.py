"""Synthesis of tasks with a model: what its stages work with, put together."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.resources import as_file
from typing import TYPE_CHECKING

from astra_mcp.compose.settings import Settings
from astra_mcp.compose.synthesis.documents import WantedServers, read_documents
from astra_mcp.compose.synthesis.runs import alone, serve_words
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import ModelConfig, Role
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import Progress, YieldTable
from astra_mcp.synthesis.trajectories.chain import ChainRunner
from astra_mcp.synthesis.trajectories.demo.script import TaskScript
from astra_mcp.synthesis.trajectories.demo.words import MODEL, demo_documents
from astra_mcp.synthesis.trajectories.pipeline import Parts, Recipe, synthesize_tasks
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import Task
from registry.documents.preparation import prepare_server
from registry.importers.mcp_tools import read as read_tool_lists
from registry.intake.importing import import_documents
from registry.store.completions import DatabaseCompletionCache
from registry.store.database import open_database
from registry.store.items import DatabaseItemStore
from registry.store.tasks import DatabaseTaskStore

if TYPE_CHECKING:
    from astra_mcp.completions import CompletionRequest, Reply

__all__ = [
    "import_demo_documents",
    "open_demo_models",
    "read_listed",
    "read_tasks",
    "read_wanted",
    "run_task_synthesis",
]

_PAGE = 1000


@asynccontextmanager
async def open_demo_models(settings: Settings, script: TaskScript) -> AsyncGenerator[Settings]:
    """Serve the words that were written by hand, for the generator, the judge and the agent."""
    from astra_mcp.completions import Answer, AnswerCall, Refusal  # noqa: PLC0415 - for the demo alone

    def reply(request: "CompletionRequest") -> "Reply":
        try:
            if request.body.get("tools"):
                turn = script.turn(request.messages)
                place = len(request.messages)
                calls = (
                    AnswerCall(name=c.tool, arguments=c.arguments, id=f"call-{place}-{number}")
                    for number, c in enumerate(turn.calls, 1)
                )
                return Answer(content=turn.answer, calls=tuple(calls))
            system = str(request.messages[0].get("content"))
            return Answer(content=script.answer(system, request.text))
        except LookupError as error:
            return Refusal(404, str(error))

    roles = (Role.GENERATOR, Role.JUDGE, Role.AGENT)
    async with serve_words(settings, MODEL, script.version, reply, roles) as served:
        yield served


async def import_demo_documents(settings: Settings) -> None:
    """Put the documents of the demo's servers into the registry of the settings.

    Raises:
        RegistryError: The registry cannot be opened, or the database failed.
    """
    async with open_database(settings.registry_url) as database:
        for document in demo_documents():
            with as_file(document) as file:
                await import_documents(database, read_tool_lists(file), prepare=prepare_server)


async def read_wanted(settings: Settings, wanted: WantedServers) -> Documents:
    """Read the documents that a run is about.

    Raises:
        ConfigError: The registry's URL is wrong.
        RegistryError: The registry cannot be opened.
        UnknownNameError: A server that is named is not kept.
    """
    async with open_database(settings.registry_url) as database:
        return await read_documents(database, wanted)


async def read_tasks(settings: Settings, run: str) -> Sequence[Task]:
    """Read the tasks that a run keeps.

    Raises:
        ConfigError: There is none; names the runs that have some.
        RegistryError: The registry cannot be read.
    """
    async with open_database(settings.registry_url) as database:
        store = DatabaseTaskStore(database)
        found: list[Task] = []
        while page := await store.page(run=run, after=found[-1].id if found else "", limit=_PAGE):
            found += [task for _, task in page]
        if not found:
            runs = await store.runs()
            there = f"there are {', '.join(runs)}" if runs else "no run has any"
            raise ConfigError(f"the run {run!r} has no task: {there}")
        return found


async def read_listed(settings: Settings, run: str) -> frozenset[str]:
    """Read the ids of the tasks that the registry lists under the name of a run.

    Raises:
        ConfigError: The registry's URL is wrong.
        RegistryError: The registry cannot be opened, or the database failed.
    """
    async with open_database(settings.registry_url) as database:
        return await DatabaseTaskStore(database).ids(run)


async def run_task_synthesis(
    settings: Settings,
    run: str,
    documents: Documents,
    recipe: Recipe,
    *,
    budget: Budget,
    runner: ChainRunner | None,
    hear: Callable[[Progress], None],
) -> YieldTable:
    """Make tasks of servers, by the models of the roles ``generator`` and ``judge``.

    Args:
        settings: Name the models, and the registry that keeps tasks, outcomes and completions.
        run: Its name; outcomes and tasks are found again by it.
        documents: Of the servers.
        recipe: How.
        budget: Of all calls.
        runner: Executes chains, where the recipe asks for that.
        hear: Told every step.

    Raises:
        ConfigError: A model is not configured, or another process works on the run.
        RegistryError: The registry cannot be opened.
    """
    from astra_mcp.llm.model import open_model  # noqa: PLC0415 - a second to load

    writes, judges = (settings.models.of_role(role) for role in (Role.GENERATOR, Role.JUDGE))
    async with (
        open_database(settings.registry_url) as database,
        AsyncExitStack() as opened,
    ):
        opening = partial(open_model, cache=DatabaseCompletionCache(database), budget=budget)
        generator = judge = await opened.enter_async_context(opening(Role.GENERATOR, writes))
        if judges != writes:  # one model in both roles keeps to its one max_concurrency
            judge = await opened.enter_async_context(opening(Role.JUDGE, judges))
        parts = Parts(
            documents=documents,
            generator=generator,
            judge=judge,
            generator_name=_name(writes),
            judge_name=_name(judges),
            tasks=DatabaseTaskStore(database),
            runner=runner,
        )
        with alone(settings.home, run):
            store = DatabaseItemStore(database)
            return await synthesize_tasks(run, recipe, parts, store, hear=hear)


def _name(config: ModelConfig) -> str:
    return f"{config.model} {config.revision}".strip()
