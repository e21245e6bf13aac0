"""From 40 real servers to an SFT set by the command line, with a scripted model; killed ten times."""

import gzip
import json
import shutil
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.completions import Answer, CompletionRequest, open_completions
from astra_mcp.report.console import ExitCode

from command_line import Run, command, variables
from real_documents import TOUCAN, real_data
from scripted_tasks import CHAIN_FLAWS, VARIATION_FLAWS, TaskModel
from task_fates import Fates, read_outcomes

NUM_LINES = 75
"""Of the real file; more than 40 of them are kept."""
SYNTH = ("synth", "tasks", "--limit", "40", "--execute", "--json")
PLACES = 10


@dataclass
class Bench:
    """A home, and a model behind an endpoint of this process."""

    home: Path
    base_url: str
    model: TaskModel
    alarms: dict[int, anyio.Event] = field(default_factory=dict[int, anyio.Event])
    """Set when the model has given so many answers."""

    def reply(self, request: CompletionRequest) -> Answer:
        """Answer, and say so to whoever waits for that."""
        answer = self.model(request)
        alarm = self.alarms.get(self.model.num_answers)
        if alarm is not None:
            alarm.set()
        return answer

    async def run(self, *arguments: str) -> Run:
        """Run a command to its end."""
        done = await anyio.run_process(
            command(*arguments), env=self._variables, cwd=self.home.parent, check=False
        )
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    async def run_until(self, num_more: int, number: signal.Signals, *arguments: str) -> int:
        """Run a command, and send it a signal after so many more answers; returns its exit code."""
        alarm = self.alarms[self.model.num_answers + num_more] = anyio.Event()
        async with await anyio.open_process(
            command(*arguments),
            env=self._variables,
            cwd=self.home.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            await alarm.wait()
            process.send_signal(number)
            return await process.wait()

    @property
    def _variables(self) -> dict[str, str]:
        told = {
            f"ASTRA_MCP_MODELS__{role}__{name}": value
            for role in ("GENERATOR", "JUDGE", "AGENT")
            for name, value in (("MODEL", "scripted"), ("BASE_URL", self.base_url))
        }
        return variables(self.home, **told)


@asynccontextmanager
async def opened_bench(home: Path) -> AsyncGenerator[Bench]:
    """Serve a model of its own for a home."""
    bench = Bench(home, "", TaskModel())
    async with open_completions(bench.reply) as server:
        bench.base_url = server.base_url
        yield bench


def accounted_for(told: dict[str, Any]) -> bool:
    """True where each item of each stage stands in one sum."""
    ends = ("finished", "rejected", "failed", "interrupted", "not_begun")
    return all(sum(row[end] for end in ends) == row["in"] for row in told["stages"])


@pytest.mark.volume
@pytest.mark.timeout(2400)
async def test_forty_real_servers_become_an_sft_set_and_ten_kills_change_nothing(
    tmp_path: Path,
) -> None:
    lines = tmp_path / "first.jsonl"
    with gzip.open(real_data(TOUCAN), "rt", encoding="utf-8") as file:
        lines.write_text("".join(islice(file, NUM_LINES)), encoding="utf-8")
    async with opened_bench(tmp_path / "whole" / "home") as bench:
        bench.home.parent.mkdir()
        assert (await bench.run("registry", "import", str(lines))).returncode == 0
        shutil.copytree(bench.home.parent, tmp_path / "killed")
        await _is_whole(bench)
        whole = (bench.home.parent / "tasks.jsonl").read_bytes()
        num_answers = bench.model.num_answers
        await _becomes_an_sft_set(bench)

    async with opened_bench(tmp_path / "killed" / "home") as bench:
        for place in range(PLACES):
            number = signal.SIGINT if place % 5 == 4 else signal.SIGKILL
            code = await bench.run_until(num_answers // 12, number, *SYNTH)
            assert code == (ExitCode.STOPPED if number is signal.SIGINT else -number)
        done = await bench.run(*SYNTH, "--out", "tasks.jsonl")
        assert done.returncode == 0, done.stderr[-2000:]
        assert accounted_for(done.told)
    assert (tmp_path / "killed" / "tasks.jsonl").read_bytes() == whole


async def _is_whole(bench: Bench) -> None:
    done = await bench.run(*SYNTH, "--out", "tasks.jsonl")
    assert done.returncode == 0, done.stderr[-2000:]
    assert accounted_for(done.told)
    assert done.told["stages"][0]["in"] == 40
    num_answers = bench.model.num_answers
    again = await bench.run(*SYNTH, "--out", "again.jsonl")
    assert (again.told["model_calls"], bench.model.num_answers) == (0, num_answers)
    texts = [(bench.home.parent / f"{name}.jsonl").read_text() for name in ("tasks", "again")]
    assert texts[0] == texts[1]
    tasks: list[dict[str, Any]] = [*map(json.loads, texts[0].splitlines())]
    for task in tasks:
        steps: list[Any] = task["chain"]["steps"] if task["chain"] else []
        assert [call["step"] for call in task["executed"]] == steps
        assert not any(call["is_error"] for call in task["executed"])

    fates = Fates(
        read_outcomes(f"sqlite:///{bench.home / 'registry.db'}", "tasks"), bench.model.planted
    )
    print(dict(fates.own), dict(fates.other), dict(fates.unflawed))  # noqa: T201 - what it found
    assert fates.kept == []
    assert {reason for _, reason in fates.other} <= {"call_failed", "invalid_arguments"}
    assert fates.own.total() >= 0.95 * (fates.own.total() + fates.other.total())
    assert fates.own.keys() >= {*CHAIN_FLAWS, *VARIATION_FLAWS, "unknown_tool", "wrong_order"}


async def _becomes_an_sft_set(bench: Bench) -> None:
    played = await bench.run("rollout", "--tasks", "tasks", "--out", "played.jsonl", "--json")
    assert played.returncode == 0, played.stderr[-2000:]
    scored = await bench.run("score", "played.jsonl", "--out", "scores.jsonl", "--json")
    num_tasks = len((bench.home.parent / "tasks.jsonl").read_text().splitlines())
    assert scored.told["scored"] == num_tasks
    options = ("--scores", "scores.jsonl", "--out", "sft.jsonl", "--json")
    exported = (await bench.run("export", "sft", "played.jsonl", *options)).told
    assert exported["rows"] + sum(exported["left_out"].values()) == num_tasks
    assert exported["rows"] > num_tasks // 2
    assert exported["left_out"]["min-total"] > 0
