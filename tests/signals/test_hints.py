"""Hints: who writes them, and that a run keeps those with which it began."""

import json
from pathlib import Path

import pytest

from astra_mcp.completions import Answer
from astra_mcp.errors import ConfigError
from gateway.api.seams import GoldCall
from training.rl.core.policy import PolicyLimits
from training.signals.supervision.gold import Speech
from training.signals.supervision.guidance import Guidance
from training.signals.supervision.hints import ask_hints, read_hints, template_hint
from training.signals.supervision.questions import QuestionKey
from training.signals.supervision.settings import HintSettings, SignalSettings

from asked_models import a_model
from completions_server import Body, CompletionsServer, says
from scripted_policy import CharacterTokenizer, tiny_renderer

MAIN, FURTHER = QuestionKey("harbour", None), QuestionKey("harbour", "q2")
GOLD = {
    key: [GoldCall(tool="look", arguments={"ship": "Ada"}, solves=(0,))] for key in (MAIN, FURTHER)
}
TEXTS = {MAIN: "Where is Ada?", FURTHER: "How heavy is Ada?"}


def written(file: Path, *rows: dict[str, str]) -> HintSettings:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return HintSettings(members=1, source="file", file=file)


def test_a_template_names_the_gold_calls() -> None:
    assert template_hint(GOLD[MAIN]).splitlines()[1:] == ['1. look with {"ship": "Ada"}']


def test_a_file_has_a_hint_for_each_question(tmp_path: Path) -> None:
    main = {"environment": "harbour", "text": "Look."}
    further = {"environment": "harbour", "question": "q2", "text": "Weigh."}
    file = tmp_path / "hints.jsonl"
    assert read_hints(written(file, main, further), [MAIN, FURTHER]) == {
        MAIN: "Look.",
        FURTHER: "Weigh.",
    }
    with pytest.raises(ConfigError, match=r"hints\.jsonl has no hint for harbour/q2"):
        read_hints(written(file, main), [MAIN, FURTHER])
    with pytest.raises(ConfigError, match="row 2: the question has a hint already"):
        read_hints(written(file, main, main), [MAIN])
    with pytest.raises(ConfigError, match="row 1: text: it says nothing"):
        read_hints(written(file, {**main, "text": " \n"}), [MAIN])


def test_a_hint_that_fits_no_prompt_is_refused_by_its_question() -> None:
    given = Guidance(
        settings=SignalSettings(hints=HintSettings(members=1)),
        speech=Speech(tiny_renderer(), CharacterTokenizer()),
        gold=GOLD,
        hints={MAIN: "Look.", FURTHER: "Weigh her."},
    )
    given.require_room(PolicyLimits(context_tokens=40, turn_tokens=30))
    with pytest.raises(ConfigError, match=r"hint for harbour/q2 has 10 tokens, .* may have 9"):
        given.require_room(PolicyLimits(context_tokens=39, turn_tokens=30))
    with pytest.raises(ConfigError, match=r"hint for harbour/q2 has 10 tokens, .* may have 8"):
        given.require_room(PolicyLimits(prompt_tokens=8))


async def test_a_model_is_asked_once_for_a_run(
    completions: CompletionsServer, tmp_path: Path
) -> None:
    def reply(body: Body) -> Answer:
        number = len(completions.requests)
        assert "Ada" in json.dumps(body["messages"])
        return says(json.dumps({"hint": f"hint {number}"}))

    completions.always = reply
    async with a_model(completions) as adviser:
        hints = await ask_hints(TEXTS, GOLD, adviser, tmp_path / "signals")
        assert sorted(hints.values()) == ["hint 1", "hint 2"]
        again = await ask_hints(TEXTS, GOLD, None, tmp_path / "signals")
    assert again == hints
    assert len(completions.requests) == 2


async def test_a_run_that_was_given_no_model_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="this run was given no model"):
        await ask_hints(TEXTS, GOLD, None, tmp_path / "signals")
