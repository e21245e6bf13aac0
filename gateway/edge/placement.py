"""Which worker an episode belongs to: a function of its id alone, so that no table is kept anywhere.

Knows ids and a number of workers; knows neither processes nor addresses.
"""

from hashlib import sha256
from secrets import token_hex

from astra_mcp.call_record import EpisodeId


def owner_of(episode: str, workers: int) -> int:
    """Name the worker that an episode belongs to, from 0; the same in every process and version.

    States of interactive endpoints are the exception: they live on worker 0, whatever their ids say.

    Args:
        episode: Any text; only ids of episodes lead to one.
        workers: How many there are, at least 1.
    """
    if workers == 1:
        return 0
    digest = sha256(episode.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) % workers


def new_episode_id(worker: int, workers: int) -> EpisodeId:
    """Make an unguessable id of an episode that belongs to one of so many workers, counted from 0."""
    while True:
        candidate = EpisodeId(token_hex(16))
        if owner_of(candidate, workers) == worker:
            return candidate
