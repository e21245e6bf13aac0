"""The yield adds up at any time, and is printed as programs and people expect it."""

import json

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.pipeline import (
    Begun,
    Given,
    Interrupted,
    ItemStatus,
    Made,
    Outcome,
    Rejected,
    Settled,
    StoredItem,
    Tally,
    run_pipeline,
)
from astra_mcp.types import JsonObject

from pipeline_fakes import FakeItemStore, ScriptedStage, item, items

CALL = Usage(calls=1, cached=2, prompt_tokens=10, completion_tokens=5, seconds=0.5, cost=0.1)


def outcome(id: str, status: ItemStatus, reason: str = "", *outputs: StoredItem) -> Outcome:
    return Outcome(
        item=id, input_hash="0", status=status, reason=reason, outputs=outputs, usage=CALL
    )


def test_every_item_is_in_one_place_while_the_run_goes_on() -> None:
    tally = Tally(["a", "b"])
    made = outcome("i0", ItemStatus.FINISHED, "", item("x"), item("y"))
    for number in range(6):
        tally.hear(Given(f"i{number}"))
    for number in range(4):
        tally.hear(Begun("a", f"i{number}"))
    tally.hear(Settled("a", made, CALL, is_recalled=False))
    tally.hear(Settled("a", outcome("i1", ItemStatus.REJECTED, "bad"), CALL, is_recalled=False))
    tally.hear(Interrupted("a", "i2", CALL))
    tally.hear(Settled("a", outcome("i4", ItemStatus.REJECTED, "bad"), Usage(), is_recalled=True))
    tally.hear(Begun("b", "x"))

    a, b = tally.table().stages
    assert (a.received, a.finished, a.rejected, a.interrupted) == (6, 1, {"bad": 2}, 1)
    assert (a.running, a.not_begun, a.recalled, a.num_settled) == (1, 1, 1, 3)
    assert (a.usage.calls, a.spent.calls) == (3, 3)
    assert (b.received, b.running, b.not_begun) == (2, 1, 1)


async def test_programs_get_the_yield_by_stage_and_reason_and_its_cost() -> None:
    async def judge(one: StoredItem) -> Made[JsonObject] | Rejected:
        note_usage(CALL)
        match one.id:
            case "i0" | "i1":
                return Rejected("vague")
            case "i2":
                raise ModelError("no answer", ModelFault.TIMEOUT)
            case _:
                return Made.of(one)

    table = await run_pipeline(
        "r", [ScriptedStage("draft"), ScriptedStage("judge", judge)], items(7), FakeItemStore()
    )
    found = table.as_json()

    assert json.loads(json.dumps(found)) == found
    seconds = found.pop("seconds")
    assert isinstance(seconds, float)
    stages = found.pop("stages")
    assert found == {
        "accepted": 4,
        "rejected": {"judge": {"vague": 2}},
        "failed": {"judge": {"model_timeout": 1}},
        "not_begun": {},
        "stopped": None,
        "model_calls": 7,
        "cached_calls": 14,
        "tokens": 105,
        "cost": 0.7,
        "per_accepted": {
            "model_calls": 1.75,
            "tokens": 26.25,
            "model_seconds": 0.875,
            "cost": 0.175,
        },
    }
    assert isinstance(stages, list)
    assert [isinstance(row, dict) and (row["stage"], row["in"], row["out"]) for row in stages] == [
        ("draft", 7, 7),
        ("judge", 7, 4),
    ]


def test_a_stage_that_gathers_received_what_it_was_given_and_not_what_was_made_before_it() -> None:
    tally = Tally(["a", "b", "c"], follows={"b": "c"})
    tally.hear(Given("i"))
    made = outcome("i", ItemStatus.FINISHED, "", item("x"), item("y"), item("z"))
    tally.hear(Settled("a", made, CALL, is_recalled=True))
    tally.hear(Given("i", "b"))
    tally.hear(
        Settled("b", outcome("i", ItemStatus.FINISHED, "", item("v")), CALL, is_recalled=True)
    )
    assert [row.received for row in tally.table().stages] == [1, 1, 1]
    assert tally.table().num_not_begun == 1
