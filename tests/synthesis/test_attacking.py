"""The attack beats weak tools, which are mended or dropped; sound ones stand; a failed hacker passes none."""

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any
from unittest.mock import patch

import pytest

from astra_mcp.completions import Reply
from astra_mcp.domains import Domain
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.judgement import Answer, Judgement, Question, Vote
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.chat import ChatReply, RequestedCall
from astra_mcp.llm.prompt import Prompt
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import Outcome, StageLimits, StoredItem, YieldTable, run_pipeline
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox
from astra_mcp.synthesis.environments import pipeline
from astra_mcp.synthesis.environments.building.accepting import Accepting
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.attacking import Attacking, Hacker, attack_bundle
from astra_mcp.synthesis.environments.building.judging import Judging
from astra_mcp.synthesis.environments.building.tool import (
    BuildAttempts,
    Built,
    SolvingCall,
    Tool,
    ToolDocument,
)
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan
from astra_mcp.synthesis.environments.pipeline import Parts, Recipe
from astra_mcp.synthesis.environments.questions.instance import Instance, SubQuestion
from astra_mcp.synthesis.environments.questions.topology import Wanted
from astra_mcp.types import JsonObject

from asked_models import CacheInMemory, a_model
from completions_server import Body, CompletionsServer, asks, says, tool_texts
from exploits import EXPLOITS
from pipeline_fakes import FakeItemStore
from scripted_hacker import ScriptedHacker

RECORD, ANSWER = "Elm Square", "17:42"
STOPS_ASKED = (RECORD, "Oak Road")
STOPS = [f"{name} {kind}" for name in ("Oak", "Mill", "Quay", "Elm") for kind in ("Road", "Square")]
TIMES = {stop: f"17:{10 + n}" for n, stop in enumerate(STOPS)} | {RECORD: ANSWER}
UNKNOWN = (
    '    if stop not in _TIMES:\n        raise ValueError("no such stop; give its full name")\n'
)
SOUND = UNKNOWN + '    return {"last_tram": _TIMES[stop]}\n'
WEAK = {
    "a table dump on a wildcard": '    if stop == "*":\n        return _TIMES\n' + SOUND,
    "a default record": f'    return {{"last_tram": _TIMES.get(stop, _TIMES["{RECORD}"])}}\n',
    "an error that tells": SOUND.replace("give its full name", f"did you mean '{RECORD}'?"),
    "a flag that opens": "    if everything:\n        return _TIMES\n" + SOUND,
}
FEW, ALL_EPISODES = 3, len(EXPLOITS)


def a_tool(body: str, solves: int = 1) -> Tool:
    """A tool that finds the last tram of a stop."""
    name, stop = f"last_tram_{solves}", STOPS_ASKED[solves - 1]
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "stop": {"type": "string", "minLength": 1},
            "everything": {"type": "boolean", "default": False},
        },
        "required": ["stop"],
        "additionalProperties": False,
    }
    code = f"_TIMES = {TIMES!r}\n\n\ndef {name}(stop, everything=False):\n{body}"
    return Tool(
        document=ToolDocument(name=name, description="Last tram.", input_schema=schema),
        code=code,
        calls=(SolvingCall(solves=solves, arguments={"stop": stop}),),
    )


def built_of(*bodies: str) -> Built:
    """A question for each tool."""
    tools = tuple(a_tool(body, n) for n, body in enumerate(bodies, start=1))
    subs = tuple(
        SubQuestion(id=n, question=f"When does the last tram leave {stop}?", answer=TIMES[stop])
        for n, stop in enumerate(STOPS_ASKED[: len(tools)], start=1)
    )
    instance = Instance(
        title="Trams",
        main_question=" ".join(sub.question for sub in subs),
        final_answer=" ".join(sub.answer for sub in subs),
        sub_questions=subs,
        source="by hand",
        writer="nobody",
        language="en",
        label=Domain.TRANSPORTATION,
    )
    return Built(instance=instance, tools=tools)


