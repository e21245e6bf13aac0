"""The agent that calls each tool once, without thinking.

It sends what :mod:`astra_mcp.values.guesses` makes of a schema, which no bundle may give its answers to.
"""

from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.values.guesses import guess_arguments
from training.rollout.agent import CallRequest, EpisodeView

__all__ = ["ProbeAgent"]


class ProbeAgent:
    """Calls each tool once, in the order of the list."""

    info = AgentInfo(name="probe")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make one call to each tool, one a turn."""
        for tool in episode.tools:
            arguments = guess_arguments(tool.input_schema)
            await episode.take_turn([CallRequest.of(tool.name, arguments)])
        episode.answer("Every tool has been called once.")
        return StopReason.ANSWER
