"""Environments to learn from and to be judged by, and what an oracle leaves in them, over real sockets."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.distractor_pool import open_distractors
from astra_mcp.compose.settings import Settings
from astra_mcp.llm.usage import Usage
from astra_mcp.testing import RunningGateway, open_test_gateway
from astra_mcp.trajectory import Trajectory, TrajectoryWriter, UserMessage
from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest, SourceEnvironment
from registry.store.database import open_database
from training.rollout.agent import Agent
from training.rollout.plan import Source, plan_rollouts
from training.rollout.run import run_rollouts

__all__ = [
    "HELD_OUT",
    "TRAINED",
    "find_sources",
    "is_solved",
    "make_environments",
    "open_playground",
    "play",
    "request_of",
    "synthesise",
    "write",
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
    common = ("--no-acceptance", "--language", languages)
    synthesise(shared, *common, "--count", worlds, "--questions", 8, "--seed", 3 * seed)
    synthesise(other, *common, "--count", held_out, "--seed", 3 * seed + 1)
    made_up = ("--count", round(worlds / 0.8), "--questions", 8)
    synthesise(entity, *common, "--seed", 3 * seed + 2, *made_up, *_SPLIT)
    return {
        "shared": shared,
        "made-up": entity / "train",
        "worlds": other,
        "names": entity / "test",
    }


def synthesise(out: Path, *options: object) -> None:
    """Make micro environments in a folder, by the command that people use; what is there is kept."""
    command = [sys.executable, "-P", "-m", "astra_mcp", "synth", "environments", "--json"]
    asked = ["--families", "micro", "--out", str(out), *map(str, options)]
    subprocess.run([*command, *asked], check=True, stdout=subprocess.DEVNULL)


@asynccontextmanager
async def open_playground(home: Path, folders: Collection[Path]) -> AsyncGenerator[RunningGateway]:
    """Serve environments through a gateway in this process, in the sandbox and on a socket."""
    settings = Settings(environments=tuple(folders), home=home)
    async with (
        open_database(settings.registry_url) as database,
        open_catalog(settings, database=database) as catalog,
        open_distractors(settings, catalog, database) as distractors,
        open_test_gateway(catalog, distractors=distractors) as gateway,
    ):
        yield gateway


async def find_sources(
    gateway: GatewayClient, folder: Path, *, limit: int | None = None, with_further: bool
) -> list[tuple[SourceEnvironment, str | None]]:
    """Name what the environments of a folder ask, by name; ``with_further`` takes all of their questions."""
    found: list[tuple[SourceEnvironment, str | None]] = []
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
    agent: Agent,
    sources: Sequence[tuple[Source, str | None]],
    *,
    distractors: DistractorRequest | None = None,
) -> list[Trajectory]:
    """Let an agent play each source once.

    Args:
        gateway: Of the environments.
        agent: Who plays.
        sources: What is played.
        distractors: Asked for with each episode.

    Returns:
        What earned a reward, of whatever size, in the order of the sources.
    """
    found: dict[int, Trajectory] = {}

    def keep(place: int, trajectory: Trajectory, _usage: Usage) -> None:
        found[place] = trajectory

    planned = plan_rollouts(sources, num_episodes=1, root_seed=0, distractors=distractors)
    await run_rollouts(gateway, agent, planned, concurrency=_CONCURRENCY, on_finished=keep)
    return [t for _, t in sorted(found.items()) if t.reward is not None]


def write(file: Path, trajectories: Iterable[Trajectory]) -> None:
    """Write all of them, or no file."""
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    with TrajectoryWriter(part) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
    part.rename(file)


def is_solved(trajectory: Trajectory) -> bool:
    """Whether it earned the whole reward."""
    return trajectory.reward is not None and trajectory.reward.reward >= _WHOLE


def request_of(trajectory: Trajectory) -> str:
    """Give what the user says first."""
    return next(m.content for m in trajectory.messages if isinstance(m, UserMessage))
