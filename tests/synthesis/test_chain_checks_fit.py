"""Whether a task and its chain fit: votes on coherence, and models that find the chain again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ModelError, PipelineError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.trajectories.checks.back_translation import BackTranslation, Translator
from astra_mcp.synthesis.trajectories.checks.coherence import Coherence
from astra_mcp.synthesis.trajectories.checks.dependency import Dependency
from astra_mcp.synthesis.trajectories.checks.writing import Writing

from chain_servers import (
    CANCEL,
    DOCUMENTS,
    FAILURE,
    QUERY,
    Outcome,
    chain_task,
)
from scripted_synthesis import ScriptedAsks


async def coherent(query: str = QUERY, **answers: Any) -> Outcome:
    """What the stage makes of a task."""
    stage = Coherence(
        DOCUMENTS, ScriptedAsks(coherence=answers["votes"]), "m", answers.get("num", 3)
    )
    return await stage.run(Item(id="i", value=chain_task(query, CANCEL)))


def votes(*values: Any) -> Any:
    """A judge's votes by sample; an error is raised."""

    def vote(_: str, sample: int) -> Any:
        value = values[sample]
        told = {"reason": f"vote {sample}", "is_coherent": value}
        return value if isinstance(value, Exception) else told

    return vote


@pytest.mark.claim("P60")
@given(st.lists(st.booleans(), min_size=1, max_size=7))
async def test_more_than_half_of_the_votes_decide_and_a_tie_is_against(cast: list[bool]) -> None:
    outcome = await coherent(votes=votes(*cast), num=len(cast))
    assert isinstance(outcome, Made) is (cast.count(True) > cast.count(False))


@pytest.mark.claim("P60")
async def test_an_incoherent_task_is_rejected_with_the_reasons_against_it() -> None:
    assert await coherent(votes=votes(False, True, False)) == Rejected(
        "incoherent", "2 of 3: vote 0; vote 2"
    )


@pytest.mark.claim("P60")
@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_vote_that_fails_leaves_no_verdict_whatever_the_others_say(place: int) -> None:
    cast: list[Any] = [True, True, True]
    cast[place] = FAILURE
    with pytest.raises(ModelError):
        await coherent(votes=votes(*cast))


def named(*tools: str) -> dict[str, Any]:
    """What a translator answers."""
    return {"calls": [{"tool": name} for name in tools]}


FOUND, OTHER = named("find_customer", "list_orders", "cancel_order"), named("list_orders")


STRANGER = {"calls": [{"server": "x", "tool": s.tool} for s in CANCEL.steps]}


async def translated(*answers: Any, tries: int = 3) -> Outcome:
    """What the stage makes of a task that several models translate back."""
    translators = tuple(
        Translator(ScriptedAsks(back_translation=answer), f"m{n}")
        for n, answer in enumerate(answers)
    )
    stage = BackTranslation(DOCUMENTS, translators, tries)
    return await stage.run(Item(id="i", value=chain_task(QUERY, CANCEL)))


@pytest.mark.claim("P61")
@pytest.mark.parametrize(
    ("answers", "is_kept"),
    [
        ((FOUND,), True),
        ((OTHER,), False),
        ((STRANGER,), False),
        ((named("find_customer", "cancel_order", "list_orders"),), False),
        ((FOUND, OTHER), False),
        ((FOUND, OTHER, FOUND), True),
        ((named(), named("fly")), False),
    ],
)
async def test_a_task_stays_whose_chain_more_models_find_than_do_not(
    answers: tuple[Any, ...], is_kept: bool
) -> None:
    outcome = await translated(*answers)
    assert isinstance(outcome, Made) or outcome.reason == "not_recovered"
    assert isinstance(outcome, Made) is is_kept


@pytest.mark.claim("P61")
async def test_a_translator_has_so_many_tries_and_never_sees_the_chain() -> None:
    def last(user: str, sample: int) -> Any:
        assert "to_step" not in user
        return FOUND if sample == 2 else OTHER

    assert isinstance(await translated(last), Made)
    assert isinstance(await translated(last, tries=2), Rejected)


async def test_a_translator_that_fails_fails_the_item() -> None:
    with pytest.raises(ModelError):
        await translated(FOUND, FAILURE, FOUND)


async def test_one_model_that_stands_twice_is_asked_anew() -> None:
    model = ScriptedAsks(back_translation=OTHER)
    stage = BackTranslation(DOCUMENTS, (Translator(model, "m"), Translator(model, "m")), 2)
    await stage.run(Item(id="i", value=chain_task(QUERY, CANCEL)))
    assert sorted(sample for _, _, sample in model.asked) == [0, 1, 2, 3]


async def test_a_task_without_a_chain_is_no_item_of_these_stages() -> None:
    lone = chain_task(QUERY, CANCEL).model_copy(update={"chain": None})
    with pytest.raises(PipelineError, match="no chain"):
        await Dependency(DOCUMENTS, ScriptedAsks(), "m").run(Item(id="i", value=lone))


def test_nothing_is_decided_by_no_votes_or_no_models() -> None:
    with pytest.raises(ValueError, match="at least 1 vote"):
        Coherence(DOCUMENTS, ScriptedAsks(), "m", 0)
    with pytest.raises(ValueError, match="at least one model"):
        BackTranslation(DOCUMENTS, ())


def test_a_changed_setting_makes_another_version() -> None:
    model = ScriptedAsks()
    versions = [
        Writing(DOCUMENTS, model, "m").version,
        Writing(DOCUMENTS, model, "n").version,
        Writing(DOCUMENTS, model, "m", "zh").version,
        Dependency(DOCUMENTS, model, "m").version,
        Coherence(DOCUMENTS, model, "m").version,
        Coherence(DOCUMENTS, model, "m", 5).version,
        BackTranslation(DOCUMENTS, (Translator(model, "m"),)).version,
        BackTranslation(DOCUMENTS, (Translator(model, "n"),)).version,
    ]
    assert len({*versions}) == len(versions)
