"""All stages of synthesis with a model, put in order and run over sources (ASTRA sec. 2.2)."""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.judgement import Judgement
from astra_mcp.pipeline import (
    Given,
    ItemStatus,
    ItemStore,
    NotBegun,
    Progress,
    Settled,
    StageLimits,
    StoredItem,
    Tally,
    YieldTable,
    run_pipeline,
)
from astra_mcp.pipeline.attempt import Stage
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.duplicates import SourceOrder
from astra_mcp.synthesis.environments.building.accepting import Accepting
from astra_mcp.synthesis.environments.building.attacking import Attacking, Hacker
from astra_mcp.synthesis.environments.building.judging import Judging
from astra_mcp.synthesis.environments.building.making_tools import ToolSynthesis
from astra_mcp.synthesis.environments.building.merging import Merging
from astra_mcp.synthesis.environments.building.publishing import Publishing
from astra_mcp.synthesis.environments.building.tool import BuildAttempts
from astra_mcp.synthesis.environments.publication import Acceptance, Publisher
from astra_mcp.synthesis.environments.questions.decomposition import Decomposition
from astra_mcp.synthesis.environments.questions.gating import TopologyGate
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.synthesis.environments.questions.necessity import ToolNecessity
from astra_mcp.synthesis.environments.questions.quality import PercentileCut, QualityJudge
from astra_mcp.synthesis.environments.questions.source import Source
from astra_mcp.synthesis.environments.questions.topology import Wanted

__all__ = ["Parts", "Recipe", "stage_names", "synthesize"]

