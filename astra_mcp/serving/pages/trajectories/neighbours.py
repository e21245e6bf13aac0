"""Which episodes are of the same question as one, and which of those began in the same way."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio.to_thread
import orjson

from astra_mcp.call_record import EpisodeId
from astra_mcp.compose.episodes import source_of
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.trajectories.files import TrajectoryFiles
from gateway.episodes.record import Record, record_path
from registry.store.records import IndexedEpisode

__all__ = ["Neighbour", "neighbours_of", "player_in"]

_LIMIT = 24
"""Of those before, of those after and of the newest."""
_SHOWN = 48
_FIRST_LINE_BYTES = 4 << 20
"""A longer first line is not read for the seed of its episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Another episode of the same question."""

    id: str
    indexed: IndexedEpisode
    seed: int | None
    """None where its record does not tell."""
    player: str | None
    """Who played it, where that is known."""
    is_same_group: bool
    """Whether it has the same seed: the same tools, state and failures on purpose."""


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What the first line of a record says."""

    seed: int | None = None
    labels: dict[str, str] = field(default_factory=dict[str, str])


async def neighbours_of(
    record: Record, parts: PageParts, files: TrajectoryFiles
) -> Sequence[Neighbour]:
    """Find episodes of the same question, those of the same seed first, each part with the newest first.

    Raises:
        RegistryError: The index cannot be read now.
    """
    opened = record.opened
    near = await parts.index.near(source_of(record), opened.at, limit=_LIMIT)
    others = [each for each in near if each.id != opened.id]
    begun = await anyio.to_thread.run_sync(_beginnings, parts.records, [o.id for o in others])
    players = await files.players(o.id for o in others)
    found = [
        Neighbour(
            id=each.id,
            indexed=each,
            seed=beginning.seed,
            player=players[each.id].shown if each.id in players else player_in(beginning.labels),
            is_same_group=beginning.seed == opened.seed,
        )
        for each, beginning in zip(others, begun, strict=True)
    ]
    return sorted(found, key=lambda each: not each.is_same_group)[:_SHOWN]


def player_in(labels: dict[str, str]) -> str | None:
    """Name who played an episode without a trajectory, where its labels tell."""
    return "by hand" if labels.get("played") == "by hand" else None


def _beginnings(folder: Path, ids: Sequence[str]) -> list[_Beginning]:
    return [_beginning(record_path(folder, EpisodeId(id_))) for id_ in ids]


def _beginning(path: Path) -> _Beginning:
    """Read the first line of a record; whoever reads the record says what is wrong with it."""
    try:
        with path.open("rb") as file:
            line = file.readline(_FIRST_LINE_BYTES)
        event: object = orjson.loads(line)
    except (OSError, ValueError):
        return _Beginning()
    if not isinstance(event, dict):
        return _Beginning()
    opened = cast("dict[str, object]", event)
    seed, labels = opened.get("seed"), opened.get("labels")
    return _Beginning(
        seed if isinstance(seed, int) else None,
        cast("dict[str, str]", labels) if isinstance(labels, dict) else {},
    )
