"""Environments to learn from and to be judged by, and what an oracle leaves in them, over real sockets."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.settings import Settings
from astra_mcp.llm.usage import Usage
from astra_mcp.testing import RunningGateway, open_test_gateway
from astra_mcp.trajectory import Trajectory, TrajectoryWriter, UserMessage
from gateway.api.client import GatewayClient
from gateway.api.wire import SourceEnvironment
from training.rollout.agents.scripted import OracleAgent
from training.rollout.plan import Source, plan_rollouts
from training.rollout.run import run_rollouts

__all__ = [
    "HELD_OUT",
    "TRAINED",
    "find_sources",
    "make_environments",
    "open_playground",
    "play",
    "request_of",
]

TRAINED = ("shared", "made-up")
"""Sets to learn from: with the names that all micro environments share, and with names made up."""
HELD_OUT = ("worlds", "names")
"""Sets to be judged by: new worlds with shared names, and with names that no trained set has."""
_SPLIT = ("--split", "train=80,test=20", "--split-by", "entity")
_CONCURRENCY = 32
_WHOLE = 0.999


def make_environments(
    folder: Path, *, seed: int, languages: str, worlds: int, held_out: int
) -> Mapping[str, Path]:
    """Make all sets by the command that people use; gives the folder of each. What is there is kept.

    Args:
        folder: Of all of them.
        seed: Of what is drawn; each set has one of its own.
        languages: With commas.
        worlds: Of each set to learn from; each is asked 8 questions.
        held_out: Environments of each set to be judged by.
    """
    shared, entity, other = folder / "shared", folder / "entity", folder / "worlds"
    _synth(shared, "--count", worlds, "--questions", 8, "--seed", 3 * seed, "--language", languages)
    _synth(other, "--count", held_out, "--seed", 3 * seed + 1, "--language", languages)
    made_up = ("--count", round(worlds / 0.8), "--questions", 8, "--language", languages)
    _synth(entity, "--seed", 3 * seed + 2, *made_up, *_SPLIT)
    return {
        "shared": shared,
        "made-up": entity / "train",
        "worlds": other,
        "names": entity / "test",
    }


def _synth(out: Path, *options: object) -> None:
    command = [sys.executable, "-P", "-m", "astra_mcp", "synth", "environments", "--json"]
    asked = ["--families", "micro", "--no-acceptance", "--out", str(out), *map(str, options)]
    subprocess.run([*command, *asked], check=True, stdout=subprocess.DEVNULL)


@asynccontextmanager
async def open_playground(home: Path, folders: Collection[Path]) -> AsyncGenerator[RunningGateway]:
    """Serve environments through a gateway in this process, in the sandbox and on a socket."""
    settings = Settings(environments=tuple(folders), home=home)
    async with open_catalog(settings) as catalog, open_test_gateway(catalog) as gateway:
        yield gateway


async def find_sources(
    gateway: GatewayClient, folder: Path, *, limit: int | None = None, with_further: bool
) -> list[tuple[Source, str | None]]:
    """Name what the environments of a folder ask, by name; ``with_further`` takes all of their questions."""
    found: list[tuple[Source, str | None]] = []
    for name in _names_in(folder)[:limit]:
        details = await gateway.environment(name)
        asked = [None, *(q.id for q in details.questions)] if with_further else [None]
        found += [
            (SourceEnvironment(kind="environment", name=name, question=question), details.version)
            for question in asked
        ]
    return found


def _names_in(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir() if place.is_dir())


async def play(
    gateway: GatewayClient,
    sources: Sequence[tuple[Source, str | None]],
    file: Path | None = None,
    unlike: Collection[str] = (),
) -> list[Trajectory]:
    """Let the oracle play, and write what earned the whole reward.

    Args:
        gateway: Of the environments.
        sources: What is played.
        file: Where to; None writes nothing.
        unlike: Requests that are left out, word for word.

    Returns:
        What was written, or would be.
    """
    found: dict[int, Trajectory] = {}

    def keep(place: int, trajectory: Trajectory, _usage: Usage) -> None:
        found[place] = trajectory

    planned = plan_rollouts(sources, num_episodes=1, root_seed=0)
    agent = OracleAgent(gateway.gold)
    await run_rollouts(gateway, agent, planned, concurrency=_CONCURRENCY, on_finished=keep)
    played = [trajectory for _, trajectory in sorted(found.items())]
    whole = [t for t in played if t.reward is not None and t.reward.reward >= _WHOLE]
    kept = [trajectory for trajectory in whole if request_of(trajectory) not in unlike]
    if file is not None:
        with TrajectoryWriter(file) as writer:
            for trajectory in kept:
                writer.write(trajectory)
    return kept


def request_of(trajectory: Trajectory) -> str:
    """Give what the user says first."""
    return next(m.content for m in trajectory.messages if isinstance(m, UserMessage))
