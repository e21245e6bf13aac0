"""Whatever fails, is cancelled or runs out of budget: nothing is lost, doubled or done twice."""

from collections import Counter
from dataclasses import dataclass
from functools import partial

import anyio
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import BudgetSpentError, ModelError, ModelFault, SandboxLostError
from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.pipeline import (
    BUDGET,
    Begun,
    Given,
    Interrupted,
    ItemStatus,
    Made,
    NotBegun,
    Progress,
    Rejected,
    Settled,
    StageLimits,
    StoredItem,
    Tally,
    YieldTable,
    run_pipeline,
)
from astra_mcp.seeds import generator
from astra_mcp.types import JsonObject

from pipeline_fakes import FakeItemStore, ScriptedStage, item, items

CALL = Usage(calls=1, prompt_tokens=3, cost=0.25)


@dataclass(frozen=True)
class World:
    """What the stages make of every item, in the end."""

    seed: int
    num_items: int
    stages: tuple[str, ...]

    def verdict(self, stage: str, id: str) -> Made[JsonObject] | Rejected:
        """One item into none to three, or a rejection."""
        chance = generator(self.seed, "verdict", stage, id)
        if chance.random() < 0.3:
            return Rejected(chance.choice(["vague", "short"]))
        num = chance.choice([0, 1, 1, 1, 2, 3])
        return Made.of(*(item(f"{id}.{n}", by=stage) for n in range(num)))

    def expected(self) -> list[Counter[str]]:
        """For each stage, how many are finished, and rejected by reason."""
        found: list[Counter[str]] = []
        ids = [one.id for one in items(self.num_items)]
        for stage in self.stages:
            verdicts = [self.verdict(stage, id) for id in ids]
            found.append(Counter(_word(verdict) for verdict in verdicts))
            ids = [o.id for v in verdicts if isinstance(v, Made) for o in v.outputs]
        found.append(Counter(accepted=len(ids)))
        return found


@dataclass(frozen=True)
class Plan:
    """What happens to one run."""

    seed: int = 0
    concurrency: int = 1
    failure_rate: float = 0.0
    budget: int | None = None
    cancelled_at: int | None = None
    """The number of the event that it is cancelled at."""


class Watched:
    """One run that goes by its plan, and what was seen of it."""

    def __init__(self, world: World, plan: Plan) -> None:
        self._world = world
        self._plan = plan
        self._num_events = 0
        self._is_spent = False
        self.scope: anyio.CancelScope | None = None
        self.tally = Tally(world.stages)
        self.num_calls = 0
        self.lost = Usage()
        """Of attempts that were cut off at once, so that no outcome tells of them."""

    async def work(self, stage: str, one: StoredItem) -> Made[JsonObject] | Rejected:
        """Take some turns of the loop, pay for a call unless the budget is spent, and fail by chance."""
        chance = generator(self._plan.seed, "run", stage, one.id)
        for _ in range(chance.randrange(5)):
            await anyio.lowlevel.checkpoint()
        if self.num_calls == self._plan.budget:
            raise BudgetSpentError("spent")
        self.num_calls += 1
        note_usage(CALL)
        for _ in range(chance.randrange(5)):
            await anyio.lowlevel.checkpoint()
        if chance.random() < self._plan.failure_rate:
            raise chance.choice(
                [ModelError("down", ModelFault.UNREACHABLE), SandboxLostError("gone")]
            )
        return self._world.verdict(stage, one.id)

    def hear(self, event: Progress) -> None:
        """Check what may happen now, and cancel where the plan says so."""
        self.tally.hear(event)
        match event:
            case Begun(stage=stage):
                assert not self._is_spent, "an item was begun after the budget was spent"
                assert self.tally.row(stage).running <= self._plan.concurrency
            case Settled(outcome=outcome):
                self._is_spent = self._is_spent or outcome.reason == BUDGET
            case Interrupted(usage=usage):
                self.lost += usage
            case Given() | NotBegun():
                pass
        self._num_events += 1
        if self._num_events == self._plan.cancelled_at:
            assert self.scope is not None
            self.scope.cancel()


