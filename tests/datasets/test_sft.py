"""``astra-mcp export sft``: what it takes, what it counts, and the rows and files that it writes."""

import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.trajectory import AssistantMessage, StopReason, Trajectory
from training.export.columns import CHAT_COLUMNS, arrow_schema
from training.export.selection import source_names

from assorted_trajectories import assorted, write_trajectories
from command_line import Cli

ROWS = assorted(150)
SOUND = [row for row in ROWS if row.status is not EpisodeStatus.FAILED]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(write_trajectories(tmp_path / "t.jsonl", ROWS))


def lines_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


def ids_of(path: Path) -> list[str | None]:
    return [json.loads(row["metadata"])["episode_id"] for row in lines_of(path)]


def reward_of(row: Trajectory) -> float:
    return row.reward.reward if row.reward else -1.0


FILTERS: Sequence[tuple[tuple[str, ...], Callable[[Trajectory], bool]]] = [
    ((), lambda row: True),
    (("--status", "limit", "--status", "expired"), lambda row: row.status != "closed"),
    (("--stop", "length"), lambda row: row.stop is StopReason.LENGTH),
    (("--agent", "echo"), lambda row: row.agent.name == "echo"),
    (("--agent", "Qwen3-14B"), lambda row: row.agent.model == "Qwen3-14B"),
    (("--source", "harbour"), lambda row: row.environment == "harbour"),
    (("--source", "weather"), lambda row: "weather" in source_names(row)),
    (("--min-reward", "0.05"), lambda row: reward_of(row) >= 0.05),
    (("--max-reward", "0.05"), lambda row: 0 <= reward_of(row) <= 0.05),
    (("--min-calls", "4"), lambda row: len(row.calls) >= 4),
    (("--max-calls", "0"), lambda row: not row.calls),
    (("--max-messages", "2"), lambda row: len(row.messages) <= 2),
    (
        ("--agent", "echo", "--agent", "noop", "--min-calls", "1"),
        lambda row: row.agent.name in {"echo", "noop"} and bool(row.calls),
    ),
]


@pytest.mark.parametrize(("options", "takes"), FILTERS)
def test_a_filter_takes_what_it_names_and_counts_the_others(
    options: tuple[str, ...],
    takes: Callable[[Trajectory], bool],
    cli: Cli,
    file: str,
    tmp_path: Path,
) -> None:
    told = cli.run("export", "sft", file, "--out", "a.jsonl", *options, "--json").told
    taken = [row for row in SOUND if takes(row)]

    assert 0 < len(taken) < len(ROWS)
    assert ids_of(tmp_path / "a.jsonl") == [row.episode_id for row in taken]
    assert (told["read"], told["rows"]) == (len(ROWS), len(taken))
    assert sum(told["left_out"].values()) == len(ROWS) - len(taken)
    assert told["left_out"]["status"] >= len(ROWS) - len(SOUND)


def test_each_trajectory_counts_once_under_the_first_filter_that_leaves_it_out(
    cli: Cli, file: str
) -> None:
    done = cli.run("export", "sft", file, "--out", "a.jsonl", "--agent", "echo", "--stop", "answer")

    failed = len(ROWS) - len(SOUND)
    unlike = [row for row in SOUND if row.stop is not StopReason.ANSWER]
    others = [row for row in SOUND if row.stop is StopReason.ANSWER and row.agent.name != "echo"]
    assert f"{failed} by status, {len(unlike)} by stop, {len(others)} by agent" in done.stdout