class Mender:
    """Answers the prompt ``repair`` with one tool."""

    def __init__(self, tool: Tool) -> None:
        self.asked: list[Prompt] = []
        self._tool = tool

    async def ask(self, prompt: Prompt, answer: type[Any], *, sample: int = 0) -> Any:
        """Take note of the prompt, and answer."""
        self.asked.append(prompt)
        return answer.model_validate(self._tool.model_dump())


class Caller:
    """A hacker that sends the same calls in one reply, or fails."""

    def __init__(self, *stops: str, error: Exception | None = None) -> None:
        self._calls = tuple(
            RequestedCall(id=str(n), name="last_tram_1", arguments=json.dumps({"stop": stop}))
            for n, stop in enumerate(stops)
        )
        self._error = error

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject], *, sample: int
    ) -> ChatReply:
        """Ask for all calls, and then for none."""
        if self._error is not None:
            raise self._error
        is_first = not any(m["role"] == "tool" for m in messages)
        return ChatReply(content="", calls=self._calls if is_first else (), finish_reason="stop")


@pytest.fixture(scope="module")
async def sandbox(anyio_backend: str) -> Any:
    """A real sandbox that all tests of the module share."""
    async with open_sandbox(SandboxLimits()) as opened:
        yield opened


async def episodes_beaten(bundle: Bundle, sandbox: Sandbox, episodes: int) -> list[int]:
    hacker = ScriptedHacker()
    return [
        n for n in range(episodes) if await attack_bundle(hacker, bundle, sandbox, n) is not None
    ]


class Judges:
    """A second tier that takes note of what it judges, and says the same of each."""

    def __init__(self, answer: Answer | None) -> None:
        self.judged: list[Bundle] = []
        self._vote = Vote(answer, "the document tells it")

    async def __call__(self, bundle: Bundle) -> Sequence[Judgement]:
        """Give one vote."""
        self.judged.append(bundle)
        return [Judgement(Question.HIDDEN_ANSWERS, (self._vote,))]


def stage(
    hacker: Hacker,
    mender: Mender,
    sandbox: Sandbox,
    *,
    judges: Judges | None = None,
    faults: Sequence[FailedCheck] = (),
) -> Attacking:
    async def accept(bundle: Bundle) -> Sequence[FailedCheck]:
        assert bundle.document.gold
        return faults

    attempts = BuildAttempts(inner=1, outer=1)
    accepting = Accepting(mender, "m", sandbox, accept, "1", attempts)
    tier = None if judges is None else Judging(judges, "j", 1)
    return Attacking(hacker, "m", sandbox, accepting, FEW, tier)


async def run_one(attacking: Attacking, built: Built) -> tuple[YieldTable, Outcome]:
    store = FakeItemStore()
    item = StoredItem(id="i", value=built.model_dump(mode="json"))
    table = await run_pipeline("r", [attacking], [item], store, limits=StageLimits())
    return table, next(iter(store.outcomes.values()))


@pytest.mark.parametrize("body", WEAK.values(), ids=WEAK.keys())
async def test_a_weak_tool_is_beaten(body: str, sandbox: Sandbox) -> None:
    assert await episodes_beaten(assemble(built_of(body)), sandbox, FEW)


async def test_a_sound_tool_stands(sandbox: Sandbox) -> None:
    assert not await episodes_beaten(assemble(built_of(SOUND)), sandbox, ALL_EPISODES)


@pytest.mark.claim("P49")
async def test_the_tool_that_was_beaten_is_mended_by_the_transcript(sandbox: Sandbox) -> None:
    mender = Mender(a_tool(SOUND, solves=2))
    built = built_of(SOUND, WEAK["a table dump on a wildcard"])
    table, outcome = await run_one(stage(ScriptedHacker(), mender, sandbox), built)
    mended = Built.model_validate(outcome.outputs[0].value)
    assert (table.accepted, table.stages[0].rejected) == (1, {})
    assert mended.tools == built_of(SOUND, SOUND).tools
    assert [(a.step, a.sub_questions) for a in mended.attempts] == [("attack", (2,))]
    assert ANSWER in str(mender.asked[0].messages[-1]["content"])
    assert len(mender.asked) == 1