_ITEM_SECONDS = 3600.0
_TURN_SECONDS = 14400.0
"""Of an instance that waits until those before it are decided."""
_WINDOW = 4
"""Sources under way before the first is decided, for each that is worked on at once."""
_MAX_WORKERS = 4096
_NOT_ALL_SCORED = (
    "a percentile needs the scores of all, and some have none, since their work failed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How environments are made."""

    wanted: Wanted
    num_samples: int = 1
    has_gate: bool = True
    """False is a control run: what the topology gate would refuse is noted, and goes on."""
    min_quality: float = 0.85
    percentile: float | None = None
    """In place of ``min_quality``: instances below this percentile of the run's QS are left out."""
    num_votes: int = 1
    """On each dimension of quality."""
    num_judge_votes: int = 3
    """On each question of the acceptance's second tier; 0 leaves it out."""
    num_attacks: int = 0
    """Episodes of the hacker; 0 leaves it out."""
    attempts: BuildAttempts
    seed: int = 0
    concurrency: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the stages work with."""

    generator: Asks
    judge: Asks
    hacker: Hacker
    judge_bundle: Callable[[Bundle], Awaitable[Sequence[Judgement]]]
    names: Mapping[str, str]
    """Of the models, by role: ``generator`` and ``judge``; outcomes of one are none of another."""
    writer: str
    """The generator as provenance names it."""
    sandbox: Sandbox
    acceptance: Acceptance
    acceptance_version: str
    publisher: Publisher
    place: str


def stage_names(recipe: Recipe) -> list[str]:
    """The names of the stages that a recipe has, in order."""
    names = ["decompose", "topology", "necessity", "quality"]
    names += ["percentile"] if recipe.percentile is not None else []
    names += ["build", "merge", "accept"]
    names += ["judge"] if recipe.num_judge_votes else []
    names += ["attack"] if recipe.num_attacks else []
    return [*names, "publish"]


async def synthesize(
    run: str,
    sources: Iterable[Source],
    recipe: Recipe,
    parts: Parts,
    store: ItemStore,
    *,
    hear: Callable[[Progress], None],
) -> YieldTable:
    """Make environments of sources; each moves on as soon as it is ready.

    With a percentile there is one wait: nothing is built before all instances have their score, and nothing
    at all where one could not be scored, for its score might move the cut.

    Args:
        run: Name of the run, by which outcomes are found again.
        sources: Each content once.
        recipe: How.
        parts: What with.
        store: Keeps outcomes.
        hear: Told every step.

    Raises:
        ConfigError: The caller has to mend something first.
        PipelineError: The store does not answer.
    """
    window = max(1, min(_WINDOW * recipe.concurrency, _MAX_WORKERS // recipe.num_samples))
    order = SourceOrder(["decompose"], "topology", member="main_question", window=window)
    tally = Tally(stage_names(recipe))
    scored: dict[str, StoredItem] = {}

    def listen(event: Progress) -> None:
        order.hear(event)
        match event:
            case Settled(stage="quality", outcome=outcome):
                if outcome.status is ItemStatus.FINISHED:
                    scored.update({item.id: item for item in outcome.outputs})
            case _:
                pass
        tally.hear(event)
        hear(event)

    def listen_on(event: Progress) -> None:
        if not isinstance(event, Given):  # what the first half made is counted there
            tally.hear(event)
            hear(event)

    turns = StageLimits(concurrency=window * recipe.num_samples, item_seconds=_TURN_SECONDS)
    limits = StageLimits(concurrency=recipe.concurrency, item_seconds=_ITEM_SECONDS)

    async def play(
        stages: Sequence[Stage[Any, Any]],
        items: AsyncIterable[StoredItem] | Iterable[StoredItem],
        listener: Callable[[Progress], None],
    ) -> None:
        own = {"topology": turns} if "topology" in {stage.name for stage in stages} else {}
        await run_pipeline(
            run, stages, items, store, limits=limits, stage_limits=own, hear=listener
        )

    asking, building = _asking_stages(recipe, parts, order), _building_stages(recipe, parts)
    feed = order.feed(StoredItem(id=s.id, value=s.model_dump(mode="json")) for s in sources)
    if recipe.percentile is None:
        await play([*asking, *building], feed, listen)
    else:
        await play(asking, feed, listen)
        items = [scored[id] for id in sorted(scored)]
        table = tally.table()
        if table.num_failed or table.stopped:
            for item in items:
                listen_on(NotBegun("percentile", item.id, table.stopped or _NOT_ALL_SCORED))
            return tally.table()
        cut = PercentileCut.of([Instance.model_validate(i.value) for i in items], recipe.percentile)
        await play([cut, *building], items, listen_on)
    return tally.table()


def _asking_stages(recipe: Recipe, parts: Parts, order: SourceOrder) -> list[Stage[Any, Any]]:
    generator, judge = parts.names["generator"], parts.names["judge"]
    threshold = recipe.min_quality if recipe.percentile is None else 0.0
    return [
        Decomposition(parts.generator, generator, parts.writer, recipe.wanted, recipe.num_samples),
        TopologyGate(recipe.wanted, order, is_open=not recipe.has_gate),
        ToolNecessity(parts.judge, judge),
        QualityJudge(parts.judge, judge, threshold, recipe.num_votes),
    ]


def _building_stages(recipe: Recipe, parts: Parts) -> list[Stage[Any, Any]]:
    generator, judge = parts.names["generator"], parts.names["judge"]
    accepting = Accepting(
        parts.generator,
        generator,
        parts.sandbox,
        parts.acceptance,
        parts.acceptance_version,
        recipe.attempts,
    )
    stages: list[Stage[Any, Any]] = [
        ToolSynthesis(parts.generator, generator, parts.sandbox, recipe.attempts),
        Merging(parts.generator, generator, parts.sandbox, recipe.seed),
        accepting,
    ]
    tier = None
    if recipe.num_judge_votes:
        tier = Judging(parts.judge_bundle, judge, recipe.num_judge_votes)
        stages.append(tier)
    if recipe.num_attacks:
        attacking = Attacking(
            parts.hacker, generator, parts.sandbox, accepting, recipe.num_attacks, tier
        )
        stages.append(attacking)
    return [*stages, Publishing(parts.publisher, parts.place)]
