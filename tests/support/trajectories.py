"""The trajectory of an episode that nobody played."""

from datetime import UTC, datetime
from typing import Any

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.trajectory import AgentInfo, Seeds, StopReason, Trajectory, Versions

__all__ = ["a_trajectory"]


def a_trajectory(**changes: Any) -> Trajectory:
    """A trajectory without messages and reward, with these fields."""
    fields: dict[str, Any] = {
        "episode_id": "e1",
        "created_at": datetime(2026, 1, 5, tzinfo=UTC),
        "source": {"kind": "environment", "name": "some-place"},
        "agent": AgentInfo(name="noop"),
        "seeds": Seeds(root=0, index=0, episode=7),
        "versions": Versions(astra_mcp="1"),
        "tools": (),
        "tools_hash": "ab",
        "messages": (),
        "calls": (),
        "status": EpisodeStatus.CLOSED,
        "stop": StopReason.ANSWER,
        "reward": None,
        **changes,
    }
    return Trajectory(**fields)
