"""Variations of tasks: which are written, and what they have to keep of their originals."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astra_mcp.errors import ModelError, ModelFault, PipelineError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.trajectories.task import Axis, TaskDraft, task_id
from astra_mcp.synthesis.trajectories.tasks.augmenting import (
    Augmenting,
    Variations,
    WrittenVariation,
)
from astra_mcp.synthesis.trajectories.tasks.details import details_of, lost_details
from astra_mcp.synthesis.trajectories.tasks.keeping import IntentJudge, SameLanguage, VariationGate
from astra_mcp.synthesis.trajectories.tasks.personas import draw_personas, load_personas

from drafted_tasks import QUERY, called, documents, draft
from scripted_synthesis import ScriptedAsks

OTHER = "My aunt turns 80 and I promised to be on Hiddensee for it. A boat, please, for AX-117, 2025-05-03."


def writer(**more: Any) -> ScriptedAsks:
    """A model that writes a query for each axis and sample."""

    def say(axis: str) -> Any:
        def vary(_: str, sample: int) -> Any:
            return {"query": f"{axis} {sample}: {OTHER}"}

        return vary

    return ScriptedAsks(
        **{axis: say(axis) for axis in ("diversity", "complexity", "persona")}, **more
    )


async def varied(
    model: ScriptedAsks,
    variations: Variations | None = None,
    one: TaskDraft | None = None,
    seed: int = 0,
) -> list[Item[WrittenVariation]]:
    """What the stage makes of a task."""
    stage = Augmenting(model, "m", documents(), variations or Variations(), seed)
    made = await stage.run(Item(id="ferries/1", value=one or draft()))
    assert isinstance(made, Made)
    return [*made.outputs]


@pytest.mark.claim("P65")
async def test_a_task_goes_on_once_as_it_is_and_once_for_each_axis() -> None:
    outputs = await varied(writer())
    assert [(o.id, o.value.axis) for o in outputs] == [
        ("ferries/1", Axis.ORIGINAL),
        ("ferries/1/diversity-1", Axis.DIVERSITY),
        ("ferries/1/complexity-1", Axis.COMPLEXITY),
        ("ferries/1/persona-1", Axis.PERSONA),
    ]
    assert outputs[0].value.query == QUERY
    assert all(o.value.original == draft() for o in outputs)


@pytest.mark.claim("P65")
@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
async def test_which_axes_and_how_many_is_as_it_is_asked_for(d: int, c: int, p: int) -> None:
    outputs = await varied(writer(), Variations(diversity=d, complexity=c, persona=p))
    axes = [o.value.axis for o in outputs]
    assert axes == [
        Axis.ORIGINAL,
        *[Axis.DIVERSITY] * d,
        *[Axis.COMPLEXITY] * c,
        *[Axis.PERSONA] * p,
    ]
    people = [o.value.persona for o in outputs if o.value.axis is Axis.PERSONA]
    assert len({*people}) == p


async def test_a_variation_is_not_varied_again() -> None:
    with pytest.raises(PipelineError, match="only originals are varied"):
        await varied(writer(), one=draft(axis=Axis.PERSONA))


async def test_an_axis_that_fails_leaves_the_whole_item_to_the_next_run() -> None:
    model = writer()
    model.answers["persona"] = ModelError("no answer", ModelFault.TIMEOUT)
    with pytest.raises(ModelError):
        await varied(model)


@pytest.mark.claim("P65")
async def test_the_writer_is_shown_the_person_the_values_and_for_complexity_the_tools() -> None:
    model = writer()
    outputs = await varied(model)
    shown = {name: user for name, user, _ in model.asked}
    person = next(p for p in load_personas()["en"] if p.name == outputs[3].value.persona)
    assert person.speech in shown["persona"]
    assert "book_ferry" in shown["complexity"]
    assert "book_ferry" not in shown["diversity"]
    assert all('"2025-05-03"' in user and '"ax-117"' in user for user in shown.values())


def test_there_are_eighty_people_in_two_languages_and_no_two_alike() -> None:
    people = load_personas()
    assert {*people} == {"en", "zh"}
    every = [one for some in people.values() for one in some]
    assert len(every) >= 80
    assert min(map(len, people.values())) >= 40
    assert len({one.name for one in every}) == len(every)
    assert len({one.speech for one in every}) == len(every)


@given(
    st.text(min_size=1, max_size=20), st.sampled_from(["en", "zh", "de", None]), st.integers(0, 50)
)
def test_the_same_item_draws_the_same_people_of_its_language(
    item: str, language: str | None, num: int
) -> None:
    drawn = draw_personas(item, language, num, seed=3)
    assert drawn == draw_personas(item, language, num, seed=3)
    among = load_personas()[language if language == "zh" else "en"]
    assert len({one.name for one in drawn}) == len(drawn) == min(num, len(among))
    assert all(one in among for one in drawn)


def test_items_and_seeds_draw_others() -> None:
    drawn = {draw_personas(f"i{n}", "en", 1, seed=s)[0].name for n in range(40) for s in range(4)}
    assert len(drawn) > 30


async def gated(query: str, **more: Any) -> Made[TaskDraft] | Rejected:
    """What becomes of a variation."""
    told: dict[str, Any] = {"original": draft(), "axis": Axis.DIVERSITY, **more}
    written = WrittenVariation(query=query, **told)
    return await VariationGate(documents()).run(Item(id="ferries/1/diversity-1", value=written))


@pytest.mark.claim("P65")
async def test_a_variation_says_what_it_derives_from() -> None:
    made = await gated(OTHER, axis=Axis.PERSONA, persona="farmer")
    assert isinstance(made, Made)
    found = made.outputs[0].value
    assert found.query == OTHER
    assert (found.axis, found.persona) == (Axis.PERSONA, "farmer")
    assert (found.original, found.language) == (QUERY, "en")
    assert found.parent == task_id(["ferries"], QUERY)
    assert found.chain == draft().chain


@pytest.mark.parametrize(
    "same",
    [
        QUERY,
        QUERY.upper().replace(",", ""),
        "which ferry goes to hiddensee on 2025-05-03 and can you book me a place for passenger AX-117",
    ],
)
async def test_a_variation_in_the_words_of_its_original_or_of_a_sister_is_unchanged(
    same: str,
) -> None:
    model = ScriptedAsks(
        diversity={"query": same}, complexity={"query": OTHER}, persona={"query": f" {OTHER}!"}
    )
    outputs = await varied(model)
    assert [o.value.repeats for o in outputs] == [None, "ferries/1", None, "ferries/1/complexity-1"]
    refused = await VariationGate(documents()).run(outputs[1])
    assert refused == Rejected("unchanged", "it says what ferries/1 says")
    assert isinstance(await VariationGate(documents()).run(outputs[2]), Made)


async def test_queries_without_words_are_told_apart_by_their_characters() -> None:
    model = ScriptedAsks(
        diversity={"query": "?!"}, complexity={"query": "🙂"}, persona={"query": "?!"}
    )
    outputs = await varied(model)
    assert [o.value.repeats for o in outputs] == [None, None, None, "ferries/1/diversity-1"]


@pytest.mark.parametrize(
    ("reason", "query"),
    [
        ("no_query", ""),
        ("names_a_tool", f"Call book_ferry. {OTHER}"),
        ("too_long", OTHER * 100),
        ("hidden_character", f"{OTHER}\u2066"),
    ],
)
async def test_what_reads_as_no_users_words_is_refused(reason: str, query: str) -> None:
    refused = await gated(query)
    assert isinstance(refused, Rejected)
    assert refused.reason == reason


EXECUTED = (
    called("find_ferry", island="Hiddensee", date="2025-05-03", deck="upper"),
    called("book_ferry", ferry_id="F-88812"),
)


@pytest.mark.claim("P67")
@pytest.mark.parametrize("axis", [Axis.DIVERSITY, Axis.COMPLEXITY, Axis.PERSONA])
async def test_a_value_that_a_call_took_from_the_original_must_stand_in_the_variation(
    axis: Axis,
) -> None:
    original = draft(executed=EXECUTED)
    assert isinstance(await gated(OTHER, original=original, axis=axis), Made)
    for lost in ("Hiddensee", "2025-05-03"):
        refused = await gated(OTHER.replace(lost, "there"), original=original, axis=axis)
        assert isinstance(refused, Rejected)
        assert refused.reason == "lost_detail"
        assert lost in refused.detail


async def test_what_an_argument_chooses_among_and_what_a_result_gave_need_not_be_told() -> None:
    query = f"{QUERY} On the upper deck."
    assert isinstance(await gated(OTHER, original=draft(query, executed=EXECUTED)), Made)


async def test_what_is_too_short_to_be_looked_for_is_left_to_the_judge() -> None:
    original = draft(f"{QUERY} For 2.", executed=(called("find_ferry", island="2"),))
    assert isinstance(await gated(f"{OTHER} For two.", original=original), Made)


@pytest.mark.claim("P67")
@pytest.mark.parametrize(
    ("number", "told", "varied", "is_kept"),
    [
        (12, "for twelve", "for a dozen or so", False),
        (12, "for twelve", "for 12", True),
        (12, "for 12", "for twelve", True),
        (12, "for 12", "for 112", False),
        (3, "三个人", "几个人", False),
        (3, "三个人", "3 people", True),
        (1, "the one I like", "the boat", True),
        (3, "soon", "soon", True),
    ],
)
async def test_a_small_number_that_a_call_took_stands_in_digits_or_in_words(
    number: int, told: str, varied: str, is_kept: bool
) -> None:
    original = draft(f"{QUERY} {told}.", executed=[called("book_ferry", seats=number)])
    assert isinstance(await gated(f"{OTHER} {varied}.", original=original), Made) is is_kept


def test_details_are_numbers_codes_dates_addresses_and_what_is_quoted() -> None:
    told = "Book “Hotel Lux” ('quiet room') for 3 May 2025, ref AB-12_9, $1,200, via x@y.org or https://a.b/c?d=1."
    assert details_of(told) == (
        "https://a.b/c?d=1",
        "Hotel Lux",
        "quiet room",
        "2025-05-03",
        "ab-12_9",
        "1200",
        "x@y.org",
        "1",
    )
    assert details_of("在《三体》里找第12章,不要“黑暗森林”") == ("三体", "黑暗森林", "12")
    assert details_of("Don't tell my sister's friends what they're to do") == ()


@example("A/00")
@given(st.text(max_size=200))
def test_a_text_loses_nothing_to_itself(text: str) -> None:
    assert lost_details(text, text) == ()


@pytest.mark.claim("P66")
@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (OTHER, None),
        ("我想在五月三日坐船去希登塞岛,请帮我订一张票。", "other_language"),
        (
            "Ich möchte am dritten Mai mit der Fähre nach Hiddensee fahren, bitte buche einen Platz.",
            "other_language",
        ),
        ("Hiddensee?", None),
    ],
)
async def test_a_variation_is_in_the_language_of_its_original(
    query: str, reason: str | None
) -> None:
    one = draft(query, original=QUERY, axis=Axis.PERSONA)
    result = await SameLanguage().run(Item(id="i", value=one))
    assert (result.reason if isinstance(result, Rejected) else None) == reason


@pytest.mark.claim("P66")
async def test_the_language_is_told_from_the_original_where_nobody_said_it() -> None:
    one = draft("我想坐船去希登塞岛", original=QUERY, axis=Axis.PERSONA, language=None)
    assert isinstance(await SameLanguage().run(Item(id="i", value=one)), Rejected)


async def intent(verdict: Any, one: TaskDraft) -> tuple[Made[TaskDraft] | Rejected, ScriptedAsks]:
    """What the judge's verdict makes of a task."""
    judge = ScriptedAsks(intent=verdict)
    return await IntentJudge(judge, "m").run(Item(id="i", value=one)), judge


