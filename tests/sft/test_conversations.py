"""Sets are read as they are: exports of each form, trajectory files, and what is wrong with a row."""

import json
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import AssistantMessage, StopReason, UserMessage
from training.export.selection import Selection
from training.export.sft_exporting import SftForm, export_sft
from training.sft.conversations import SetReader
from training.sft.settings import DataSet

from assorted_trajectories import assorted, write_trajectories
from sft_runs import chat_rows, write_rows
from trajectories import a_trajectory


@pytest.fixture
def trajectories(tmp_path: Path) -> Path:
    """A file with trajectories of many kinds."""
    return write_trajectories(tmp_path / "played.jsonl", assorted(40))


def read(file: Path, **filters: Any) -> tuple[list[Any], SetReader]:
    reader = SetReader(DataSet(file=file, **filters))
    return [(each.messages, each.tools) for each in reader], reader


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_export_holds_the_conversations_of_its_trajectories(
    trajectories: Path, tmp_path: Path, ending: str
) -> None:
    exported = tmp_path / f"exported.{ending}"
    export_sft([trajectories], exported, SftForm.MESSAGES, Selection())
    assert read(exported)[0] == read(trajectories)[0]


def test_what_has_no_question_or_no_turn_is_counted_and_left_out(trajectories: Path) -> None:
    found, reader = read(trajectories)
    assert reader.num_read == len(found) + sum(reader.left_out.values())
    assert all(any(isinstance(m, UserMessage) for m in messages) for messages, _ in found)
    assert all(any(isinstance(m, AssistantMessage) for m in messages) for messages, _ in found)
    assert set(reader.left_out) & {"status", "no assistant message"}


def test_openais_form_is_read_and_cannot_be_filtered(trajectories: Path, tmp_path: Path) -> None:
    exported = tmp_path / "openai.jsonl"
    export_sft([trajectories], exported, SftForm.OPENAI, Selection())
    found, reader = read(trajectories)
    # This form does not say how a row ended.
    assert len(read(exported)[0]) == len(found) + reader.left_out["a turn that was cut"]
    with pytest.raises(ConfigError, match=r"row 1 does not say where it comes from.* min-reward"):
        read(exported, min_reward=0.5)


def test_a_filter_that_leaves_nothing_names_the_file_and_itself(trajectories: Path) -> None:
    with pytest.raises(ConfigError, match=r"played\.jsonl has nothing to train on: .* by source"):
        read(trajectories, sources=("nowhere",))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"messages": "hello"}, "row 2 is no chat: it needs a column 'messages', and has"),
        ({"messages": [{"role": "user"}]}, r"row 2: messages\.0\.user\.content: Field required"),
        ({"messages": [{"role": "boss", "content": "x"}]}, r"row 2: messages\.0: .*boss"),
        ({"messages": [5]}, "row 2: messages.0"),
        ({"tools": "[{]"}, "row 2: tools: is no JSON text"),
        ({"tools": "{}"}, "row 2: tools"),
        ({"metadata": "{"}, "row 2: metadata: is no JSON text"),
        ({"metadata": '{"schema_version": 4}'}, r"row 2: metadata\."),
    ],
)
def test_a_row_that_is_no_chat_is_named_with_its_field(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    rows = [*chat_rows(2)]
    rows[1] = {**rows[1], **change}
    with pytest.raises(ConfigError, match=said):
        read(write_rows(tmp_path / "rows.jsonl", rows))


def test_a_line_that_is_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(chat_rows(1)[0]) + "\n" + '{"messages": [', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"rows\.jsonl: row 2 is no JSON"):
        read(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.jsonl cannot be read: No such file"):
        read(tmp_path / "none.jsonl")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_trajectory_whose_last_turn_was_cut_is_counted_and_left_out(
    tmp_path: Path, ending: str
) -> None:
    kept, cut = (
        a_trajectory(messages=(UserMessage(content="q"), AssistantMessage(content=said)), stop=stop)
        for said, stop in (("Whole.", StopReason.TURNS), ("The wind at the fi", StopReason.LENGTH))
    )
    file = write_trajectories(tmp_path / "played.jsonl", [cut, kept])
    exported = tmp_path / f"exported.{ending}"
    export_sft([file], exported, SftForm.MESSAGES, Selection())
    for each in (file, exported):
        found, reader = read(each)
        assert [messages for messages, _ in found] == [kept.messages]
        assert reader.left_out == {"a turn that was cut": 1}


def test_a_call_that_could_not_be_read_leaves_its_row_out(tmp_path: Path) -> None:
    rows = [*chat_rows(2)]
    broken = json.loads(json.dumps(rows[1]))
    broken["messages"][1]["tool_calls"][0]["function"] = {
        "name": "unreadable",
        "arguments": "",
    }
    found, reader = read(write_rows(tmp_path / "rows.jsonl", [rows[0], broken]))
    assert len(found) == 1
    assert reader.left_out == {"a call without its text": 1}
