"""verl trains on the CPU: two steps, a checkpoint, a resume, and what is played while processes are lost."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from astra_mcp.call_record import EpisodeId
from gateway.api.client import GatewayClient
from training.rl.verl.account import Line

from micro_runs import open_micro_gateway, play_oracle, write_micro_bundles
from verl_runs import VerlRun, find_verl

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(7200)]

_PUPIL = """
model = "tiny"
out = "pupil"
[[data]]
file = "oracle.jsonl"
[training]
epochs = 1000
max_steps = 60
batch_size = 16
micro_batch_size = 16
learning_rate = 6e-3
betas = [0.9, 0.98]
schedule = "constant"
[checkpoints]
every = 60
[log]
tensorboard = false
"""
_RUN = """
model = "{place}/pupil/weights/step-00000060"
out = "run"
{url}
[[data]]
environments = {names}
questions = "all"
[training]
steps = {steps}
groups = 4
group_size = 4
mini_batches = 2
learning_rate = 1e-3
[limits]
turns = 4
turn_tokens = 32
[validation]
environments = {names}
every = 2
[checkpoints]
every = 2
[log]
tensorboard = false
[verl]
device = "cpu"
gradient_checkpointing = false
start_seconds = 1200
"""


@pytest.fixture(scope="module")
def pupil(tmp_path_factory: pytest.TempPathFactory) -> VerlRun:
    """Environments, and a small model that learned their calls by heart, and errs at T = 1."""
    programs, place = find_verl(), tmp_path_factory.mktemp("verl")
    run = VerlRun(programs=programs, place=place, environments=place / "environments")
    names = write_micro_bundles(run.environments, 6, questions=3, seed=5)

    async def play() -> None:
        async with open_micro_gateway(place / "home-of-oracle", run.environments) as access:
            await play_oracle(access, names, place / "oracle.jsonl")

    anyio.run(play)
    (place / "pupil.toml").write_text(_PUPIL)
    command = [programs / "astra-mcp", "train", "sft", "--config", place / "pupil.toml"]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return run


def config_of(run: VerlRun, name: str, *, steps: int, url: str = "") -> Path:
    names = json.dumps(sorted(each.name for each in run.environments.iterdir()))
    told = f'url = "{url}"' if url else ""
    text = _RUN.format(names=names, steps=steps, url=told, place=run.place).replace(
        'out = "run"', f'out = "{name}"'
    )
    (run.place / f"{name}.toml").write_text(text)
    return run.place / f"{name}.toml"


async def test_two_steps_learn_are_saved_and_go_on_and_the_record_has_each_call(
    pupil: VerlRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_micro_gateway(pupil.place / "home", pupil.environments) as access:
        monkeypatch.setenv("ASTRA_MCP_CONTROL_KEY", access.key)
        config = config_of(pupil, "two", steps=2, url=access.url)
        run = replace(pupil, name="two")
        said = await anyio.to_thread.run_sync(run.train, config)
        assert "verl 0.9.1" in said
        first, second = run.figures(1), run.figures(2)
        for figures in (first, second):
            assert figures["gradient_norm"] > 0
            assert figures["filling/failed"] == 0
            if not figures["filling/oldest"]:  # what waited was sampled by other weights
                assert figures["rollout_correlation"] > 0.999
            assert figures["rollout/turns"] > 1
        assert {"greedy/reward", "sampled/reward"} <= {*run.figures(0), *second}
        assert (run.out / "checkpoints" / "global_step_2" / "transfer_queue").exists()

        config = config_of(pupil, "two", steps=3, url=access.url)
        await anyio.to_thread.run_sync(run.train, config)
        assert [line["step"] for line in run.metrics] == [0, 1, 2, 3]
        assert run.figures(3)["gradient_norm"] > 0
        groups = groups_by_step(run.lines)
        assert min(groups[3]) == max(groups[2]) + 1, "the next batch begins where the last ended"

        async with GatewayClient(access.url, access.key) as gateway:
            for line in run.lines:
                assert line.episode is not None
                record = await gateway.record(EpisodeId(line.episode))
                assert len(record.calls) == line.calls
                assert record.state.reward is not None
                assert record.state.reward.reward == line.reward


def test_a_run_outlives_a_process_that_plays_and_its_rewards_stay_right(pupil: VerlRun) -> None:
    run = replace(pupil, name="killed")
    process = run.begin(config_of(pupil, "killed", steps=2))
    wait_for(lambda: any(line.kind == "train" for line in run.lines), process)
    player = next(iter(run.out.glob("verl/from-0/episodes/*.jsonl"))).name.split("-")[0]
    os.kill(int(player), signal.SIGKILL)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert len({*run.out.glob("verl/from-0/episodes/*.jsonl")}) >= 2
    assert [line["step"] for line in run.metrics] == [0, 1, 2]
    counted = Counter((line.step, line.group) for line in run.lines if line.kind == "train")
    assert max(counted.values()) == 4


def groups_by_step(lines: Iterable[Line]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for line in lines:
        if line.kind == "train":
            found.setdefault(line.step, set()).add(line.group)
    return found


def wait_for(is_so: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not is_so():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.2)
