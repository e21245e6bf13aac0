"""The trajectory schema: what it refuses, and its files."""

import importlib
import io
import json
import resource
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
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
    Versions,
    read_trajectories,
    trajectory_schema,
)
from astra_mcp.trajectory.line import PLAIN_MEMBERS

from documented_code import TRAJECTORY_SCHEMAS, trajectory_schema_text
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

    line = json.loads(json.dumps(trajectory.as_line()))

    assert Trajectory.from_line(line) == trajectory


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
    line = build([*messages, calls("a"), answer("a")]).as_line()

    assert json.loads(str(line["messages"])) == [
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


# --- lines --------------------------------------------------------------------------------------


ARROW_JSON: Any = importlib.import_module("pyarrow.json")
SCHEMA: dict[str, Any] = trajectory_schema()
OBEYS = jsonschema_rs.validator_for(SCHEMA)
OBEYS_INSIDE = {
    name: jsonschema_rs.validator_for({**member["contentSchema"], "$defs": SCHEMA["$defs"]})
    for name, member in SCHEMA["properties"].items()
    if "contentSchema" in member
}
"""By member: checks what its text holds."""


def line_of_version_2(trajectory: Trajectory) -> dict[str, Any]:
    """As version 2 had it: no member was JSON text."""
    return {"schema_version": 2, **trajectory.model_dump(mode="json")}


@given(conversations())
def test_a_line_of_the_second_version_is_read_as_one_of_this_one(messages: list[Message]) -> None:
    whole = build(messages, tools=({"type": "function", "function": {"name": "f"}},))

    assert Trajectory.from_line(line_of_version_2(whole)) == whole


def test_a_line_of_the_third_version_has_no_user_and_is_read_as_one_of_this_one() -> None:
    whole = build([USER, calls("a"), answer("a")])
    old = {**whole.as_line(), "schema_version": 3}
    del old["user"]

    assert Trajectory.from_line(old) == whole
    assert OBEYS.is_valid(whole.as_line())
    assert not OBEYS.is_valid(old)


@pytest.mark.parametrize(
    ("user", "stop", "fault"),
    [
        ({"turns": 2, "end": "done"}, "answer", "user.turns is 2, and there are 1"),
        ({"turns": 1, "end": "done"}, "user_turns", "came to the limit"),
        (None, "user_turns", "came to the limit"),
    ],
)
def test_what_is_said_of_the_user_is_what_the_messages_show(
    user: dict[str, Any] | None, stop: str, fault: str
) -> None:
    told = user and {"name": "simulated", **user}

    with pytest.raises(ValidationError, match=fault):
        build([USER, AssistantMessage(content="Done.")], user=told, stop=stop)


def test_a_line_of_the_first_version_is_read_as_one_of_this_one(tmp_path: Path) -> None:
    whole = build([USER, calls("a"), answer("a")])
    old: dict[str, Any] = {**line_of_version_2(whole), "schema_version": 1}
    del old["distractors"], old["failures"]
    notes: list[dict[str, Any]] = old["calls"]
    for note in notes:
        for added in ("server", "tool", "emulator", "injected"):
            del note[added]
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(old) + "\n", encoding="utf-8")

    assert list(read_trajectories(path)) == [whole]


