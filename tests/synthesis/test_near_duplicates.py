"""Near-duplicates: found as comparing all pairs would find them, whatever the order of answers."""

import random
from collections.abc import Collection, Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import BudgetSpentError, ModelError, ModelFault, UndecidedError
from astra_mcp.pipeline import (
    Given,
    Item,
    ItemStatus,
    Made,
    Outcome,
    Rejected,
    Settled,
    StageLimits,
    StoredItem,
    run_pipeline,
)
from astra_mcp.synthesis.duplicates import NearDuplicates, SourceOrder
from astra_mcp.synthesis.environments.questions.gating import TopologyGate
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.synthesis.environments.questions.source import Source, make_source
from astra_mcp.synthesis.environments.questions.topology import Wanted
from astra_mcp.synthesis.likeness import ComparedText

from pipeline_fakes import FakeItemStore
from scripted_synthesis import instance

WORDS = st.lists(st.sampled_from([*"abcdefghijkl", "2", "3", "not"]), min_size=1, max_size=14).map(
    " ".join
)
GOOD = "Which code of the tall tower on the hill comes in the end for the door with the {} sign?"


@pytest.mark.claim("P42")
@given(st.lists(WORDS, max_size=30))
def test_what_is_found_is_what_comparing_all_pairs_finds(questions: list[str]) -> None:
    found = NearDuplicates()
    known: list[tuple[str, ComparedText]] = []
    for number, question in enumerate(questions):
        text = ComparedText.of(question)
        alike = [id for id, other in known if text.is_like(other)]
        assert found.find(question) == next(iter(alike), None)
        found.add(f"{number}", question)
        known.append((f"{number}", text))


class Written:
    """A stage that makes of each source what the test says, as late as chance says."""

    name, version, takes = "decompose", "1", Source

    def __init__(self, questions: Sequence[Sequence[str] | Exception], seed: int) -> None:
        self.questions, self.chance = questions, random.Random(seed)  # noqa: S311 - reproducible

    async def run(self, item: Item[Source]) -> Made[Instance] | Rejected:
        """Write the questions of the source's number."""
        for _ in range(self.chance.randrange(40)):
            await anyio.lowlevel.checkpoint()
        found = self.questions[int(item.value.domain)]
        if isinstance(found, Exception):
            raise found
        return Made.of(
            *(
                Item(id=f"{item.id}/{n}", value=instance(main_question=q))
                for n, q in enumerate(found)
            )
        )


def order_of(window: int) -> SourceOrder:
    """An order of sources that a stage makes instances of, and the topology gate decides."""
    return SourceOrder(["decompose"], "topology", member="main_question", window=window)


def as_item(source: Source) -> StoredItem:
    """A source as runs carry it."""
    return StoredItem(id=source.id, value=source.model_dump(mode="json"))


async def kept(
    questions: Sequence[Sequence[str] | Exception],
    seed: int,
    store: FakeItemStore | None = None,
    *,
    window: int = 4,
) -> list[str]:
    """The questions that go on, in the order of their sources."""
    order = order_of(window)
    store = store or FakeItemStore()
    sources = [make_source(domain=f"{n}") for n in range(len(questions))]
    with anyio.fail_after(20):
        await run_pipeline(
            "r",
            [Written(questions, seed), TopologyGate(Wanted(), order)],
            order.feed(map(as_item, sources)),
            store,
            limits=StageLimits(concurrency=3),
            stage_limits={"topology": StageLimits(concurrency=4 * window)},
            hear=order.hear,
        )
    outcomes = [
        store.outcomes[key]
        for source in sources
        for n in range(4)
        if (key := ("r", "topology", f"{source.id}/{n}")) in store.outcomes
    ]
    return [str(o.value["main_question"]) for outcome in outcomes for o in outcome.outputs]


FAILURE = ModelError("no answer", ModelFault.TIMEOUT)
ALIKE = [
    [GOOD.format("red"), "Which other code is behind the blue curtain of the old stage?"],
    [],
    [GOOD.format("blue")],
    FAILURE,
    [GOOD.format("green"), "Who keeps the key of the northern boat house in winter?"],
    ["Who keeps the key of the northern boat house in summer?"],
]
FIRST = [ALIKE[0][0], ALIKE[0][1], ALIKE[4][1]]  # type: ignore[index]


@pytest.mark.claim("P42")
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_the_first_of_the_alike_stays_whatever_the_order_of_answers_and_failures_between(
    seed: int, window: int
) -> None:
    async def run() -> list[str]:
        return await kept(ALIKE, seed, window=window)

    assert anyio.run(run) == FIRST


class Judged:
    """A stage that lets all go on, but for those that fail in this run."""

    name, version, takes = "judge", "1", Instance

    def __init__(self, failing: Collection[str]) -> None:
        self.failing = failing

    async def run(self, item: Item[Instance]) -> Made[Instance] | Rejected:
        """Fail where the test says so."""
        if item.id in self.failing:
            raise FAILURE
        return Made.of(item)


async def decided(
    questions: Sequence[Sequence[str] | Exception], failing: Collection[str], store: FakeItemStore
) -> set[str]:
    """The items that a run lets through in which some fail before they are compared."""
    order = SourceOrder(
        ["decompose", "judge"], "topology", member="main_question", window=3, written=["judge"]
    )
    await run_pipeline(
        "r",
        [Written(questions, 1), Judged(failing), TopologyGate(Wanted(), order)],
        order.feed(as_item(make_source(domain=f"{n}")) for n in range(len(questions))),
        store,
        stage_limits={"topology": StageLimits(concurrency=16)},
        hear=order.hear,
    )
    topology = {k[2]: o for k, o in store.outcomes.items() if k[1] == "topology"}
    return {item for item, outcome in topology.items() if outcome.status is ItemStatus.FINISHED}


