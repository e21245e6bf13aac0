"""The agent that answers at once and calls nothing: its reward must be 0."""

from astra_mcp.trajectory import AgentInfo, StopReason
from training.rollout.agent import EpisodeView

__all__ = ["NoopAgent"]


class NoopAgent:
    """Calls no tool."""

    info = AgentInfo(name="noop")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Answer without an answer."""
        episode.answer("I did not look anything up.")
        return StopReason.ANSWER
