"""A teacher that errs in one thing per call: what is learnt from it has the right form and is often wrong."""

from collections.abc import Awaitable, Callable, Sequence

from astra_mcp.seeds import generator
from astra_mcp.synthesis.environments.families.entities import closed_vocabulary
from astra_mcp.trajectory import AgentInfo, StopReason, ToolMessage, UserMessage
from astra_mcp.types import JsonObject
from gateway.api.seams import GoldCall
from training.rollout.agent import CallRequest, EpisodeView

__all__ = ["ErringTeacher"]


class ErringTeacher:
    """Makes the gold calls, now and then with another tool, and stops where it knows nothing more."""

    def __init__(
        self,
        gold: Callable[[str, str | None], Awaitable[Sequence[GoldCall]]],
        *,
        wrong: float,
    ) -> None:
        """Take the way to the gold.

        Args:
            gold: Answers the gold calls of an environment's question, such as ``GatewayClient.gold``.
            wrong: Probability of each call to go to another tool, or to another name where no other tool is
                listed.
        """
        self.info = AgentInfo(name="erring-teacher")
        self._gold = gold
        self._wrong = wrong
        self._names = closed_vocabulary("en")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Play one episode; a call whose arguments nobody has told yet cannot be made."""
        if episode.environment is None:
            raise ValueError("the teacher plays environments")
        draw = generator(episode.seed, "erring teacher")
        for step in await self._gold(episode.environment, episode.question):
            if not _is_told(episode, step.arguments):
                break
            others = [tool.name for tool in episode.tools if tool.name != step.tool]
            tool, arguments = step.tool, dict(step.arguments)
            if draw.random() < self._wrong:
                if others:
                    tool = draw.choice(others)
                else:
                    arguments.update(dict.fromkeys(arguments, draw.choice(self._names)))
            await episode.take_turn([CallRequest.of(tool, arguments)])
        episode.answer("Every gold call has been made.")
        return StopReason.ANSWER


def _is_told(episode: EpisodeView, arguments: JsonObject) -> bool:
    """Whether each value stands in the request or in a result."""
    told = [m.content for m in episode.messages if isinstance(m, UserMessage | ToolMessage)]
    return all(any(str(value) in text for text in told) for value in arguments.values())
