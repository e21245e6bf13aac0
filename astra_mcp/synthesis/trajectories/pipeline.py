"""All stages from tool documents to kept tasks, put in order and run over servers (ASTRA sec. 2.1.2-2.1.3).

Tasks come by several ways (chains that are proposed, chains that are joined, servers alone) that meet at the
augmentation. Each way is a pipeline of its own; all are fed from one list of servers, so that the tasks of
one come out before the next hundred were begun, and are compared in one order.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import pairwise
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import (
    Given,
    ItemStore,
    Progress,
    Settled,
    Stage,
    StageLimits,
    StoredItem,
    Tally,
    YieldTable,
    run_pipeline,
)
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.trajectories.chain import ChainRunner, FoundChain
from astra_mcp.synthesis.trajectories.chains.cross_server import cross_server_chains
from astra_mcp.synthesis.trajectories.chains.gathering import ProposalGathering
from astra_mcp.synthesis.trajectories.chains.offline import OfflineChains
from astra_mcp.synthesis.trajectories.chains.proposing import (
    USUAL_LENGTHS,
    Lengths,
    ProposalGate,
    Proposing,
)
from astra_mcp.synthesis.trajectories.chains.walking import Walking
from astra_mcp.synthesis.trajectories.checks.back_translation import BackTranslation, Translator
from astra_mcp.synthesis.trajectories.checks.coherence import Coherence
from astra_mcp.synthesis.trajectories.checks.dependency import Dependency
from astra_mcp.synthesis.trajectories.checks.execution import Execution
from astra_mcp.synthesis.trajectories.checks.results import DocumentFields
from astra_mcp.synthesis.trajectories.checks.writing import Writing
from astra_mcp.synthesis.trajectories.run_statistics import CROSS_SERVER
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents, ServerItem
from astra_mcp.synthesis.trajectories.task import TaskStore
from astra_mcp.synthesis.trajectories.tasks.augmenting import Augmenting, Variations
from astra_mcp.synthesis.trajectories.tasks.keeping import IntentJudge, SameLanguage, VariationGate
from astra_mcp.synthesis.trajectories.tasks.near_duplicates import (
    DISTINCT,
    DistinctTasks,
    order_of_tasks,
)
from astra_mcp.synthesis.trajectories.tasks.scoring import Scoring, Thresholds
from astra_mcp.synthesis.trajectories.tasks.server_tasks import ServerTaskGate, ServerTasks
from astra_mcp.synthesis.trajectories.tasks.storing import STORE, Storing
from astra_mcp.types import FrozenModel

__all__ = ["ChainSource", "Parts", "Recipe", "stage_names", "synthesize_tasks", "tally_of"]

_ITEM_SECONDS: Final = 3600.0
_TURN_SECONDS: Final = 14400.0
"""Of a task that waits until those before it are decided."""
_WINDOW: Final = 2
"""Servers under way before the first is decided, for each item that is worked on at once."""
_MAX_WAITING: Final = 4096
"""Tasks that may wait for their turn in one way."""

Stages = Sequence[Stage[Any, Any]]


class ChainSource(StrEnum):
    """Where the chains of single servers come from."""

    NONE = "none"
    PROPOSALS = "proposals"
    """A model's, and the walks on their graph."""
    OFFLINE = "offline"
    """The types of arguments and results alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How tasks are made."""

    chains: ChainSource = ChainSource.PROPOSALS
    num_proposals: int = 4
    lengths: Lengths = USUAL_LENGTHS
    is_acyclic: bool = False
    num_chains: int = 8
    """Of each server, at most."""
    num_cross_server: int = 0
    num_votes: int = 3
    """On the coherence of a task with its chain."""
    num_translations: int = 0
    """Back-translations of each; 0 leaves them out."""
    executes: bool = False
    num_server_tasks: int = 2
    """Of each server without a chain; 0 makes none."""
    variations: Variations = field(default_factory=Variations)
    language: str | None = None
    """ISO 639-1; None for that of each server's documents."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    seed: int = 0
    concurrency: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the stages work with."""

    documents: Documents = field(repr=False)
    generator: Asks
    judge: Asks
    generator_name: str
    """With its revision: outcomes of one model are none of another."""
    judge_name: str
    tasks: TaskStore
    runner: ChainRunner | None = None
    """Needed where chains are executed."""


def stage_names(recipe: Recipe) -> list[str]:
    """The names of the stages that a recipe has, in the order in which people read them."""
    names: list[str] = []
    if recipe.num_server_tasks:
        names += ["server_tasks", "server_task"]
    if recipe.chains is ChainSource.PROPOSALS:
        names += ["propose", "proposal", "walk"]
    if recipe.chains is ChainSource.OFFLINE:
        names += ["offline_chains"]
    if recipe.chains is not ChainSource.NONE or recipe.num_cross_server:
        names += ["write", "dependency", "coherence"]
        names += ["back_translation"] if recipe.num_translations else []
        names += ["execute"] if recipe.executes else []
    return [*names, "augment", "variation", "language", "intent", "score", DISTINCT, STORE]


