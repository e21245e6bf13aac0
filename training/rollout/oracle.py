"""The agent that knows the gold calls: its reward must be 1.

The only agent that may ask the control plane; it is handed the question as a function.
"""

from collections.abc import Awaitable, Callable, Sequence

from astra_mcp.trajectory import AgentInfo, StopReason
from gateway.api.seams import GoldCall
from training.rollout.agent import AgentError, CallRequest, EpisodeView

__all__ = ["OracleAgent"]


class OracleAgent:
    """Plays the gold calls in their order, one a turn."""

    info = AgentInfo(name="oracle")

    def __init__(self, gold: Callable[[str], Awaitable[Sequence[GoldCall]]]) -> None:
        """Take the way to the gold.

        Args:
            gold: Answers an environment's gold calls, such as ``GatewayClient.gold``.
        """
        self._gold = gold

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make every gold call once.

        Raises:
            AgentError: The source has no gold calls.
        """
        steps = await self._gold(episode.environment) if episode.environment else ()
        if not steps:
            what = episode.environment or "an episode without an environment"
            msg = f"{what} has no gold calls (it is unverified): an oracle cannot play it"
            raise AgentError(msg)
        for step in steps:
            await episode.take_turn([CallRequest.of(step.tool, step.arguments)])
        episode.answer("Every gold call has been made.")
        return StopReason.ANSWER