def test_a_file_that_version_2_wrote_is_read_and_written_again_as_this_one(tmp_path: Path) -> None:
    played, failed = rows = list(read_trajectories(Path(__file__).parent / "version_2.jsonl"))

    assert [m.role for m in played.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert played.reward is not None
    assert played.reward.reward == 0.99999933333
    assert played.calls[0].solved == (1,)
    assert played.tools[0]["type"] == "function"
    assert (failed.episode_id, failed.source["names"]) == (None, ["harbour"])
    assert failed.failure == FAILURE
    with TrajectoryWriter(tmp_path / "t.jsonl") as writer:
        for row in rows:
            writer.write(row)
    assert '"schema_version":4' in (tmp_path / "t.jsonl").read_text("utf-8")
    assert list(read_trajectories(tmp_path / "t.jsonl")) == rows


def types_of(line: Mapping[str, Any]) -> dict[str, str]:
    """The types that PyArrow guesses from one line alone."""
    schema = ARROW_JSON.read_json(io.BytesIO(json.dumps(line).encode())).schema
    return {field.name: str(field.type) for field in schema}


@given(
    conversations(),
    st.datetimes(timezones=st.just(UTC)),
    st.none() | st.sampled_from(["2026-01-05", "2026-01-05T00:00:00Z", "1", "null", ""]),
    st.dictionaries(texts, texts, max_size=2),
)
def test_every_line_has_the_same_types_whatever_it_holds(
    messages: list[Message], instant: datetime, word: str | None, labels: dict[str, str]
) -> None:
    line = build(
        messages,
        created_at=instant,
        episode_id=word,
        tools_hash=word,
        labels=labels,
        versions=Versions(astra_mcp="1", source=word),
        distractors={"mode": word} if word else None,
    ).as_line()

    assert types_of(line) == {
        name: "int64" if name == "schema_version" else "string" for name in SCHEMA["properties"]
    }


@settings(max_examples=30)
@given(conversations())
def test_every_line_and_what_its_texts_hold_obeys_the_published_schema(
    messages: list[Message],
) -> None:
    line: dict[str, Any] = build(messages, tools=({"type": "function"},)).as_line()

    OBEYS.validate(line)
    assert line.keys() - OBEYS_INSIDE.keys() == {"schema_version", *PLAIN_MEMBERS}
    for member, obeys in OBEYS_INSIDE.items():
        obeys.validate(json.loads(line[member]))
    for member in line:
        assert not OBEYS.is_valid({**line, member: None})
        assert not OBEYS.is_valid({k: v for k, v in line.items() if k != member})


def test_the_published_schema_is_that_of_the_model() -> None:
    fresh = trajectory_schema_text()

    assert [file for file in TRAJECTORY_SCHEMAS if file.read_text("utf-8") != fresh] == []


# --- files --------------------------------------------------------------------------------------


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    rows = [build([USER]), build([USER, calls("日本"), answer("日本")])]
    path = tmp_path / "new" / "folder" / "t.jsonl"

    with TrajectoryWriter(path) as writer:
        for row in rows:
            writer.write(row)
            assert path.read_bytes().endswith(b"}\n")

    assert list(read_trajectories(path)) == rows


def test_what_json_cannot_carry_is_refused_by_episode_and_leaves_earlier_lines(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.jsonl"
    with TrajectoryWriter(path) as writer:
        writer.write(build([USER]))
        with pytest.raises(ConfigError, match="episode e1 cannot be written as JSON"):
            writer.write(build([USER], distractors={"k": float("nan")}))

    assert list(read_trajectories(path)) == [build([USER])]


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


def changed(**members: Any) -> str:
    """A line with other members."""
    return json.dumps(build([USER]).as_line() | members) + "\n"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"schema_version": 4', "line 2: .*cut off"),
        ("\n", "line 2: "),
        ("[]\n", "line 2: must be a JSON object"),
        ("{}\n", "line 2: schema_version is missing"),
        ("[" * 100_000 + "\n", "line 2: nests too deeply"),
        ('{"schema_version": 3, "schema_version": 3}\n', "'schema_version' stands twice"),
        (changed(schema_version=5), "line 2: .*newer than 4: update astra-mcp"),
        (changed(schema_version=0), "line 2: schema_version 0 is none of 1 to 4"),
        (changed(schema_version="4"), "line 2: schema_version '4' is none of 1 to 4"),
        (changed(colour='"red"'), "line 2: colour: "),
        (changed(messages=[]), "line 2: messages: must be JSON text"),
        (changed(messages="[{"), "line 2: messages: is no JSON text"),
        (changed(messages="[" * 100_000), "line 2: messages: nests too deeply"),
        (changed(messages='[{"role": "user"}]'), r"line 2: messages\.0\.user\.content: "),
        (changed(labels='{"a": NaN}'), "line 2: labels: .*NaN is not JSON"),
        (changed(status="open"), "line 2: status: "),
    ],
)
def test_a_line_that_is_no_trajectory_is_named_by_its_number(
    tmp_path: Path, line: str, fault: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(changed() + line, encoding="utf-8")

    rows = read_trajectories(path)
    assert next(rows).environment == "some-place"
    with pytest.raises(ConfigError, match=fault):
        next(rows)


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"schema_version": "\xff"}\n')

    with pytest.raises(ConfigError, match="line 1: is not UTF-8"):
        next(read_trajectories(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.jsonl cannot be read"):
        next(read_trajectories(tmp_path / "none.jsonl"))
