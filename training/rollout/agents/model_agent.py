"""The agent behind a chat model: function calling until it calls no further tool and the user is done."""

from astra_mcp.llm.chat import Chat
from astra_mcp.trajectory import AgentInfo, StopReason
from training.rollout.agent import CallRequest, EpisodeView
from training.rollout.settings import MAX_TURNS

__all__ = ["ModelAgent"]


class ModelAgent:
    """Lets a chat model play, one completion a turn."""

    def __init__(self, name: str, chat: Chat, *, max_turns: int = MAX_TURNS) -> None:
        """Name the model.

        Args:
            name: As its endpoint knows it.
            chat: The way to the model.
            max_turns: Messages of the agent after which it stops, where the episode does not stop it before.
        """
        self.info = AgentInfo(name="model", model=name)
        self._chat = chat
        self._max_turns = max_turns

    async def play(self, episode: EpisodeView) -> StopReason:
        """Ask the model for turn after turn, make the calls of each at once, and hear the user after answers.

        Raises:
            ModelError: The model gave no usable answer.
        """
        tools = [tool.as_openai() for tool in episode.tools]
        for _ in range(self._max_turns):
            # Reasoning goes back under the name that it is recorded by: it stands only there where the
            # endpoint sent it, and models that think between calls continue their thought.
            messages = [message.model_dump(mode="json") for message in episode.messages]
            reply = await self._chat.complete(messages, tools)
            if not reply.calls:
                episode.answer(reply.content, reasoning=reply.reasoning_content)
                if reply.finish_reason == "length":
                    return StopReason.LENGTH
                if await episode.hear() is None:
                    return StopReason.ANSWER
                continue
            calls = [CallRequest(name=c.name, arguments=c.arguments, id=c.id) for c in reply.calls]
            await episode.take_turn(calls, content=reply.content, reasoning=reply.reasoning_content)
        return StopReason.TURNS
