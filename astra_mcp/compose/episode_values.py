"""What a record says of its episode, in the words of the command line."""

from astra_mcp.reward import Reward, score_episode
from gateway.episodes.record import Record

__all__ = ["reward_of", "source_of"]


def reward_of(record: Record) -> Reward | None:
    """The reward of an episode, or what it would be now; None without a job or after a failure."""
    if record.ended is not None:
        return record.ended.reward
    return score_episode(record.opened.job, record.solved, record.agent_calls)


def source_of(record: Record) -> str:
    """Name what was run: an environment, servers, or an interactive endpoint."""
    source = record.opened.source
    names = source.get("names")
    named = source.get("name") or (", ".join(map(str, names)) if isinstance(names, list) else "")
    match record.opened.endpoint:
        case None:
            return str(named)
        case "*":
            return "all servers (interactive)"
        case endpoint:
            return f"{endpoint} (interactive)"
