"""Recorded episodes, in the words of the command line, and by the registry's index of them."""

from collections.abc import Mapping
from pathlib import Path

from astra_mcp.compose.settings import Settings
from astra_mcp.concurrency import Pace
from astra_mcp.reward import Reward, score_episode
from astra_mcp.types import JsonObject
from gateway.episodes.archive import records_folder, status_of, time_at
from gateway.episodes.record import Record, read_record, record_path
from registry.store.database import open_database
from registry.store.records import (
    EpisodeDigest,
    EpisodeFilter,
    RecordFault,
    find_episodes,
    index_records,
)

__all__ = [
    "EpisodeFilter",
    "digest_of",
    "player_in",
    "reward_of",
    "run_in",
    "select_records",
    "source_in",
    "source_of",
]

_MAX_NAME = 200
"""Characters of what an index keeps of a label."""


def reward_of(record: Record) -> Reward | None:
    """The reward of an episode, or what it would be now; None without a job or after a failure."""
    if record.ended is not None:
        return record.ended.reward
    return score_episode(record.opened.job, record.solved, record.agent_calls)


def source_of(record: Record) -> str:
    """Name what was run: an environment and its further question, servers, or an interactive endpoint."""
    return source_in(record.opened.source, record.opened.endpoint)


def source_in(source: JsonObject, endpoint: str | None) -> str:
    """Name what was run, by what the first event of a record says of it; as :func:`source_of`."""
    names, question = source.get("names"), source.get("question")
    named = source.get("name") or (", ".join(map(str, names)) if isinstance(names, list) else "")
    match endpoint:
        case None:
            return " ".join([str(named), *([question] if isinstance(question, str) else [])])
        case "*":
            return "all servers (interactive)"
        case _:
            return f"{endpoint} (interactive)"


def player_in(labels: Mapping[str, str]) -> str | None:
    """Name who played an episode: by hand, or the agent that a rollout names; None where nobody says it."""
    player = labels.get("played") or labels.get("agent")
    return player[:_MAX_NAME] if player else None


def run_in(labels: Mapping[str, str]) -> str | None:
    """Name the run that an episode belongs to; None where nobody says it."""
    run = labels.get("run")
    return run[:_MAX_NAME] if run else None


async def select_records(
    settings: Settings, wanted: EpisodeFilter, limit: int
) -> tuple[list[Record], tuple[RecordFault, ...]]:
    """Read the newest records that fit, and say which ones cannot be read.

    Raises:
        ConfigError: The registry's URL is wrong.
        GatewayError: The home is no folder.
        RegistryError: The index cannot be used.
    """
    folder = records_folder(settings.home)
    if not folder.is_dir():
        return [], ()
    async with open_database(settings.registry_url) as database:
        report = await index_records(database, folder, digest_of)
        ids = await database.read(
            lambda session: find_episodes(session, report.present, wanted, limit)
        )
    return [read_record(record_path(folder, id_)) for id_ in ids], report.faults


def digest_of(path: Path, pace: Pace | None = None) -> EpisodeDigest:
    """Read what the index keeps of a record.

    Args:
        path: Of the record.
        pace: Kept in a thread beside which others work.

    Raises:
        GatewayError: It cannot be read.
    """
    record = read_record(path, pace)
    reward = reward_of(record)
    failure = record.ended.failure if record.ended else None
    return EpisodeDigest(
        opened_at=record.opened.at,
        source=source_of(record),
        endpoint=record.opened.endpoint,
        status=status_of(record, time_at(path.parent.parent)),
        calls=record.agent_calls,
        reward=reward.reward if reward else None,
        failure=failure.message if failure else None,
        player=player_in(record.opened.labels),
        run=run_in(record.opened.labels),
    )