class Trial:
    """Several runs over one world and one store."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.store = FakeItemStore()
        self.num_calls = 0
        self.billed = Usage()
        self.lost = Usage()

    def run(self, plan: Plan) -> YieldTable:
        """Run once; the table comes from the events, so that a cancelled run has one too."""
        settled_before = {k for k, o in self.store.outcomes.items() if o.status != "failed"}
        watched = Watched(self.world, plan)
        stages = [ScriptedStage(name, partial(watched.work, name)) for name in self.world.stages]

        async def go() -> YieldTable | None:
            with anyio.CancelScope() as watched.scope:
                return await run_pipeline(
                    "r",
                    stages,
                    items(self.world.num_items),
                    self.store,
                    limits=StageLimits(concurrency=plan.concurrency),
                    hear=watched.hear,
                )
            return None

        returned = anyio.run(go)
        table = watched.tally.table()
        self.num_calls += watched.num_calls
        self.billed += table.usage
        self.lost += watched.lost
        self._check(table, stages, settled_before)
        if returned is not None:
            assert returned.stages == table.stages
            assert table.stopped or table.num_not_begun == 0
        return table

    def _check(
        self,
        table: YieldTable,
        stages: list[ScriptedStage],
        settled_before: set[tuple[str, str, str]],
    ) -> None:
        assert not self.store.half, "a save was cut off"
        assert self.billed.calls == self.num_calls, "a call was forgotten or counted twice"
        for row, stage in zip(table.stages, stages, strict=True):
            ended = row.finished + row.num_rejected + row.num_failed + row.interrupted
            assert row.received == ended + row.not_begun
            assert row.not_begun >= 0
            assert row.running == 0
            assert len(stage.asked) == len(set(stage.asked))
            assert len(stage.asked) == ended - row.recalled
            assert not settled_before & {("r", stage.name, id) for id in stage.asked}
        for before, behind in zip(table.stages, table.stages[1:], strict=False):
            assert behind.received == before.outputs

    def check_end(self, table: YieldTable) -> None:
        """What a run without faults ends with, whatever came before it."""
        found = [Counter({**row.rejected, "finished": row.finished}) for row in table.stages]
        found.append(Counter(accepted=table.accepted))
        assert [+counts for counts in found] == [+counts for counts in self.world.expected()]
        assert all(o.status is not ItemStatus.FAILED for o in self.store.outcomes.values())
        assert table.spent + self.lost == self.billed, "what a failed attempt cost was forgotten"


def _word(verdict: Made[JsonObject] | Rejected) -> str:
    return verdict.reason if isinstance(verdict, Rejected) else "finished"


worlds = st.builds(
    World,
    seed=st.integers(0, 2**32),
    num_items=st.integers(0, 20),
    stages=st.sampled_from([("a",), ("a", "b"), ("a", "b", "c")]),
)
plans = st.builds(
    Plan,
    seed=st.integers(0, 2**32),
    concurrency=st.integers(1, 16),
    failure_rate=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    budget=st.none() | st.integers(0, 40),
    cancelled_at=st.none() | st.integers(1, 120),
)


@given(world=worlds, runs=st.lists(plans, max_size=4), concurrency=st.integers(1, 16))
def test_every_item_is_accounted_for_once_and_none_that_is_settled_is_worked_on_again(
    world: World, runs: list[Plan], concurrency: int
) -> None:
    trial = Trial(world)
    for plan in runs:
        trial.run(plan)
    trial.check_end(trial.run(Plan(concurrency=concurrency)))


@given(world=worlds, one=plans, concurrency=st.integers(2, 16))
def test_the_table_and_the_outcomes_do_not_depend_on_the_concurrency(
    world: World, one: Plan, concurrency: int
) -> None:
    seen: list[tuple[object, object]] = []
    for num in (1, concurrency):
        trial = Trial(world)
        table = trial.run(Plan(seed=one.seed, concurrency=num, failure_rate=one.failure_rate))
        seen.append((table.stages, trial.store.outcomes))
    assert seen[0] == seen[1]
