"""What all runs by verl begin with: environments, and a small model that plays in them and errs."""

import subprocess

import anyio
import pytest

from micro_runs import open_micro_gateway, play_oracle, write_micro_bundles
from verl_runs import VerlRun, find_verl

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


@pytest.fixture(scope="session")
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
    subprocess.run(command, check=True, env=run.variables)
    return run
