"""The trajectory schema: what it refuses, and its files."""

import json
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    RolloutBoundary,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    TrajectoryFailure,
    TrajectoryWriter,
    UserMessage,
    read_trajectories,
)

from trajectories import a_trajectory


def build(messages: Sequence[Message], **changes: Any) -> Trajectory:
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    notes = tuple(CallNote(tool_call_id=a, seq=0, is_error=False) for a in answered)
    return a_trajectory(**{"messages": tuple(messages), "calls": notes, **changes})


def calls(*names: str) -> AssistantMessage:
    function = FunctionCall(name="f", arguments="{}")
    return AssistantMessage(tool_calls=tuple(ToolCall(id=n, function=function) for n in names))


def answer(name: str) -> ToolMessage:
    return ToolMessage(tool_call_id=name, content="")


FAILURE = TrajectoryFailure(boundary=RolloutBoundary.MODEL, message="no answer")
USER = UserMessage(content="Go.")

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)
texts = st.text(st.characters(codec="utf-8"), max_size=8)
turns = st.lists(st.lists(names, max_size=3), max_size=4).filter(
    lambda turns: len({n for t in turns for n in t}) == sum(map(len, turns))
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any conversation whose calls are all answered, in any order within their turn."""
    messages: list[Message] = [UserMessage(content=draw(texts))]
    for turn in draw(turns):
        function = FunctionCall(name=draw(texts), arguments=draw(texts))
        messages.append(
            AssistantMessage(
                content=draw(st.none() | texts),
                reasoning_content=draw(st.none() | texts.filter(bool)),
                tool_calls=tuple(ToolCall(id=n, function=function) for n in turn),
            )
        )
        messages.extend(answer(n) for n in draw(st.permutations(turn)))
    return messages


@pytest.mark.claim("P14")
@given(conversations())
def test_every_answered_conversation_is_a_trajectory_and_survives_json(
    messages: list[Message],
) -> None:
    trajectory = build(messages)

    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


@given(conversations(), st.data())
def test_a_conversation_that_lost_or_repeats_an_answer_is_refused(
    messages: list[Message], data: st.DataObject
) -> None:
    places = [i for i, m in enumerate(messages) if isinstance(m, ToolMessage)]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    copies = data.draw(st.sampled_from([0, 2]))
    broken = [*messages[:place], *[messages[place]] * copies, *messages[place + 1 :]]

    with pytest.raises(ValidationError, match="answer"):
        build(broken)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([USER, answer("a")], "answers no open tool call"),
        ([USER, calls("a"), answer("b")], "answers no open tool call"),
        ([USER, calls("a"), calls("b"), answer("b"), answer("a")], "'a' before it is not answered"),
        ([USER, calls("a", "a"), answer("a")], "'a' is used 2 times"),
        ([USER, calls("a"), answer("a"), calls("a"), answer("a")], "'a' is used 2 times"),
        ([USER, calls("a")], "'a' is not answered"),
        ([USER, SystemMessage(content="Be nice.")], "only be the first"),
    ],
)
def test_a_broken_conversation_is_refused_by_name(messages: list[Message], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        build(messages)


def test_a_failure_may_leave_the_last_turn_unanswered_and_never_has_a_reward() -> None:
    reward = {"reward": 1.0, "recall": 1.0, "precision": 1.0, "solved": 1, "calls": 1}
    failed = {"status": EpisodeStatus.FAILED, "stop": StopReason.FAILURE, "failure": FAILURE}

    assert build([USER, calls("a", "b"), answer("a")], **failed).reward is None
    with pytest.raises(ValidationError, match="no reward"):
        build([USER], **failed, reward=reward)
    with pytest.raises(ValidationError, match="go together"):
        build([USER], failure=FAILURE)
    with pytest.raises(ValidationError, match="go together"):
        build([USER], status=EpisodeStatus.FAILED)


def test_annotations_must_match_the_tool_messages() -> None:
    with pytest.raises(ValidationError, match="one for one"):
        build([USER, calls("a"), answer("a")], calls=())


def test_messages_are_rendered_as_chat_endpoints_take_them() -> None:
    messages = [USER, AssistantMessage(content="Hm.", reasoning_content="Aha.")]
    document = json.loads(build([*messages, calls("a"), answer("a")]).model_dump_json())

    assert document["messages"] == [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "Hm.", "reasoning_content": "Aha."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": ""},
    ]
    assert document["schema_version"] == 2


def test_a_trajectory_of_the_first_version_is_read_as_one_of_this_one() -> None:
    whole = build([USER, calls("a"), answer("a")])
    old = whole.model_dump(mode="json", exclude={"distractors", "failures"})
    old["schema_version"] = 1
    for note in old["calls"]:
        for added in ("server", "tool", "emulator", "injected"):
            del note[added]

    assert Trajectory.model_validate_json(json.dumps(old)) == whole


# --- files --------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = [build([USER]), build([USER, calls("日本"), answer("日本")])]
    path = tmp_path / "new" / "folder" / "t.jsonl"

    with TrajectoryWriter(path) as writer:
        for row in rows:
            writer.write(row)
            assert path.read_bytes().endswith(b"}\n")

    assert list(read_trajectories(path)) == rows


@pytest.mark.parametrize("num_written", [0, 1])
def test_what_fails_leaves_what_was_written_and_else_no_file(
    tmp_path: Path, num_written: int
) -> None:
    path = tmp_path / "t.jsonl"

    def fail_later() -> None:
        with TrajectoryWriter(path) as writer:
            for _ in range(num_written):
                writer.write(build([USER]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_later()
    assert list(tmp_path.iterdir()) == [path] * num_written
    assert num_written == 0 or list(read_trajectories(path)) == [build([USER])]


def test_an_existing_file_is_never_overwritten_and_a_place_without_a_folder_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("precious", encoding="utf-8")

    with pytest.raises(ConfigError, match="exists and is kept"):
        TrajectoryWriter(path)
    with pytest.raises(ConfigError, match="cannot be created"):
        TrajectoryWriter(path / "t.jsonl")
    assert path.read_text(encoding="utf-8") == "precious"


def test_a_line_that_does_not_fit_is_taken_back_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with TrajectoryWriter(path) as writer:
        writer.write(build([USER]))
        whole = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, hard))
        try:
            with pytest.raises(ConfigError, match="disk is full"):
                writer.write(build([USER]))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == whole

        writer.write(build([USER]))
    assert len(list(read_trajectories(path))) == 2


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"schema_version": 2', "line 2: .*cut off"),
        ('{"schema_version": 3}\n', "line 2: .*newer than 2: update astra-mcp"),
        ('{"schema_version": 2, "colour": "red"}\n', "line 2: "),
        ("\n", "line 2: "),
    ],
)
def test_a_line_that_is_no_trajectory_is_named_by_its_number(
    tmp_path: Path, line: str, fault: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(build([USER]).model_dump_json() + "\n" + line, encoding="utf-8")

    rows = read_trajectories(path)
    assert next(rows).environment == "some-place"
    with pytest.raises(ConfigError, match=fault):
        next(rows)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.jsonl cannot be read"):
        next(read_trajectories(tmp_path / "none.jsonl"))