@pytest.mark.claim("P49")
async def test_what_stays_weak_is_dropped_with_its_transcript_and_counted(sandbox: Sandbox) -> None:
    weak = WEAK["a table dump on a wildcard"]
    attacking = stage(ScriptedHacker(), Mender(a_tool(weak)), sandbox)
    table, outcome = await run_one(attacking, built_of(weak))
    assert table.stages[0].rejected == {"beaten": 1}
    assert 'last_tram_1({"stop": "*"})' in outcome.detail
    assert table.accepted == 0


@pytest.mark.claim("P49")
async def test_what_was_mended_is_judged_before_it_goes_on(sandbox: Sandbox) -> None:
    weak, judges = built_of(WEAK["a table dump on a wildcard"]), Judges(Answer.YES)
    attacking = stage(ScriptedHacker(), Mender(a_tool(SOUND)), sandbox, judges=judges)
    table, _ = await run_one(attacking, weak)
    assert table.accepted == 1
    assert judges.judged == [assemble(built_of(SOUND))]


@pytest.mark.parametrize(
    ("answer", "word"), [(Answer.NO, "not_hidden_answers"), (Answer.UNCLEAR, "unclear_")]
)
async def test_a_mend_that_the_second_tier_refuses_is_dropped_and_not_attacked_again(
    answer: Answer, word: str, sandbox: Sandbox
) -> None:
    weak, hacker = built_of(WEAK["a table dump on a wildcard"]), ScriptedHacker()
    attacking = stage(hacker, Mender(a_tool(SOUND)), sandbox, judges=Judges(answer))
    table, outcome = await run_one(attacking, weak)
    assert table.stages[0].rejected == {"beaten": 1}
    assert 'last_tram_1({"stop": "*"})' in outcome.detail
    assert f"judged {word}" in outcome.detail
    assert "the document tells it" in outcome.detail


async def test_a_mend_that_no_judge_has_a_verdict_on_is_tried_again(sandbox: Sandbox) -> None:
    weak = built_of(WEAK["a table dump on a wildcard"])
    attacking = stage(ScriptedHacker(), Mender(a_tool(SOUND)), sandbox, judges=Judges(None))
    table, _ = await run_one(attacking, weak)
    assert (table.stages[0].num_failed, table.accepted) == (1, 0)


async def test_a_mend_that_the_acceptance_refuses_is_dropped_unjudged(sandbox: Sandbox) -> None:
    weak, judges = built_of(WEAK["a table dump on a wildcard"]), Judges(Answer.YES)
    faults = [FailedCheck.of(Check.ISOLATION, "it opens a file")]
    attacking = stage(
        ScriptedHacker(), Mender(a_tool(SOUND)), sandbox, judges=judges, faults=faults
    )
    table, outcome = await run_one(attacking, weak)
    assert table.stages[0].rejected == {"beaten": 1}
    assert "it opens a file" in outcome.detail
    assert judges.judged == []


async def test_a_stage_that_judges_has_other_outcomes_than_one_that_does_not() -> None:
    nobody: Any = None
    assert (
        stage(nobody, nobody, nobody).version
        != stage(nobody, nobody, nobody, judges=Judges(Answer.YES)).version
    )


async def test_episodes_cut_off_by_a_budget_are_finished_by_further_runs_that_pay_no_call_twice(
    sandbox: Sandbox, completions: CompletionsServer
) -> None:
    def play(body: Body) -> Reply:
        turn = len(tool_texts(body))
        if turn == 5:
            return says("No idea left.")
        return asks((str(turn), "last_tram_1", {"stop": f"Stop {turn}"}))

    completions.always = play
    store, cache = FakeItemStore(), CacheInMemory()
    item = StoredItem(id="i", value=built_of(SOUND).model_dump(mode="json"))
    tables: list[YieldTable] = []
    while not tables or not tables[-1].accepted:
        assert len(tables) < 6
        async with a_model(completions, cache=cache, budget=Budget(max_calls=4)) as hacker:
            attacking = stage(hacker, Mender(a_tool(SOUND)), sandbox)
            tables.append(await run_pipeline("r", [attacking], [item], store, limits=StageLimits()))

    assert [table.usage.calls for table in tables] == [4, 4, 4, 4, 2]  # three episodes of six
    assert [table.usage.cached for table in tables] == [0, 4, 8, 12, 16]
    assert len(completions.requests) == 18


