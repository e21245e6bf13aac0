"""Inspect reads the log that is made of trajectories, with a transcript for each."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.trajectory import AssistantMessage, ToolMessage

from assorted_trajectories import assorted, write_trajectories
from command_line import variables
from installed_programs import python_of

_EXPORT = """\
import sys
sys.path.append(sys.argv.pop(1))  # Inspect beside the product
from astra_mcp.__main__ import main
main()
"""
_READ = """\
import json, sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
sample = lambda s: {
    "id": s.id, "epoch": s.epoch, "roles": [m.role for m in s.messages],
    "texts": [m.text for m in s.messages], "error": s.error and s.error.message,
    "score": s.scores and s.scores["f1"].value, "metadata": s.metadata,
    "events": [(e.event, e.model if e.event == "model" else e.function) for e in s.events],
    "calls": [(c.id, c.function, c.arguments, c.parse_error)
              for m in s.messages if m.role == "assistant" for c in m.tool_calls or ()],
    "tool_errors": [m.error is not None for m in s.messages if m.role == "tool"],
    "reasoning": [[c.reasoning for c in m.content if c.type == "reasoning"]
                  for m in s.messages if m.role == "assistant" and isinstance(m.content, list)],
}
print(json.dumps({"status": log.status, "samples": [sample(s) for s in log.samples],
                  "mean": log.results.scores[0].metrics["mean"].value}))
"""
ROWS = assorted(150)


@pytest.mark.foreign
@pytest.mark.timeout(600)
def test_inspect_reads_every_kind_of_trajectory_and_the_same_rows_give_the_same_bytes(
    tmp_path: Path,
) -> None:
    python = python_of("inspect-0.3.285", "inspect_ai==0.3.285")
    (packages,) = (python.parents[1] / "lib").glob("*/site-packages")
    file = write_trajectories(tmp_path / "t.jsonl", ROWS)
    statuses = [
        word for status in ("closed", "expired", "limit", "failed") for word in ("--status", status)
    ]
    for name in ("a.eval", "b.eval"):
        command = [sys.executable, "-P", "-c", _EXPORT, packages, "export", "sft", file]
        done = subprocess.run(
            [*command, "--format", "inspect", "--out", tmp_path / name, *statuses],
            env=variables(tmp_path / "home"),
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.eval").read_bytes() == (tmp_path / "b.eval").read_bytes()

    read = subprocess.run(
        [python, "-c", _READ, tmp_path / "a.eval"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    log = json.loads(read.stdout)
    by_episode = {json.dumps(s["metadata"], sort_keys=True): s for s in log["samples"]}
    assert log["status"] == "success"
    assert len({(s["id"], s["epoch"]) for s in log["samples"]}) == len(ROWS)
    rewards = [row.reward.reward for row in ROWS if row.reward]
    assert log["mean"] == pytest.approx(sum(rewards) / len(rewards))
    for row in ROWS:
        facts = row.model_dump(mode="json", exclude={"messages", "tools"}) | {"schema_version": 4}
        check(row, by_episode[json.dumps(facts, sort_keys=True)])


def check(row: Any, sample: dict[str, Any]) -> None:
    """A sample says what its trajectory does."""
    player = row.agent.model or row.agent.name
    turns = [m for m in row.messages if isinstance(m, AssistantMessage)]
    named = {c.id: c.function.name for turn in turns for c in turn.tool_calls}
    assert sample["roles"] == [m.role for m in row.messages]
    assert sample["texts"] == [m.content or "" for m in row.messages]
    assert sample["score"] == (row.reward.reward if row.reward else None)
    assert (sample["error"] is not None) == (row.status is EpisodeStatus.FAILED)
    assert sample["tool_errors"] == [note.is_error for note in row.calls]
    assert sample["reasoning"] == [
        [t.reasoning_content] for t in turns if t.reasoning_content is not None
    ]
    assert sample["events"] == [
        ["model", player] if isinstance(m, AssistantMessage) else ["tool", named[m.tool_call_id]]
        for m in row.messages
        if isinstance(m, AssistantMessage | ToolMessage)
    ]
    written = [c for turn in turns for c in turn.tool_calls]
    for call, (name, function, arguments, fault) in zip(written, sample["calls"], strict=True):
        assert (name, function) == (call.id, call.function.name)
        if fault is None:
            assert arguments == json.loads(call.function.arguments)
        else:
            assert (arguments, fault.endswith(call.function.arguments)) == ({}, True)