ASKED = [
    [GOOD.format("red"), GOOD.format("blue"), "Who keeps the key of the northern boat house?"],
    [GOOD.format("green"), "Who keeps the key of the northern boat house?"],
]
IDS_OF_ONE = [f"{make_source(domain=f'{n}').id}/0" for n in range(2)]
IDS = [
    f"{make_source(domain=f'{n}').id}/{m}"
    for n, asked in enumerate(ASKED)
    for m in range(len(asked))
]


@pytest.mark.claim("P42")
@given(st.lists(st.sets(st.sampled_from(IDS)), max_size=3))
def test_what_fails_before_its_turn_never_lets_a_later_one_take_its_place(
    failing: list[set[str]],
) -> None:
    async def run() -> None:
        store = FakeItemStore()
        for some in failing:
            assert await decided(ASKED, some, store) <= {IDS[0], IDS[2]}
        assert await decided(ASKED, [], store) == {IDS[0], IDS[2]}

    anyio.run(run)


async def test_what_the_first_of_a_source_will_ask_is_awaited_by_its_others_alone() -> None:
    order = SourceOrder(["write", "vary"], "last", member="q", window=2)
    for source in ("a", "b"):
        await order.begin(source)
        order.hear(Given(source))
        order.release(source)
        made = tuple(
            StoredItem(id=f"{source}/{n}", value={"q": f"{source} {n}"}) for n in (1, 2, 3)
        )
        written = Outcome(item=source, input_hash="", status=ItemStatus.FINISHED, outputs=made)
        order.hear(Settled("write", written, written.usage, is_recalled=False))
    failed = Outcome(item="a/2", input_hash="", status=ItemStatus.FAILED, reason="model_timeout")
    order.hear(Settled("vary", failed, failed.usage, is_recalled=False))
    assert order.find("a/1", "quite another thing") is None
    assert order.find("b/1", "quite another thing") is None
    with pytest.raises(UndecidedError, match="a/2, of which may come the same"):
        order.find("a/3/persona-1", "quite another thing")


async def test_a_verdict_of_a_run_in_which_other_ones_were_accepted_is_not_recalled() -> None:
    store = FakeItemStore()
    assert await kept([[GOOD.format("red")], [GOOD.format("blue")]], 1, store) == [
        GOOD.format("red")
    ]
    order = order_of(4)
    await run_pipeline(
        "r",
        [Written([[], [GOOD.format("blue")]], 1), TopologyGate(Wanted(), order)],
        order.feed([as_item(make_source(domain="1"))]),
        store,
        hear=order.hear,
    )
    [decision] = [o for k, o in store.outcomes.items() if k[1:] == ("topology", IDS_OF_ONE[1])]
    assert decision.status is ItemStatus.FINISHED


async def test_a_later_run_decides_as_one_that_had_all_sources_at_once() -> None:
    store = FakeItemStore()
    assert await kept(ALIKE[:3], 1, store) == FIRST[:2]
    assert await kept(ALIKE, 2, store) == FIRST


async def test_a_spent_budget_ends_the_waiting_and_the_next_run_goes_on() -> None:
    store = FakeItemStore()
    spent: list[Sequence[str] | Exception] = [*ALIKE]
    spent[2] = BudgetSpentError("spent")
    first = await kept(spent, 4, store, window=2)
    assert first == FIRST[: len(first)]
    assert await kept(ALIKE, 5, store, window=2) == FIRST


async def test_sources_are_given_no_further_ahead_than_the_window() -> None:
    feed = order_of(2).feed(as_item(make_source(domain=f"{n}")) for n in range(3))
    await anext(feed)
    await anext(feed)
    with pytest.raises(TimeoutError), anyio.fail_after(0):
        await anext(feed)


async def test_a_source_is_decided_when_all_that_is_made_of_it_in_several_runs_has_come() -> None:
    order = SourceOrder(["write", "find"], "last", member="q", window=2, ends=["find"])
    await order.begin("a/b")
    order.hold("a/b")
    await order.begin("c")
    granted: list[str] = []

    async def wait(item: str) -> None:
        await order.turn(item)
        granted.append(item)

    def settle(stage: str, item: str, *outputs: str) -> None:
        made = tuple(StoredItem(id=id, value={"q": id}) for id in outputs)
        outcome = Outcome(item=item, input_hash="", status=ItemStatus.FINISHED, outputs=made)
        order.hear(Settled(stage, outcome, outcome.usage, is_recalled=False))

    async with anyio.create_task_group() as group:
        order.hear(Given("c"))
        order.release("c")
        settle("write", "c", "c/1")
        order.hear(Given("a/b/x"))
        settle("find", "a/b/x", "a/b/x/1", "a/b/x/2")
        order.hear(Given("a/b/10"))
        order.hear(Given("a/b/9"))
        order.release("a/b")
        for item in ("c/1", "a/b/10", "a/b/9"):
            group.start_soon(wait, item)
        await anyio.wait_all_tasks_blocked()
        assert granted == []
        order.release("a/b")
        for item in ("a/b/9", "a/b/10", "c/1"):
            await anyio.wait_all_tasks_blocked()
            assert granted[-1] == item
            settle("last", item, item)
    assert granted == ["a/b/9", "a/b/10", "c/1"]
    assert order.accepted.find("c/1") is not None


async def test_an_item_of_no_source_is_a_mistake() -> None:
    with pytest.raises(LookupError, match="'z/1' is of no source"):
        await order_of(1).turn("z/1")
