"""The processes of a run by verl end with it, however it ends."""

import os
import select
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from astra_mcp.errors import TrainingError
from training.rl.verl.processes import environment, open_process, open_ray, read_end
from training.rl.verl.settings import DeviceSettings

SLEEPER = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
STARTER = """
import anyio, os, sys
from pathlib import Path
from training.rl.verl.processes import open_process
async def main():
    async with open_process(sys.argv[2:], dict(os.environ), Path(sys.argv[1])) as process:
        print(process.pid, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


async def test_a_process_is_gone_when_its_run_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with anyio.fail_after(30):
        async with open_process(SLEEPER, {**os.environ}, log) as process:
            assert process.returncode is None
        assert process.returncode == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such signal")
def test_a_process_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path / "log"), *SLEEPER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        watched = os.pidfd_open(int(starter.stdout.readline()))
        while "here" not in read_end(tmp_path / "log"):
            pass
        starter.kill()
    assert select.select([watched], [], [], 30)[0], "it is still there"
    os.close(watched)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is here, and starts")
async def test_a_ray_that_does_not_start_is_told_with_its_log(tmp_path: Path) -> None:
    settings = DeviceSettings(device="cpu")
    env = environment(settings, "secret-of-a-gateway", tmp_path / "metrics.jsonl")
    with pytest.raises(TrainingError, match=r"verl\.start_seconds.*ray\.log") as told:
        async with open_ray(settings, env, tmp_path / "ray.log"):
            pass
    assert "secret" not in str(told.value)
    assert "No module named" in read_end(tmp_path / "ray.log")
