"""What JSON carries to no other program fails its item, and stops no run."""

import pytest

from astra_mcp.pipeline import ItemStatus, Made, Outcome, StoredItem, run_pipeline
from astra_mcp.pipeline.attempt import input_hash
from astra_mcp.types import JsonValue

from pipeline_fakes import FakeItemStore, ScriptedStage, item, items

UNKEEPABLE: list[JsonValue] = [2**64, -(2**63) - 1, float("inf"), "\ud800"]


@pytest.mark.parametrize("value", UNKEEPABLE, ids=["long", "low", "infinite", "half"])
async def test_an_item_of_which_such_a_thing_is_made_fails_and_the_others_go_on(
    value: JsonValue,
) -> None:
    async def make(given: StoredItem) -> Made[dict[str, JsonValue]]:
        return Made.of(StoredItem(id=given.id, value={"a": [value if given.id == "i1" else 1]}))

    store = FakeItemStore()
    stages = [ScriptedStage("a", make), ScriptedStage("b")]
    for _ in range(2):
        table = await run_pipeline("r", stages, items(3), store)
        assert [dict(row.failed) for row in table.stages] == [{"unkeepable": 1}, {}]
        assert stages[1].asked == ["i0", "i2"]


async def test_such_an_outcome_of_an_earlier_run_is_made_anew() -> None:
    store, stage = FakeItemStore(), ScriptedStage("a")
    kept = Outcome(
        item="i0",
        input_hash=input_hash(stage, item("i0")),
        status=ItemStatus.FINISHED,
        outputs=(StoredItem(id="i0", value={"a": 2**64}),),
    )
    store.outcomes["r", "a", "i0"] = kept
    table = await run_pipeline("r", [stage, ScriptedStage("b")], items(1), store)
    assert (stage.asked, table.num_failed) == (["i0"], 0)
    assert store.outcomes["r", "b", "i0"].status is ItemStatus.FINISHED
