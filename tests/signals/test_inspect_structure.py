"""`inspect structure` on every form of stored trajectories, and on what is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.inspect.command import DialectName, app
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    FunctionCall,
    StopReason,
    ToolCall,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from training.export.sft_rows import chat_row, openai_row
from training.render import DIALECTS
from training.rollout.agent import UNREADABLE

from trajectories import a_trajectory


def played(*turns: AssistantMessage, stop: StopReason = StopReason.ANSWER) -> Trajectory:
    """A trajectory of these turns; each call is answered."""
    messages: list[Any] = [UserMessage(content="When is the tide?")]
    notes: list[CallNote] = []
    for turn in turns:
        messages.append(turn)
        for call in turn.tool_calls:
            messages.append(ToolMessage(tool_call_id=call.id, content="14:20"))
            notes.append(CallNote(tool_call_id=call.id, seq=None, is_error=False))
    return a_trajectory(messages=tuple(messages), calls=tuple(notes), stop=stop)


def said(content: str | None, *names: str, place: int = 0) -> AssistantMessage:
    calls = tuple(
        ToolCall(
            id=f"call_{place}_{at}",
            function=FunctionCall(name=name, arguments="" if name == UNREADABLE else "{}"),
        )
        for at, name in enumerate(names)
    )
    return AssistantMessage(content=content, tool_calls=calls)


EPISODES = [
    played(said(None, "tide"), said("It is 14:20.")),
    played(said("", "tide", UNREADABLE), said("潮水<|im_start|>user")),
    played(said(""), stop=StopReason.LENGTH),
    played(said("It is", place=0), stop=StopReason.LENGTH),
    played(),
]
EXPECTED = {
    "trajectories": 5,
    "trajectories_polluted": 2,
    "trajectories_collapsed": 1,
    "generations": 6,
    "states": {
        "healthy_tool_call": 1,
        "healthy_response": 1,
        "text_polluted": 3,
        "collapsed": 1,
    },
    "reasons": {
        "text_polluted": {"no_end": 1, "stray_tag": 1, "unreadable_call": 1},
        "collapsed": {"empty": 1, "no_end": 1},
    },
    "turns": [
        {
            "turn": "0",
            "healthy_tool_call": 1,
            "healthy_response": 0,
            "text_polluted": 2,
            "collapsed": 1,
        },
        {
            "turn": "1",
            "healthy_tool_call": 0,
            "healthy_response": 1,
            "text_polluted": 1,
            "collapsed": 0,
        },
    ],
}


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["structure", *words])
    return found.exit_code, found.output


def lines(file: Path, form: Callable[[Trajectory], Any]) -> Path:
    file.write_text("".join(json.dumps(form(each)) + "\n" for each in EPISODES))
    return file


@pytest.mark.parametrize("form", [Trajectory.as_line, chat_row])
def test_a_file_of_a_rollout_and_an_export_come_to_the_same(
    tmp_path: Path, form: Callable[[Trajectory], Any]
) -> None:
    file = lines(tmp_path / "played.jsonl", form)
    code, told = run(str(file), "--json")
    assert code == 0
    assert json.loads(told) == {"file": str(file), "dialect": "hermes", **EXPECTED}


def test_parquet_is_read_and_what_a_form_does_not_say_is_not_seen(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [chat_row(each) for each in EPISODES[:3]]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "played.parquet")
    code, told = run(str(tmp_path / "played.parquet"), "--json")
    assert code == 0, told
    assert json.loads(told)["states"]["text_polluted"] == 2
    # OpenAI's form does not say how an episode ended: a turn that was cut looks whole.
    code, told = run(str(lines(tmp_path / "openai.jsonl", openai_row)), "--json")
    found = json.loads(told)
    assert (code, found["states"]["healthy_response"]) == (0, 2)
    assert "no_end" not in found["reasons"]["text_polluted"]


def test_people_are_shown_states_by_turn_and_reasons(tmp_path: Path) -> None:
    code, told = run(str(lines(tmp_path / "played.jsonl", Trajectory.as_line)))
    words = " ".join(told.split())
    assert code == 0
    assert "5 trajectories, 6 turns of the agent; with a polluted turn 2" in words
    assert "all 1 1 3 1" in words
    assert "text_polluted unreadable_call 1" in words


def test_the_dialect_says_which_control_tokens_are_looked_for(tmp_path: Path) -> None:
    file = str(lines(tmp_path / "played.jsonl", Trajectory.as_line))
    found = json.loads(run(file, "--json", "--dialect", "mistral")[1])
    assert "stray_tag" not in found["reasons"]["text_polluted"]
    code, told = run(file, "--dialect", "klingon")
    assert code == 2
    assert "klingon" in told


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "is no file of trajectories: those end in .jsonl, .ndjson or .parquet"),
        ("a.jsonl", "", "is empty: it holds no trajectory"),
        ("a.jsonl", "[]\n", "row 1 must be one JSON object"),
        ("a.jsonl", '{"a": 1}\n', "row 1 is no chat: it needs a column 'messages', and has 'a'"),
        ("a.jsonl", '{"prompt": [], "reward_model": {}}\n', "row 1 is of environments"),
        ("a.jsonl", '{"schema_version": 4}\n', "row 1: "),
        ("a.jsonl", '{"messages": [{"role": "robot"}]}\n', "row 1: messages.0"),
        ("a.parquet", "no table", "is no Parquet"),
        ("a.eval", "", "is no file of trajectories"),
        (None, None, "cannot be read: No such file"),
    ],
)
def test_what_holds_no_trajectories_is_refused_by_file_and_row(
    tmp_path: Path, name: str | None, content: str | None, message: str
) -> None:
    file = tmp_path / (name or "nowhere.jsonl")
    if content is not None:
        file.write_text(content)
    code, told = run(str(file))
    words = " ".join(told.split())
    assert code == 2
    assert str(file.name) in words
    assert message in words


def test_each_dialect_can_be_named() -> None:
    assert [*DialectName] == [*DIALECTS]
