"""Agents that think of nothing: what they earn tells what an environment is worth.

One does nothing and must earn 0, one calls every tool once and must solve nothing, and the oracle makes the
gold calls and must earn 1. The oracle alone may ask the control plane; it is handed that as a function.
"""

from collections.abc import Awaitable, Callable, Sequence

from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.values.guesses import guess_arguments
from gateway.api.seams import GoldCall
from training.rollout.agent import AgentError, CallRequest, EpisodeView

__all__ = ["NoopAgent", "OracleAgent", "ProbeAgent"]


class NoopAgent:
    """Calls no tool."""

    info = AgentInfo(name="noop")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Answer without an answer."""
        episode.answer("I did not look anything up.")
        return StopReason.ANSWER


class ProbeAgent:
    """Calls each tool once, in the order of the list, with what is made of its schema without thought.

    No bundle may give its answers to these calls.
    """

    info = AgentInfo(name="probe")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make one call to each tool, one a turn."""
        for tool in episode.tools:
            arguments = guess_arguments(tool.input_schema)
            await episode.take_turn([CallRequest.of(tool.name, arguments)])
        episode.answer("Every tool has been called once.")
        return StopReason.ANSWER


class OracleAgent:
    """Plays the gold calls in their order, one a turn."""

    info = AgentInfo(name="oracle")

    def __init__(self, gold: Callable[[str, str | None], Awaitable[Sequence[GoldCall]]]) -> None:
        """Take the way to the gold.

        Args:
            gold: Answers the gold calls of an environment's question, such as ``GatewayClient.gold``.
        """
        self._gold = gold

    async def play(self, episode: EpisodeView) -> StopReason:
        """Make every gold call once.

        Raises:
            AgentError: The source has no gold calls.
        """
        named = episode.environment
        steps = await self._gold(named, episode.question) if named else ()
        if not steps:
            what = named or "an episode without an environment"
            msg = f"{what} has no gold calls (it is unverified): an oracle cannot play it"
            raise AgentError(msg)
        for step in steps:
            await episode.take_turn([CallRequest.of(step.tool, step.arguments)])
        episode.answer("Every gold call has been made.")
        return StopReason.ANSWER
