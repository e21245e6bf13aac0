"""Hugging Face's ``datasets`` loads trajectories and what is exported of them, with nothing lost."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.trajectory import Trajectory

from assorted_trajectories import NUM_PLAIN, assorted, write_trajectories
from command_line import Cli
from installed_programs import python_of

_PROGRAM = """\
import json, sys
from datasets import load_dataset
cache, *jobs = sys.argv[1:]
for job in jobs:
    told = json.loads(job)
    for streaming in (False, True):
        rows = load_dataset(**told["load"], split="train", streaming=streaming, cache_dir=cache)
        with open(told["save"] + str(int(streaming)), "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\\n")
"""
TEMPLATE = jinja2.Environment(autoescape=False).from_string(  # noqa: S701 - no page
    (Path(__file__).parent / "qwen3_style.jinja").read_text(encoding="utf-8")
)
ROWS = assorted(1000)
CHATS = [row for row in ROWS if row.status is not EpisodeStatus.FAILED]


@dataclass(frozen=True)
class Loaded:
    """What ``datasets`` made of files, each streamed and not."""

    folder: Path

    def __getitem__(self, name: str) -> Iterator[list[dict[str, Any]]]:
        for way in "01":
            text = (self.folder / f"{name}.{way}").read_text(encoding="utf-8")
            yield [json.loads(line) for line in text.removesuffix("\n").split("\n")]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """Two files of trajectories, and their exports; the first holds only nulls where there can be null."""
    folder = tmp_path_factory.mktemp("rows")
    files = [
        str(write_trajectories(folder / "a.jsonl", ROWS[:NUM_PLAIN])),
        str(write_trajectories(folder / "b.jsonl", ROWS[NUM_PLAIN:])),
    ]
    cli = Cli(folder / "home")
    for ending in ("parquet", "jsonl"):
        for number, file in enumerate(files):
            out = f"{ending}{number}/chats.{ending}"
            assert cli.run("export", "sft", file, "--out", out).returncode == 0
    both = [str(folder / f"jsonl{n}" / "chats.jsonl") for n in range(2)]
    jobs = {
        "lines": {"path": "json", "data_files": files},
        "backwards": {"path": "json", "data_files": files[::-1]},
        "chats": {"path": "json", "data_files": both},
        **{
            f"{e}{n}": {"path": str(folder / f"{e}{n}")}
            for e in ("parquet", "jsonl")
            for n in (0, 1)
        },
    }
    done = subprocess.run(
        [
            python_of("datasets-5.2.0", "datasets==5.2.0"),
            "-c",
            _PROGRAM,
            folder / "cache",
            *(json.dumps({"load": k, "save": f"{folder}/{n}."}) for n, k in jobs.items()),
        ],
        env={"HOME": str(folder), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return Loaded(folder)


def restored(row: Mapping[str, Any]) -> Trajectory:
    """The trajectory that a row of an export was made of."""
    kept = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id")
    messages = [{k: m[k] for k in kept if m.get(k) is not None} for m in row["messages"]]
    for message in messages:
        if message["role"] != "assistant":
            message.pop("tool_calls", None)
    fields = json.loads(row["metadata"])
    del fields["schema_version"]
    return Trajectory.model_validate(
        {**fields, "messages": messages, "tools": json.loads(row["tools"])}
    )


def rendered(messages: Sequence[Mapping[str, Any]], tools: Sequence[Any]) -> str:
    return TEMPLATE.render(messages=messages, tools=tools)


@pytest.mark.foreign
@pytest.mark.smoke
@pytest.mark.timeout(600)
def test_two_files_of_every_kind_of_trajectory_are_loaded_as_they_were_written(
    loaded: Loaded,
) -> None:
    assert ROWS[-1].status is EpisodeStatus.FAILED
    for rows in loaded["lines"]:
        assert [Trajectory.from_line(row) for row in rows] == ROWS
    for rows in loaded["backwards"]:
        assert [Trajectory.from_line(row) for row in rows] == ROWS[NUM_PLAIN:] + ROWS[:NUM_PLAIN]


@pytest.mark.foreign
@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", [["chats"], ["jsonl0", "jsonl1"], ["parquet0", "parquet1"]])
def test_exported_chats_are_loaded_whole_and_rendered_as_the_trajectories_are(
    names: list[str], loaded: Loaded
) -> None:
    for parts in zip(*(loaded[name] for name in names), strict=True):
        rows = [row for part in parts for row in part]
        assert [restored(row) for row in rows] == CHATS
        for row, chat in zip(rows, CHATS, strict=True):
            messages = [message.model_dump(mode="json") for message in chat.messages]
            shown = rendered(row["messages"], json.loads(row["tools"]))
            assert shown == rendered(messages, [*chat.tools])
            assert shown.count("<tool_call>") == len(chat.calls)


def test_the_template_shows_tools_thoughts_calls_and_results() -> None:
    chat = next(row for row in CHATS if any("think" in str(m) for m in row.messages) and row.tools)
    messages = [message.model_dump(mode="json") for message in chat.messages]
    shown = rendered(messages, [*chat.tools])

    for tag in ("<tools>", "<tool_call>", "<tool_response>"):
        assert tag in shown
