"""Which steps need a tool, and the scores of a decomposition: Eq. 14 to 21."""

from math import isclose
from statistics import fmean
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.pipeline import Item, ItemStatus, Made, Rejected, run_pipeline
from astra_mcp.synthesis.environments.questions.instance import Instance, QualityVote
from astra_mcp.synthesis.environments.questions.necessity import ToolNecessity
from astra_mcp.synthesis.environments.questions.quality import (
    PercentileCut,
    QualityJudge,
    quality_scores,
)

from pipeline_fakes import FakeItemStore
from scripted_synthesis import ScriptedAsks, instance, sub

CHAIN = instance(sub(1), sub(2, 1), sub(3, 2))
HOLDS = {"reason": "it does", "holds": True}
FAILS = {"reason": "it does not", "holds": False}
FAILURE = ModelError("no answer", ModelFault.TIMEOUT)


def needs(**steps: bool) -> dict[str, Any]:
    """What a judge says of the steps ``s1``, ``s2``, ..."""
    return {"steps": [{"id": int(id[1:]), "needs_tool": needed} for id, needed in steps.items()]}


async def needed(answer: Any, found: Instance = CHAIN) -> Made[Instance] | Rejected:
    """What the stage of necessity makes of an instance."""
    stage = ToolNecessity(ScriptedAsks(necessity=answer), "m")
    return await stage.run(Item(id="s/1", value=found))


@pytest.mark.claim("P35")
async def test_a_step_that_others_build_on_has_to_need_a_tool() -> None:
    assert await needed(needs(s1=True, s2=False, s3=True)) == Rejected(
        "tool_free_step", "others build on sub-questions [2], which need no tool"
    )


@pytest.mark.claim("P35")
async def test_a_leaf_that_needs_no_tool_goes_without_and_one_that_needs_one_gets_it() -> None:
    for last in (False, True):
        made = await needed(needs(s1=True, s2=True, s3=last))
        assert isinstance(made, Made)
        subs = made.outputs[0].value.sub_questions
        assert [step.needs_tool for step in subs] == [True, True, last]


@pytest.mark.claim("P35")
async def test_an_instance_without_any_tool_is_none() -> None:
    made = await needed(needs(s1=False), instance(sub(1), scenario_type="Single-Hop"))
    assert made == Rejected("no_tool", "no sub-question needs a tool")


async def test_a_judge_that_leaves_a_step_out_has_failed() -> None:
    with pytest.raises(ModelError, match=r"does not speak of \[2, 3\]"):
        await needed(needs(s1=True))


def judge(**answers: Any) -> ScriptedAsks:
    """A judge to whom all holds but for what is said otherwise; lists are verdicts on the steps."""
    by_step = {name: [1, 1, 1] for name in ("dependencies", "atomicity", "sequence")}
    found: dict[str, Any] = {**by_step, "completeness": HOLDS, "derivation": HOLDS}
    return ScriptedAsks(**{n: _verdicts(a) for n, a in (found | answers).items()})


def _verdicts(given: Any) -> Any:
    if not isinstance(given, list):
        return given
    told = (FAILS, HOLDS)
    values = cast("list[int]", given)
    return {"verdicts": [{"id": id, **told[value]} for id, value in enumerate(values, 1)]}


def alternating(_: str, sample: int) -> dict[str, Any]:
    """It holds, but for every second vote."""
    return FAILS if sample % 2 else HOLDS


async def judged(
    model: ScriptedAsks, found: Instance = CHAIN, *, threshold: float = 0.0, votes: int = 1
) -> Made[Instance] | Rejected:
    """What the stage of quality makes of an instance."""
    return await QualityJudge(model, "m", threshold, votes).run(Item(id="s/1", value=found))


async def scored(model: ScriptedAsks, **more: Any) -> dict[str, float]:
    """Its scores."""
    made = await judged(model, **more)
    assert isinstance(made, Made)
    return dict(made.outputs[0].value.scores)


@pytest.mark.parametrize(
    ("prompt", "dimension"),
    [
        pytest.param("dependencies", "DC", marks=pytest.mark.claim("P36")),
        pytest.param("atomicity", "SA", marks=pytest.mark.claim("P37")),
        pytest.param("sequence", "SR", marks=pytest.mark.claim("P38")),
    ],
)
async def test_what_is_judged_by_step_is_the_mean_over_all_steps(
    prompt: str, dimension: str
) -> None:
    scores = await scored(judge(**{prompt: [1, 0, 0]}))
    others = {"DC", "SA", "SR", "TC"} - {dimension}
    assert isclose(scores[dimension], 1 / 3)
    assert {scores[name] for name in others} == {1.0}