def test_failed_trajectories_are_written_when_asked_for_unless_they_are_no_chat(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    told = cli.run("export", "sft", file, "--out", "a.jsonl", "--status", "failed", "--json").told
    failed = [row for row in ROWS if row.status is EpisodeStatus.FAILED]
    chats = [row for row in failed if any(isinstance(m, AssistantMessage) for m in row.messages)]

    assert ids_of(tmp_path / "a.jsonl") == [row.episode_id for row in chats]
    no_chat = told["left_out"]["no user message"] + told["left_out"]["no assistant message"]
    assert no_chat == len(failed) - len(chats) > 0


def test_parquet_has_one_schema_and_the_rows_of_the_lines(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    for ending in ("jsonl", "parquet"):
        assert cli.run("export", "sft", file, "--out", f"a.{ending}").returncode == 0
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "a.parquet")

    assert table.schema == arrow_schema(arrow, CHAT_COLUMNS)
    members = CHAT_COLUMNS["messages"][0]
    for row, line in zip(table.to_pylist(), lines_of(tmp_path / "a.jsonl"), strict=True):
        whole = [{**dict.fromkeys(members), **message} for message in line["messages"]]
        assert row == {**line, "messages": whole}


def test_messages_of_every_row_differ_in_their_members_so_that_no_types_are_guessed(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    assert cli.run("export", "sft", file, "--out", "a.jsonl").returncode == 0
    for row in lines_of(tmp_path / "a.jsonl"):
        assert len({frozenset(message) for message in row["messages"]}) > 1
        named = {
            c["id"]: c["function"]["name"] for m in row["messages"] for c in m.get("tool_calls", ())
        }
        for message in row["messages"]:
            assert message["role"] != "tool" or message["name"] == named[message["tool_call_id"]]


def test_openai_gets_messages_and_tools_without_what_it_refuses(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    done = cli.run("export", "sft", file, "--format", "openai", "--out", "a.jsonl")
    thoughts = [m for row in SOUND for m in row.messages if getattr(m, "reasoning_content", None)]
    assert f"the reasoning of {len(thoughts)} messages has no place" in done.stderr

    allowed = {
        "system": {"role", "content"},
        "user": {"role", "content"},
        "assistant": {"role", "content", "tool_calls"},
        "tool": {"role", "content", "tool_call_id"},
    }
    for line, row in zip(lines_of(tmp_path / "a.jsonl"), SOUND, strict=True):
        assert line.get("tools", []) == [*row.tools]
        assert ("tools" in line) == ("parallel_tool_calls" in line) == bool(row.tools)
        most = max((len(getattr(m, "tool_calls", ())) for m in row.messages), default=0)
        assert line.get("parallel_tool_calls", most > 1) == (most > 1)
        for message in line["messages"]:
            assert message.keys() <= allowed[message["role"]]
            assert isinstance(message["content"], str) or message["tool_calls"]


@pytest.mark.parametrize(
    "options", [("a.jsonl",), ("a.parquet",), ("a.jsonl", "--format", "openai")]
)
def test_the_same_files_give_the_same_bytes(
    options: tuple[str, ...], cli: Cli, file: str, tmp_path: Path
) -> None:
    name, *more = options
    for folder in ("one", "two"):
        assert cli.run("export", "sft", file, "--out", f"{folder}/{name}", *more).returncode == 0
    for each in (name, "README.md"):
        assert (tmp_path / "one" / each).read_bytes() == (tmp_path / "two" / each).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--out", "a.csv"), "must end in .parquet or .jsonl or .ndjson for --format messages"),
        (("--format", "openai", "--out", "a.parquet"), "must end in .jsonl or .ndjson"),
        (("--format", "inspect", "--out", "a.jsonl"), "must end in .eval"),
        (("--format", "inspect", "--out", "a.eval", "--split", "test"), "--split labels rows"),
        (("--out", "mine.jsonl"), "is there already"),
        (("t.jsonl", "--out", "a.jsonl"), "t.jsonl is named twice"),
        (("none.jsonl", "--out", "a.jsonl"), "none.jsonl cannot be read"),
        (("--out", "a.jsonl", "--status", "open"), "has ended"),
        (
            ("--out", "a.jsonl", "--min-calls", "3", "--max-calls", "2"),
            "is more than --max-calls 2",
        ),
        (("--out", "a.jsonl", "--agent", "nobody"), "nothing is left to write: 150 trajectories"),
        (("torn.jsonl", "--out", "a.jsonl"), "torn.jsonl: line 2: "),
        (("torn.jsonl", "--out", "a.parquet"), "torn.jsonl: line 2: "),
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(
    arguments: tuple[str, ...], words: str, cli: Cli, file: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.jsonl").write_text("mine")
    first = json.dumps(SOUND[0].as_line())
    (tmp_path / "torn.jsonl").write_text(f"{first}\n{first[:99]}")

    refused = cli.run("export", "sft", file, *arguments)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert words in refused.stderr.replace("\n", " ")
    left = {path.name for path in tmp_path.iterdir()} - {"home"}
    assert left == {"mine.jsonl", "torn.jsonl", "t.jsonl"}
    assert (tmp_path / "mine.jsonl").read_text() == "mine"


def test_without_inspect_the_extra_is_named(
    cli: Cli, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    refused = cli.run("export", "sft", file, "--format", "inspect", "--out", "a.eval")
    assert (refused.returncode, "install astra-mcp[inspect]" in refused.stderr) == (2, True)


def test_a_card_says_what_the_rows_are_and_another_readme_is_never_touched(
    cli: Cli, file: str, tmp_path: Path
) -> None:
    assert cli.run("export", "sft", file, "--out", "sft/a.parquet").returncode == 0
    card = (tmp_path / "sft/README.md").read_text("utf-8")
    matter = yaml.safe_load(card.split("---")[1])
    assert matter["configs"][0]["data_files"] == [{"split": "train", "path": "a.parquet"}]
    assert {each["name"] for each in matter["dataset_info"]["features"]} == set(CHAT_COLUMNS)
    assert f"holds {len(SOUND)} chats" in card
    assert f"| status | {len(ROWS) - len(SOUND)} |" in card

    (tmp_path / "sft/README.md").write_text("mine")
    told = cli.run("export", "sft", file, "--out", "sft/b.jsonl")
    assert "is not ours" in told.stderr
    assert (tmp_path / "sft/README.md").read_text() == "mine"
