"""What is known to be right: the gold calls of questions, as turns of the policy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import AssistantMessage, FunctionCall, Message, ToolCall, UserMessage
from astra_mcp.types import JsonObject
from gateway.api.client import GatewayClient
from gateway.api.seams import GoldCall
from training.render import Renderer, Tokenizer, encode
from training.render.renderer import Rendered
from training.rl.core.policy import Sampled
from training.rollout.agent import AgentError
from training.rollout.plan import Source
from training.signals.supervision.questions import QuestionKey

__all__ = ["Gold", "GoldGuide", "Speech", "find_gold"]

Gold = Mapping[QuestionKey, Sequence[GoldCall]]
"""The gold calls of each question, in their order."""


async def find_gold(gateway: GatewayClient, sources: Iterable[Source]) -> Gold:
    """Read the gold calls of all that a run plays.

    Raises:
        ConfigError: Something has none.
        TransportError: The gateway does not tell.
    """
    found: dict[QuestionKey, Sequence[GoldCall]] = {}
    for source in sources:
        key = QuestionKey.of_source(source)
        if key is None:
            raise ConfigError(
                "signals are made of gold calls, and only environments have some: leave other sources out of"
                " [[data]], or take hints from a file"
            )
        if key not in found:
            found[key] = await gateway.gold(*key)
        if not found[key]:
            raise ConfigError(
                f"signals are made of gold calls, and {key} has none (it is unverified): leave it out of"
                " [[data]], or the signals"
            )
    return found


@dataclass(frozen=True, slots=True)
class Speech:
    """How turns become tokens: the text of the one renderer, in the tokens of the policy."""

    renderer: Renderer
    tokenizer: Tokenizer

    def turn(self, message: AssistantMessage) -> Sampled:
        """Give the tokens of a turn, its end included; nobody sampled them, so no log-probability is known.

        Raises:
            RenderError: It cannot be rendered.
        """
        asked = UserMessage(content="")
        segments = self.renderer.conversation([asked, message], []).segments
        ids = encode(Rendered(segments[1:2]), self.tokenizer).ids
        return Sampled(ids, (0.0,) * len(ids), is_ended=True)

    def prompt(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> tuple[int, ...]:
        """Give the tokens that the policy is shown before its next turn.

        Raises:
            RenderError: They cannot be rendered.
        """
        return encode(self.renderer.shown(messages, tools), self.tokenizer).ids


class GoldGuide:
    """Plays the gold calls, one a turn, and a closing word; a :class:`~training.rl.core.policy_agent.Guide`.

    The calls are made in the real episode, and a call that fails there is not made again.
    """

    def __init__(self, calls: Sequence[GoldCall], closing: str, speech: Speech) -> None:
        """Take the calls, and what is said behind them."""
        self._messages = [*map(_asking, calls), AssistantMessage(content=closing)]
        self._speech = speech

    def prompt(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> None:
        """Have turns stand behind the prompt of the episode."""
        del messages, tools

    def turn(self, number: int) -> Sampled:
        """Give a turn.

        Raises:
            AgentError: All has been said.
            RenderError: It cannot be rendered.
        """
        if number >= len(self._messages):
            raise AgentError("the gold calls are made, and the episode goes on")
        return self._speech.turn(self._messages[number])


def _asking(call: GoldCall) -> AssistantMessage:
    asked = FunctionCall(name=call.tool, arguments=orjson.dumps(call.arguments).decode())
    return AssistantMessage(tool_calls=(ToolCall(id="gold", function=asked),))
