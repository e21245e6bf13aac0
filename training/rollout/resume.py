"""Which episodes of a plan a file of trajectories already holds, so that only the others are played.

A row belongs to a plan where source, seeds, sample, agent, instructions, options and the version of the
environment are the same. Reads; changes nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import orjson

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import AgentInfo, SystemMessage, Trajectory, read_trajectories
from astra_mcp.types import JsonValue, canonical_json
from training.rollout.plan import Rollout

__all__ = ["KeptRow", "find_kept"]

_Key = tuple[bytes, int, int]


class KeptRow(NamedTuple):
    """A trajectory that is there whole."""

    place: int
    """In the plan."""
    line: int
    """In the file, from 0."""
    trajectory: Trajectory


def find_kept(
    path: Path, num_lines: int, rollouts: Sequence[Rollout], agent: AgentInfo
) -> Iterator[KeptRow]:
    """Find the rows that did not fail, one at a time.

    Args:
        path: The file.
        num_lines: Its whole lines; what follows them is not looked at.
        rollouts: The plan.
        agent: Who plays it.

    Raises:
        ConfigError: A line is no trajectory, or one of another plan; names the line and what differs.
    """
    if not rollouts:
        return
    plan = {_key_of(rollout): place for place, rollout in enumerate(rollouts)}
    lines: dict[int, int] = {}
    for line, row in enumerate(islice(read_trajectories(path), num_lines)):
        key = (canonical_json(row.source), row.seeds.index, row.sample or 0)
        place = plan.get(key)
        differences = _differences(row, rollouts[place or 0], agent)
        if place is None:
            differences.append(f"{_named(row)} is not asked for now")
        if differences:
            raise ConfigError(
                f"{path}, line {line + 1}: the file is of another plan: {'; '.join(differences)}. Give "
                "the options of that run, or name a new file"
            )
        if place is None or row.status is EpisodeStatus.FAILED:
            continue
        if place in lines:
            raise ConfigError(
                f"{path}, line {line + 1}: {_named(row)} is there already, in line {lines[place] + 1}: "
                "take one of the two out"
            )
        lines[place] = line
        yield KeptRow(place, line, row)


def _key_of(rollout: Rollout) -> _Key:
    source = rollout.source.model_dump(mode="json")
    return canonical_json(source), rollout.index, rollout.sample


def _player(agent: AgentInfo) -> str:
    """Name an agent; the one behind a chat model by the model alone."""
    if agent.model is None:
        return agent.name
    return agent.model if agent.name == "model" else f"{agent.name} with {agent.model}"


def _named(row: Trajectory) -> str:
    names = row.source.get("names")
    task = row.source.get("id")
    what = (
        row.environment
        or (", ".join(map(str, names)) if isinstance(names, list) else None)
        or (f"task {task}" if task else "?")
    )
    question = f", question {row.question}" if row.question else ""
    return f"episode {row.seeds.index}, sample {row.sample or 0} of {what}{question}"


def _differences(row: Trajectory, rollout: Rollout, agent: AgentInfo) -> list[str]:
    """Say in words what a row was played under, and what the plan asks for."""
    pairs: list[tuple[str, JsonValue, JsonValue]] = [
        ("the agent", _player(row.agent), _player(agent)),
        ("--seed", row.seeds.root, rollout.root_seed),
    ]
    if _key_of(rollout) == (canonical_json(row.source), row.seeds.index, row.sample or 0):
        pairs.append(("the environment's version", row.versions.source, rollout.version))
        if row.seeds.root == rollout.root_seed:
            pairs.append(("the episode's seed", row.seeds.episode, rollout.seed))
    if row.messages:
        first = row.messages[0]
        given = first.content if isinstance(first, SystemMessage) else None
        pairs.append(("--system-prompt", given, rollout.system_prompt))
    found = [
        f"{name} was {_shown(old)}, is {_shown(new)}" for name, old, new in pairs if old != new
    ]
    return found + _different_options(row.options, rollout.options)


def _different_options(old: str | None, new: str | None) -> list[str]:
    if old is None and new is not None:
        return ["the file does not say with which options it was made"]
    was, now = (orjson.loads(text or "{}") for text in (old, new))
    return [
        f"{name} was {_shown(was.get(name))}, is {_shown(now.get(name))}"
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    ]


def _shown(value: JsonValue) -> str:
    """Show a value in a message, the long ones cut."""
    text = (
        "none"
        if value is None
        else value
        if isinstance(value, str)
        else orjson.dumps(value).decode()
    )
    return text if len(text) <= 80 else f"{text[:77]}..."
