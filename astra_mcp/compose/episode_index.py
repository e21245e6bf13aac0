"""Which recorded episodes fit what is asked for, by the registry's index of them.

Loaded where episodes are listed alone: what talks to databases takes a second.
"""

from pathlib import Path

from astra_mcp.compose.episode_values import reward_of, source_of
from astra_mcp.compose.settings import Settings
from gateway.episodes.archive import records_folder, status_of
from gateway.episodes.record import Record, read_record, record_path
from registry.store.database import open_database
from registry.store.records import (
    EpisodeDigest,
    EpisodeFilter,
    RecordFault,
    find_episodes,
    index_records,
)

__all__ = ["EpisodeFilter", "RecordFault", "select_records"]


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
        report = await index_records(database, folder, _digest)
        ids = await database.read(
            lambda session: find_episodes(session, report.present, wanted, limit)
        )
    return [read_record(record_path(folder, id_)) for id_ in ids], report.faults


def _digest(path: Path) -> EpisodeDigest:
    record = read_record(path)
    reward = reward_of(record)
    failure = record.ended.failure if record.ended else None
    return EpisodeDigest(
        opened_at=record.opened.at,
        source=source_of(record),
        endpoint=record.opened.endpoint,
        status=status_of(record),
        calls=record.agent_calls,
        reward=reward.reward if reward else None,
        failure=failure.message if failure else None,
    )