@pytest.mark.claim("P67")
async def test_a_judge_decides_whether_the_intent_is_kept() -> None:
    one = draft(OTHER, original=QUERY, axis=Axis.DIVERSITY)
    kept, _ = await intent({"reason": "same", "keeps_intent": True}, one)
    assert isinstance(kept, Made)
    lost, _ = await intent({"reason": "another island", "keeps_intent": False}, one)
    assert lost == Rejected("other_intent", "another island")


@pytest.mark.claim("P67")
async def test_originals_pass_without_a_call() -> None:
    judge = ScriptedAsks()
    for stage in (SameLanguage(), IntentJudge(judge, "m")):
        assert isinstance(await stage.run(Item(id="i", value=draft())), Made)
    assert judge.asked == []


@pytest.mark.claim("P67")
async def test_the_judge_is_told_what_code_did_not_find_and_what_the_axis_allows() -> None:
    systems: dict[Axis, str] = {}
    for axis in (Axis.DIVERSITY, Axis.COMPLEXITY):
        judge = RememberedSystem(intent={"keeps_intent": True})
        one = draft("A boat on the third of May, for AX-117.", original=QUERY, axis=axis)
        await IntentJudge(judge, "m").run(Item(id="i", value=one))
        assert '"2025-05-03"' in judge.asked[0][1]
        assert "ax-117" not in judge.asked[0][1]
        systems[axis] = judge.system
    assert "further constraints" in systems[Axis.COMPLEXITY]
    assert "further constraints" not in systems[Axis.DIVERSITY]


class RememberedSystem(ScriptedAsks):
    """Remembers the system message too."""

    system = ""

    async def ask(self, prompt: Any, answer: Any, *, sample: int = 0) -> Any:
        """Answer."""
        self.system = str(prompt.messages[0]["content"])
        return await super().ask(prompt, answer, sample=sample)


@pytest.mark.parametrize(
    "verdict", [{"reason": "yes"}, {"keeps_intent": "yes"}, {"keeps_intent": 1}]
)
async def test_a_verdict_of_another_form_is_none(verdict: Any) -> None:
    with pytest.raises(ValueError, match="keeps_intent"):
        await intent(verdict, draft(OTHER, original=QUERY, axis=Axis.DIVERSITY))