async def test_a_mended_tool_is_attacked_in_conversations_of_its_own(sandbox: Sandbox) -> None:
    class Numbered(Caller):
        numbers: list[int] = []  # noqa: RUF012 - of one test

        async def complete(
            self, messages: Sequence[JsonObject], tools: Sequence[JsonObject], *, sample: int
        ) -> ChatReply:
            self.numbers.append(sample)
            return await super().complete(messages, tools, sample=sample)

    weak, hacker = built_of(WEAK["a default record"]), Numbered("Nowhere")
    table, _ = await run_one(stage(hacker, Mender(a_tool(SOUND)), sandbox), weak)
    assert table.accepted == 1
    assert list(dict.fromkeys(hacker.numbers)) == [0, FEW, FEW + 1, FEW + 2]


async def test_an_environment_that_stands_goes_on_as_it_is(sandbox: Sandbox) -> None:
    mender = Mender(a_tool(SOUND))
    _, outcome = await run_one(stage(ScriptedHacker(), mender, sandbox), built_of(SOUND))
    assert Built.model_validate(outcome.outputs[0].value) == built_of(SOUND)
    assert mender.asked == []


@pytest.mark.parametrize(
    "hacker",
    [Caller(error=ModelError("no answer", ModelFault.TIMEOUT)), Caller()],
    ids=["fails", "makes no call"],
)
async def test_a_hacker_that_fails_leaves_its_item_failed(hacker: Caller, sandbox: Sandbox) -> None:
    table, _ = await run_one(stage(hacker, Mender(a_tool(SOUND)), sandbox), built_of(SOUND))
    row = table.stages[0]
    assert (row.num_failed, row.num_rejected, table.accepted) == (1, 0, 0)


async def test_an_answer_that_was_sent_before_it_was_shown_earns_nothing(sandbox: Sandbox) -> None:
    bundle = assemble(built_of(SOUND))
    assert await attack_bundle(Caller(ANSWER, RECORD), bundle, sandbox, 0) is None
    assert await attack_bundle(Caller("17:43", RECORD), bundle, sandbox, 0) is not None


async def test_calls_beyond_those_of_an_episode_are_not_made(sandbox: Sandbox) -> None:
    bundle = assemble(built_of(SOUND))
    assert await attack_bundle(Caller(*["Oak"] * 24, RECORD), bundle, sandbox, 0) is None
    assert await attack_bundle(Caller(*["Oak"] * 23, RECORD), bundle, sandbox, 0) is not None


@pytest.mark.parametrize("votes", [0, 3])
async def test_a_run_with_a_second_tier_has_it_judge_what_the_attack_mends(votes: int) -> None:
    nobody: Any = None
    names = {"generator": "g", "judge": "j"}
    given: dict[str, Any] = {**dict.fromkeys(Parts.__dataclass_fields__), "names": names}
    parts = Parts(**given)
    recipe = Recipe(
        wanted=Wanted(), attempts=BuildAttempts(), num_judge_votes=votes, num_attacks=FEW
    )
    found: dict[str, Any] = {}

    async def play(run: str, stages: Sequence[Any], *_: object, **__: object) -> None:
        found.update({stage.name: stage for stage in stages})

    with patch.object(pipeline, "run_pipeline", play):
        await pipeline.synthesize("r", [], recipe, parts, nobody, hear=lambda _: None)

    assert found["attack"].tier is found.get("judge")
    assert ("judge" in found) == bool(votes)


@pytest.mark.parametrize("family", ["bookings", "directory", "tariffs"])
async def test_an_environment_of_a_family_stands(family: str, sandbox: Sandbox) -> None:
    bundle = make_planned(next(plan(Order(find_families([family]), 1))))
    assert not await episodes_beaten(bundle, sandbox, FEW)


@pytest.mark.volume
async def test_fifty_environments_of_families_stand(sandbox: Sandbox) -> None:
    bundles = [make_planned(p) for p in islice(plan(Order(find_families(["all"]), 50)), 50)]
    beaten = [b.name for b in bundles if await episodes_beaten(b, sandbox, ALL_EPISODES)]
    assert (len(bundles), beaten) == (50, [])