async def synthesize_tasks(
    run: str,
    recipe: Recipe,
    parts: Parts,
    store: ItemStore,
    *,
    hear: Callable[[Progress], None],
) -> YieldTable:
    """Make tasks of servers; each moves on as soon as it is ready.

    A run that comes to its end, so that nothing failed or was not begun, leaves those tasks of its name in
    the store that it kept, and no others: what an earlier recipe or other servers led to is removed.

    Args:
        run: Name of the run, by which outcomes are found again.
        recipe: How.
        parts: What with, the servers' documents among it.
        store: Keeps outcomes.
        hear: Told every step.

    Raises:
        ConfigError: The caller has to mend something first.
        PipelineError: The store does not answer.
        RegistryError: The store of tasks cannot remove any.
    """
    return await _Run(run, recipe, parts, store, hear).play()


def tally_of(recipe: Recipe) -> Tally:
    """Make a tally that knows which stage takes what another one makes, in a run of several ways."""
    names = stage_names(recipe)
    begun = {"server_tasks", "propose", "walk", "offline_chains"}
    follows = {before: after for before, after in pairwise(names) if after not in begun}
    if "server_task" in names:
        follows["server_task"] = "augment"
    return Tally(names, follows=follows)


class _Run:
    """One run: its ways, the list of sources that feeds them, and the order in which tasks are compared."""

    def __init__(
        self,
        run: str,
        recipe: Recipe,
        parts: Parts,
        store: ItemStore,
        hear: Callable[[Progress], None],
    ) -> None:
        self._run, self._recipe, self._parts = run, recipe, parts
        self._store, self._hear = store, hear
        of_server = (recipe.num_chains + recipe.num_server_tasks) * (1 + recipe.variations.num)
        self._window = max(1, min(_WINDOW * recipe.concurrency, _MAX_WAITING // of_server))
        self._turns = StageLimits(
            concurrency=min(_MAX_WAITING, self._window * of_server), item_seconds=_TURN_SECONDS
        )
        names = stage_names(recipe)
        leads = names[: names.index(DISTINCT)]
        self._order = order_of_tasks(leads, window=self._window, ends=("proposal",))
        self._gathering = ProposalGathering(window=self._window, drop=self._order.release)
        self._tally = tally_of(recipe)
        self._kept = set[str]()
        """Ids of the tasks that this run kept."""

    async def play(self) -> YieldTable:
        """Run all ways at once, and tell what became of everything."""
        recipe, works = self._recipe, list[Callable[[], Awaitable[None]]]()
        of_servers, of_chains = list[_Feed](), list[_Feed]()
        with ExitStack() as opened:

            def feed(feeds: list[_Feed]) -> AsyncIterable[StoredItem]:
                giving, taking = anyio.create_memory_object_stream[StoredItem](self._window)
                feeds.append(opened.enter_context(giving))
                return opened.enter_context(taking)

            match recipe.chains:
                case ChainSource.PROPOSALS:
                    works.append(partial(self._propose, feed(of_servers)))
                    works.append(
                        partial(
                            self._way,
                            [self._walking(), *self._checks(), *self._tail()],
                            self._gathering.gathered(),
                            "walk",
                        )
                    )
                case ChainSource.OFFLINE:
                    works.append(
                        partial(
                            self._way,
                            [self._offline(), *self._checks(), *self._tail()],
                            feed(of_servers),
                            "offline_chains",
                        )
                    )
                case ChainSource.NONE:
                    pass
            if recipe.num_server_tasks:
                stages = [*self._server_tasks(), *self._tail()]
                works.append(partial(self._way, stages, feed(of_servers), "server_tasks"))
            if recipe.num_cross_server:
                stages = [*self._checks(), *self._tail()]
                works.append(partial(self._way, stages, feed(of_chains), "write"))
            works.append(partial(self._give, of_servers, of_chains))
            await map_concurrently(_do, works, limit=len(works))
        table = self._tally.table()
        if not (table.stopped or table.num_failed or table.num_not_begun):
            await self._parts.tasks.retain(self._run, self._kept, self._parts.documents)
        return table

    async def _give(self, of_servers: Sequence["_Feed"], of_chains: Sequence["_Feed"]) -> None:
        """Give every source to each of its ways, no further ahead than tasks can wait for their turn."""
        for server in self._servers() if of_servers else ():
            named = ServerItem(name=server.name, version=server.version)
            await self._give_to(of_servers, _item(server.name, named))
        for number, found in enumerate(self._cross_server() if of_chains else (), 1):
            await self._give_to(of_chains, _item(f"{CROSS_SERVER}{number:04}", found))
        for given in (*of_servers, *of_chains):
            given.close()

    async def _give_to(self, feeds: Sequence["_Feed"], item: StoredItem) -> None:
        await self._order.begin(item.id)
        for _ in feeds[1:]:
            self._order.hold(item.id)
        for given in feeds:
            await given.send(item)

    async def _propose(self, items: AsyncIterable[StoredItem]) -> None:
        """Have chains proposed; a server is let go when the walks have it, or when it comes to nothing."""

        def listen(event: Progress) -> None:
            self._tell(event, "propose")
            for told in self._gathering.hear(event):
                self._tell(told, "propose")

        await self._pipeline(self._proposing(), self._gathering.take(items), listen)
        self._gathering.end()

    async def _way(self, stages: Stages, items: AsyncIterable[StoredItem], first: str) -> None:
        def listen(event: Progress) -> None:
            self._tell(event, first)

        await self._pipeline(stages, self._released(items), listen)

    async def _released(self, items: AsyncIterable[StoredItem]) -> AsyncGenerator[StoredItem]:
        """Let each source go once its item was taken: nothing else of it comes by this way."""
        async for item in items:
            yield item
            self._order.release(item.id)

    def _tell(self, event: Progress, first: str) -> None:
        told = Given(event.item, event.stage or first) if isinstance(event, Given) else event
        self._order.hear(told)
        self._tally.hear(told)
        if isinstance(told, Settled) and told.stage == STORE:
            self._kept.update(str(output.value["id"]) for output in told.outcome.outputs)
        self._hear(told)

    async def _pipeline(
        self,
        stages: Stages,
        items: AsyncIterable[StoredItem],
        listener: Callable[[Progress], None],
    ) -> None:
        limits = StageLimits(concurrency=self._recipe.concurrency, item_seconds=_ITEM_SECONDS)
        own = {DISTINCT: self._turns} if DISTINCT in {stage.name for stage in stages} else {}
        await run_pipeline(
            self._run, stages, items, self._store, limits=limits, stage_limits=own, hear=listener
        )

    # --- what the ways are made of -----------------------------------------------------------------

    def _servers(self) -> Sequence[DocumentedServer]:
        return [self._parts.documents[name] for name in sorted(self._parts.documents)]

    def _cross_server(self) -> Sequence[FoundChain]:
        num, seed = self._recipe.num_cross_server, self._recipe.seed
        return cross_server_chains(self._parts.documents, num, seed=seed)

    def _proposing(self) -> Stages:
        parts, recipe = self._parts, self._recipe
        proposing = Proposing(
            parts.generator,
            parts.generator_name,
            parts.documents,
            num_proposals=recipe.num_proposals,
            lengths=recipe.lengths,
            seed=recipe.seed,
        )
        return [proposing, ProposalGate(parts.documents, recipe.lengths)]

    def _walking(self) -> Stage[Any, Any]:
        recipe = self._recipe
        return Walking(
            self._parts.documents,
            lengths=recipe.lengths,
            most=recipe.num_chains,
            is_acyclic=recipe.is_acyclic,
            seed=recipe.seed,
        )

    def _offline(self) -> Stage[Any, Any]:
        recipe = self._recipe
        return OfflineChains(
            self._parts.documents,
            lengths=recipe.lengths,
            most=recipe.num_chains,
            seed=recipe.seed,
        )

    def _checks(self) -> Stages:
        parts, recipe = self._parts, self._recipe
        documents = parts.documents
        stages: list[Stage[Any, Any]] = [
            Writing(documents, parts.generator, parts.generator_name, recipe.language),
            Dependency(documents, parts.judge, parts.judge_name, DocumentFields()),
            Coherence(documents, parts.judge, parts.judge_name, recipe.num_votes),
        ]
        if recipe.num_translations:
            translator = Translator(parts.judge, parts.judge_name)
            stages.append(BackTranslation(documents, (translator,) * recipe.num_translations))
        if parts.runner is not None:
            stages.append(
                Execution(
                    documents, parts.generator, parts.generator_name, parts.runner, recipe.seed
                )
            )
        return stages

    def _server_tasks(self) -> Stages:
        parts, recipe = self._parts, self._recipe
        writing = ServerTasks(
            parts.generator,
            parts.generator_name,
            parts.documents,
            num_tasks=recipe.num_server_tasks,
            language=recipe.language,
            seed=recipe.seed,
        )
        return [writing, ServerTaskGate(parts.documents, recipe.language)]

    def _tail(self) -> Stages:
        parts, recipe = self._parts, self._recipe
        documents, seed = parts.documents, recipe.seed
        return [
            Augmenting(
                parts.generator, parts.generator_name, documents, recipe.variations, seed=seed
            ),
            VariationGate(documents),
            SameLanguage(),
            IntentJudge(parts.judge, parts.judge_name),
            Scoring(parts.judge, parts.judge_name, documents, recipe.thresholds, seed=seed),
            DistinctTasks(self._order),
            Storing(parts.tasks, self._run, documents, parts.generator_name, parts.judge_name),
        ]


_Feed = MemoryObjectSendStream[StoredItem]


def _item(id: str, value: FrozenModel) -> StoredItem:
    return StoredItem(id=id, value=value.model_dump(mode="json"))


async def _do(work: Callable[[], Awaitable[None]]) -> None:
    await work()
