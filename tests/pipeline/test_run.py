"""A pipeline accounts for every item, does nothing twice, and stops without losing what it has."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import anyio
import pytest

from astra_mcp.errors import (
    BudgetSpentError,
    ConfigError,
    ModelError,
    ModelFault,
    PipelineError,
    SandboxLostError,
)
from astra_mcp.llm.turns import Turns
from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.pipeline import (
    Begun,
    Item,
    ItemStatus,
    Made,
    Progress,
    Rejected,
    Settled,
    StageLimits,
    StoredItem,
    Tally,
    YieldTable,
    run_pipeline,
)
from astra_mcp.pipeline import runner as run_module
from astra_mcp.types import FrozenModel, JsonObject

from pipeline_fakes import FakeItemStore, ScriptedStage, Work, item, items

CALL = Usage(calls=1, prompt_tokens=10, completion_tokens=2, seconds=0.5, cost=0.01)


def raising(error: Exception) -> Work:
    async def fail(_: StoredItem) -> Made[JsonObject] | Rejected:
        raise error

    return fail


async def run_one(
    work: Work | None, source: list[StoredItem], store: FakeItemStore, **limits: float
) -> YieldTable:
    """Run a pipeline of the one stage ``a``."""
    limit = StageLimits.model_validate(limits)
    return await run_pipeline("r", [ScriptedStage("a", work)], source, store, limits=limit)


async def test_an_item_whose_call_waits_gives_way_to_sixteen_later_ones_for_each_stage_behind_it() -> (
    None
):
    turns, called = Turns(1), list[str]()

    def calling(word: str) -> Work:
        async def call(item_: StoredItem) -> Made[JsonObject] | Rejected:
            async with turns.turn():
                called.append(f"{word} {item_.id}")
                await anyio.wait_all_tasks_blocked()
            return Made.of(item(f"{item_.id}/1"))

        return call

    stages = [ScriptedStage("a", calling("a")), ScriptedStage("b", calling("b"))]
    await run_pipeline("r", stages, items(40), FakeItemStore(), limits=StageLimits(concurrency=40))
    firsts = [f"a i{n}" for n in range(16)]
    pairs = [pair for n in range(16, 40) for pair in (f"a i{n}", f"b i{n - 16}/1")]
    assert called == firsts + pairs + [f"b i{n}/1" for n in range(24, 40)]


async def test_items_go_through_all_stages_and_the_table_adds_up() -> None:
    async def split(item_: StoredItem) -> Made[JsonObject] | Rejected:
        if item_.id == "i0":
            return Rejected("vague", "says nothing")
        return Made.of(*(item(f"{item_.id}/{n}") for n in range(3)))

    async def pick(item_: StoredItem) -> Made[JsonObject] | Rejected:
        return Rejected("third") if item_.id.endswith("/2") else Made.of(item_)

    stages = [ScriptedStage("split", split), ScriptedStage("pick", pick)]
    store = FakeItemStore()

    table = await run_pipeline("r", stages, items(4), store)

    split_row, pick_row = table.stages
    assert (split_row.received, split_row.finished, split_row.rejected) == (4, 3, {"vague": 1})
    assert (pick_row.received, pick_row.finished, pick_row.rejected) == (9, 6, {"third": 3})
    assert table.accepted == pick_row.outputs == 6
    assert store.outcomes["r", "split", "i0"].detail == "says nothing"
    assert store.outcomes["r", "pick", "i1/0"].status is ItemStatus.FINISHED


async def test_an_item_comes_out_while_others_have_not_begun() -> None:
    events: list[Progress] = []
    stages, store = [ScriptedStage(name) for name in "abc"], FakeItemStore()
    limits = StageLimits(concurrency=4)
    await run_pipeline("r", stages, items(200), store, limits=limits, hear=events.append)

    ended = [place for place, e in enumerate(events) if isinstance(e, Settled) and e.stage == "c"]
    begun = [place for place, e in enumerate(events) if isinstance(e, Begun) and e.stage == "a"]
    assert len(ended) == len(begun) == 200
    assert sum(place < ended[0] for place in begun) <= 3 * 4 + 1
    assert all(begun[n] > ended[n - 3 * 4 - 1] for n in range(3 * 4 + 1, 200))


async def test_the_source_is_read_no_faster_than_its_items_are_worked_on() -> None:
    num_read = 0
    let_go = anyio.Event()

    def source() -> Iterator[StoredItem]:
        nonlocal num_read
        for one in items(200):
            num_read += 1
            yield one

    async def wait(item_: StoredItem) -> Made[JsonObject] | Rejected:
        if item_.id == "i1":
            stalled.set()
        await let_go.wait()
        return Made.of(item_)

    stalled = anyio.Event()
    stages = [ScriptedStage("through"), ScriptedStage("wait", wait)]
    async with anyio.create_task_group() as group:

        async def run() -> None:
            table = await run_pipeline(
                "r", stages, source(), FakeItemStore(), limits=StageLimits(concurrency=2)
            )
            assert table.accepted == 200

        group.start_soon(run)
        with anyio.fail_after(10):
            await stalled.wait()
            await anyio.wait_all_tasks_blocked()
        assert num_read <= 2 + 2 + 1
        let_go.set()


async def test_a_thousand_items_may_be_in_work_at_once() -> None:
    all_there = anyio.Event()
    num_there = 0

    async def gather(item_: StoredItem) -> Made[JsonObject] | Rejected:
        nonlocal num_there
        num_there += 1
        if num_there == 1000:
            all_there.set()
        await all_there.wait()
        return Made.of(item_)

    with anyio.fail_after(30):
        stages = [ScriptedStage("gather", gather), ScriptedStage("through")]
        limits = {"gather": StageLimits(concurrency=1000)}
        table = await run_pipeline("r", stages, items(1000), FakeItemStore(), stage_limits=limits)

    assert table.accepted == 1000


async def test_a_second_run_computes_nothing_again_and_says_so() -> None:
    async def reject_odd(item_: StoredItem) -> Made[JsonObject] | Rejected:
        note_usage(CALL)
        return Rejected("odd") if int(item_.id[1:]) % 2 else Made.of(item_)

    store, stages = FakeItemStore(), [ScriptedStage("a", reject_odd), ScriptedStage("b")]
    first = await run_pipeline("r", stages, items(6), store)
    again = [ScriptedStage("a", reject_odd), ScriptedStage("b")]
    second = await run_pipeline("r", again, items(6), store)

    assert [stage.asked for stage in again] == [[], []]
    assert (first.accepted, second.accepted) == (3, 3)
    assert [row.recalled for row in second.stages] == [6, 3]
    assert second.usage == Usage()
    assert second.spent == first.spent == first.usage
    assert second.spent.calls == 6


async def test_a_failed_item_is_tried_again_and_its_cost_of_both_attempts_is_kept() -> None:
    async def call_and_fail(_: StoredItem) -> Made[JsonObject] | Rejected:
        note_usage(CALL)
        raise ModelError("no answer in 120 s", ModelFault.TIMEOUT)

    async def call(item_: StoredItem) -> Made[JsonObject] | Rejected:
        note_usage(CALL)
        return Made.of(item_)

    store = FakeItemStore()
    first = await run_pipeline("r", [ScriptedStage("a", call_and_fail)], items(1), store)
    assert first.stages[0].failed == {"model_timeout": 1}
    assert store.outcomes["r", "a", "i0"].usage == CALL
    assert store.outcomes["r", "a", "i0"].detail == "no answer in 120 s"

    second = await run_pipeline("r", [ScriptedStage("a", call)], items(1), store)
    assert (second.accepted, second.num_failed) == (1, 0)
    assert second.usage == CALL
    assert second.spent == store.outcomes["r", "a", "i0"].usage == CALL + CALL


@pytest.mark.parametrize(
    ("run", "version", "value"),
    [("r", "2", {}), ("r", "1", {"more": 1}), ("other", "1", {})],
    ids=["version", "value", "run"],
)
async def test_another_input_or_run_is_computed_anew(
    run: str, version: str, value: dict[str, int]
) -> None:
    store = FakeItemStore()
    await run_pipeline("r", [ScriptedStage("a"), ScriptedStage("b")], items(1), store)

    stages = [ScriptedStage("a", version=version), ScriptedStage("b")]
    await run_pipeline(run, stages, [item("i0", **value)], store)

    assert stages[0].asked == ["i0"]
    expected = [] if version == "2" else ["i0"]
    assert stages[1].asked == expected, "the next stage's input decides for itself"


async def test_failures_are_named_after_their_boundary_and_groups_of_them_count_as_one() -> None:
    both = ExceptionGroup("", [ModelError("one", ModelFault.EMPTY), SandboxLostError("other")])
    errors = {"i0": SandboxLostError("gone"), "i1": both}

    async def fail(item_: StoredItem) -> Made[JsonObject] | Rejected:
        if item_.id in errors:
            raise errors[item_.id]
        return Made.of(item_)

    store = FakeItemStore()
    table = await run_one(fail, items(3), store)

    assert table.stages[0].failed == {"model_empty": 1, "sandbox_lost": 1}
    assert store.outcomes["r", "a", "i1"].detail == "one"
    assert table.accepted == 1


async def test_an_item_that_takes_too_long_fails_at_its_deadline_with_what_it_used() -> None:
    async def hang(item_: StoredItem) -> Made[JsonObject] | Rejected:
        if item_.id == "i1":
            note_usage(CALL)
            await anyio.sleep_forever()
        return Made.of(item_)

    store = FakeItemStore()
    table = await run_one(hang, items(3), store, item_seconds=0.05)

    assert table.stages[0].failed == {"deadline": 1}
    assert table.accepted == 2
    assert store.outcomes["r", "a", "i1"].usage == CALL


async def test_usage_of_items_in_work_at_once_is_kept_apart() -> None:
    async def call(item_: StoredItem) -> Made[JsonObject] | Rejected:
        async def one() -> None:
            await anyio.lowlevel.checkpoint()
            note_usage(CALL)

        async with anyio.create_task_group() as group:
            for _ in range(int(item_.id[1:])):
                group.start_soon(one)
        return Made.of(item_)

    store = FakeItemStore()
    table = await run_pipeline("r", [ScriptedStage("a", call)], items(5), store)

    assert [store.outcomes["r", "a", f"i{n}"].usage.calls for n in range(5)] == [0, 1, 2, 3, 4]
    assert table.usage.calls == 10


async def test_a_mistake_in_a_stage_stops_the_run_and_is_raised_as_it_is() -> None:
    async def err(item_: StoredItem) -> Made[JsonObject] | Rejected:
        return Made.of(items(3)[int(item_.id[1:])])

    store = FakeItemStore()
    with pytest.raises(IndexError) as raised:
        await run_one(err, items(9), store, concurrency=1)

    assert raised.value.__notes__ == ["in the stage 'a', at the item 'i3'"]
    assert {key[2] for key in store.outcomes} == {"i0", "i1", "i2"}


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("llm.judge: no key"),
        ExceptionGroup("both", [ModelError("one", ModelFault.EMPTY), KeyError("other")]),
    ],
    ids=["of the caller", "among failures"],
)
async def test_a_mistake_stops_the_run_instead_of_failing_every_item(error: Exception) -> None:
    store = FakeItemStore()
    with pytest.raises(type(error)) as raised:
        await run_one(raising(error), items(9), store)
    assert raised.value is error
    assert not store.outcomes


async def test_a_spent_budget_lets_what_is_in_work_end_and_begins_nothing_more() -> None:
    spent = anyio.Event()

    async def work(item_: StoredItem) -> Made[JsonObject] | Rejected:
        if item_.id == "i2":
            note_usage(CALL)
            spent.set()
            raise BudgetSpentError("the budget of 3 calls is spent")
        if item_.id in {"i0", "i1"}:
            await spent.wait()
        return Made.of(item_)

    store = FakeItemStore()
    stages = [ScriptedStage("a", work), ScriptedStage("b")]
    table = await run_pipeline("r", stages, items(10), store, limits=StageLimits(concurrency=3))

    a, b = table.stages
    assert (a.received, a.finished, a.failed, a.not_begun) == (10, 2, {"budget": 1}, 7)
    assert (b.received, b.finished, b.not_begun) == (2, 0, 2)
    assert table.stopped == "the budget of 3 calls is spent"
    assert table.num_not_begun == 9
    assert table.usage == CALL
    assert stages[1].asked == []

    again = [ScriptedStage("a"), ScriptedStage("b")]
    rest = await run_pipeline("r", again, items(10), store)
    assert rest.accepted == 10
    assert not rest.stopped
    assert sorted(again[0].asked) == [f"i{n}" for n in range(2, 10)]
    assert rest.spent == CALL, "what the cut short attempt paid for is not forgotten"


async def test_a_model_that_takes_no_call_ends_the_run_instead_of_every_item() -> None:
    async def ask(item_: StoredItem) -> Made[JsonObject] | Rejected:
        note_usage(CALL)
        if item_.id in {"i0", "i10"}:
            return Made.of(item_)
        raise ModelError("HTTP 401", ModelFault.DENIED)

    stage = ScriptedStage("a", ask)
    limits = StageLimits(concurrency=1)
    table = await run_pipeline("r", [stage], items(100), FakeItemStore(), limits=limits)

    assert stage.asked == [f"i{n}" for n in range(27)]
    assert table.stages[0].failed == {"model_denied": 25}
    assert (table.num_not_begun, table.stopped) == (73, "HTTP 401")


async def test_what_earlier_runs_made_flows_although_the_budget_is_spent() -> None:
    store = FakeItemStore()
    await run_one(None, items(10)[5:], store)
    table = await run_one(raising(BudgetSpentError("spent")), items(10), store, concurrency=1)

    assert table.accepted == table.stages[0].recalled == 5
    assert (table.num_failed, table.num_not_begun) == (1, 4)


async def test_a_cancelled_run_keeps_what_was_finished_and_the_next_does_the_rest() -> None:
    async def work(item_: StoredItem) -> Made[JsonObject] | Rejected:
        if item_.id in {"i4", "i5"}:
            note_usage(CALL)
            await anyio.sleep_forever()
        return Made.of(item_)

    store, tally = FakeItemStore(), Tally(["a", "b"])
    stages = [ScriptedStage("a", work), ScriptedStage("b")]
    async with anyio.create_task_group() as group:
        group.start_soon(
            lambda: run_pipeline(
                "r", stages, items(9), store, limits=StageLimits(concurrency=2), hear=tally.hear
            )
        )
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    table = tally.table()
    assert not store.half
    assert (table.accepted, table.stages[0].interrupted, table.stages[0].running) == (4, 2, 0)
    assert table.usage == CALL + CALL

    again = [ScriptedStage("a"), ScriptedStage("b")]
    assert (await run_pipeline("r", again, items(9), store)).accepted == 9
    assert sorted(again[0].asked) == ["i4", "i5", "i6", "i7", "i8"]


async def test_a_save_under_way_is_completed_although_the_run_is_cancelled() -> None:
    class CancelledWhileSaving(FakeItemStore):
        async def save(self, run: str, stage: str, outcome: object) -> None:
            scope.cancel()
            await super().save(run, stage, outcome)  # type: ignore[arg-type]

    store = CancelledWhileSaving()
    with anyio.CancelScope() as scope:
        await run_pipeline("r", [ScriptedStage("a")], items(1), store)

    assert scope.cancelled_caught
    assert not store.half
    assert ("r", "a", "i0") in store.outcomes


@pytest.mark.parametrize("method", ["find", "save"])
async def test_a_store_that_does_not_answer_stops_the_run_with_a_message(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object) -> None:
        await anyio.sleep_forever()

    store = FakeItemStore()
    monkeypatch.setattr(run_module, "STORE_SECONDS", 0.02)
    monkeypatch.setattr(store, method, hang)

    with pytest.raises(PipelineError, match="did not answer within"):
        await run_pipeline("r", [ScriptedStage("a")], items(3), store)


async def test_an_id_that_comes_twice_is_an_error_that_names_it() -> None:
    with pytest.raises(PipelineError, match="two items with the id 'i0' go to the stage 'a'"):
        await run_pipeline("r", [ScriptedStage("a")], [item("i0")] * 2, FakeItemStore())


async def same(_: StoredItem) -> Made[JsonObject] | Rejected:
    return Made.of(item("same"))


async def test_two_items_whose_outputs_have_one_id_are_an_error_and_one_is_saved() -> None:
    for names, target in ((["a", "b"], "the stage 'b'"), (["a"], "the end of the pipeline")):
        store = FakeItemStore()
        stages = [ScriptedStage(name, same if name == "a" else None) for name in names]
        with pytest.raises(PipelineError, match=f"'same' go to {target}"):
            await run_pipeline("r", stages, items(2), store)
        assert len([key for key in store.outcomes if key[1] == "a"]) == 1


async def test_an_id_that_an_earlier_run_gave_is_not_given_again() -> None:
    store = FakeItemStore()
    await run_one(same, items(1), store)
    await run_one(same, items(2)[1:], store)

    with pytest.raises(PipelineError, match="'same' go to the end of the pipeline"):
        await run_one(same, items(2), store)


def test_two_outputs_of_one_id_or_a_rejection_without_a_reason_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two outputs have the id 'x'"):
        Made.of(item("x"), item("x"))
    with pytest.raises(ValueError, match="needs a reason"):
        Rejected("")


async def test_an_awaited_source_is_closed_when_the_run_stops() -> None:
    is_closed = False

    async def source() -> AsyncGenerator[StoredItem]:
        nonlocal is_closed
        try:
            for one in items(9):
                yield one
        finally:
            is_closed = True

    stage = ScriptedStage("a", raising(ConfigError("mend it")))
    with pytest.raises(ConfigError):
        await run_pipeline("r", [stage], source(), FakeItemStore())
    assert is_closed


async def test_an_error_of_the_source_stops_the_run_and_is_raised() -> None:
    async def source() -> AsyncGenerator[StoredItem]:
        yield item("i0")
        raise OSError("the file is gone")

    store = FakeItemStore()
    async with aclosing(source()) as given:
        with pytest.raises(OSError, match="the file is gone"):
            await run_pipeline("r", [ScriptedStage("a")], given, store)


@pytest.mark.parametrize(
    ("names", "limited", "message"),
    [
        ([], [], "needs stages"),
        (["a", "a"], [], "each with its own name"),
        (["a"], ["b"], "not there: b"),
    ],
)
async def test_a_pipeline_that_is_put_together_wrongly_is_refused(
    names: list[str], limited: list[str], message: str
) -> None:
    own = {name: StageLimits() for name in limited}
    stages = [ScriptedStage(name) for name in names]
    with pytest.raises(ValueError, match=message):
        await run_pipeline("r", stages, items(1), FakeItemStore(), stage_limits=own)


async def test_no_items_make_an_empty_table() -> None:
    table = await run_pipeline("r", [ScriptedStage("a")], [], FakeItemStore())
    assert (table.accepted, table.num_failed, table.num_not_begun) == (0, 0, 0)
    assert table.as_json()["per_accepted"] is None


class _Word(FrozenModel):
    text: str


class _Shouting:
    """Takes and makes values of a type of its own."""

    name = "shout"
    version = "1"
    takes = _Word

    async def run(self, item: Item[_Word]) -> Made[_Word]:
        return Made.of(Item(id=item.id, value=_Word(text=item.value.text.upper())))


async def test_a_stage_is_given_values_of_its_type_and_json_is_what_is_kept() -> None:
    store = FakeItemStore()
    words = [StoredItem(id="a", value={"text": "mind the gap"})]

    for _ in range(2):
        await run_pipeline("run", [_Shouting()], words, store)

    kept = store.outcomes["run", "shout", "a"].outputs
    assert kept == (StoredItem(id="a", value={"text": "MIND THE GAP"}),)


async def test_a_value_of_another_type_than_the_stage_takes_stops_the_run_with_its_name() -> None:
    wrong = [StoredItem(id="a", value={"number": 7})]

    with pytest.raises(PipelineError, match="'shout' takes _Word, which the item 'a' is not"):
        await run_pipeline("run", [_Shouting()], wrong, FakeItemStore())