@pytest.mark.claim("P39")
async def test_completeness_is_one_or_nothing_for_the_instance() -> None:
    assert (await scored(judge()))["TC"] == 1.0
    assert (await scored(judge(completeness=FAILS)))["TC"] == 0.0


@pytest.mark.claim("P40")
@given(st.lists(st.tuples(st.sampled_from(["DC", "SA", "SR", "TC"]), st.floats(0, 1)), max_size=9))
def test_quality_is_the_mean_of_the_four_whatever_the_number_of_votes(
    more: list[tuple[str, float]],
) -> None:
    told = [*more, ("DC", 1.0), ("SA", 0.5), ("SR", 0.0), ("TC", 1.0)]
    scores = quality_scores([QualityVote(dimension=name, score=value) for name, value in told])
    means = [fmean(v for name, v in told if name == each) for each in ("DC", "SA", "SR", "TC")]
    assert isclose(scores["QS"], fmean(means))


@pytest.mark.claim("P40")
async def test_what_is_below_the_threshold_is_rejected_with_its_scores_and_reasons() -> None:
    poor = judge(atomicity=[1, 0, 1], completeness=FAILS)
    quality = (1 + 2 / 3 + 1 + 0) / 4
    assert isinstance(await judged(poor, threshold=quality), Made)
    refused = await judged(poor, threshold=quality + 0.01)
    assert isinstance(refused, Rejected)
    assert refused.reason == "low_quality"
    assert "SA 0.67" in refused.detail
    assert "SA: 2: it does not; TC: it does not" in refused.detail


@pytest.mark.claim("P40")
@pytest.mark.parametrize(
    ("percentile", "kept"), [(0, "1234"), (25, "1234"), (26, "234"), (75, "34"), (100, "4")]
)
async def test_a_percentile_leaves_out_what_is_below_it_and_keeps_the_value_itself(
    percentile: float, kept: str
) -> None:
    qualities = {"2": 0.5, "4": 1.0, "3": 0.75, "1": 0.25}
    scored = {id: CHAIN.model_copy(update={"scores": {"QS": q}}) for id, q in qualities.items()}
    cut = PercentileCut.of([*scored.values()], percentile)
    made = {id: await cut.run(Item(id=id, value=found)) for id, found in scored.items()}
    assert {id for id, outcome in made.items() if isinstance(outcome, Made)} == {*kept}


async def test_each_vote_is_a_call_of_its_own_and_all_are_kept() -> None:
    model = judge(completeness=alternating)
    made = await judged(model, votes=3)
    assert isinstance(made, Made)
    votes = [v.score for v in made.outputs[0].value.votes if v.dimension == "TC"]
    assert votes == [1.0, 0.0, 1.0]
    assert isclose(made.outputs[0].value.scores["TC"], 2 / 3)
    assert sorted(model.names()) == sorted(
        ["atomicity", "completeness", "dependencies", "sequence"] * 3
    )


@pytest.mark.claim("P33")
async def test_a_main_answer_in_words_is_judged_and_one_by_a_formula_is_not() -> None:
    in_words = CHAIN.model_copy(update={"derivation": {"formula": "other"}})
    in_words = Instance.model_validate(in_words.model_dump(warnings=False))
    refused = await judged(judge(derivation=FAILS), in_words)
    assert refused == Rejected("underivable", "derivation: it does not")
    assert isinstance(await judged(judge(), in_words), Made)
    assert isinstance(await judged(judge(derivation=FAILS)), Made)
    assert isinstance(await judged(judge(derivation=alternating), in_words, votes=2), Rejected)
    assert isinstance(await judged(judge(derivation=alternating), in_words, votes=3), Made)


@pytest.mark.claim("P33")
async def test_a_formula_that_code_could_not_decide_is_judged_like_words() -> None:
    undecided = CHAIN.model_copy(update={"is_derivation_open": True})
    refused = await judged(judge(derivation=FAILS), undecided)
    assert refused == Rejected("underivable", "derivation: it does not")
    assert isinstance(await judged(judge(), undecided), Made)


@pytest.mark.parametrize(
    "broken", [FAILURE, {"verdicts": [{"id": 1, "holds": True}]}], ids=["silent", "incomplete"]
)
async def test_a_judge_that_fails_leaves_the_item_unscored_until_it_answers(broken: Any) -> None:
    store = FakeItemStore()
    item = Item(id="s/1", value=CHAIN.model_dump(mode="json"))
    for answers, status in ((judge(sequence=broken), "failed"), (judge(), "finished")):
        await run_pipeline("r", [QualityJudge(answers, "m")], [item], store)
        outcome = store.outcomes["r", "quality", "s/1"]
        assert outcome.status == ItemStatus(status)
