"""The user that a model plays: with a goal that the agent is not told, a way to speak, and an own end."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from astra_mcp.errors import ModelError
from astra_mcp.seeds import generator
from astra_mcp.synthesis.asking import Asks, PromptBook
from astra_mcp.synthesis.trajectories.chain import ExecutedCall
from astra_mcp.trajectory import UserMessage
from astra_mcp.types import FrozenModel, JsonObject
from training.rollout.users.secrets import Secrets
from training.rollout.users.user import Goal, Spoken, UserError, UserStop

__all__ = ["CHANGE_SHARE", "SimulatedUser", "SimulatedUsers"]

CHANGE_SHARE: Final = 0.25
"""Of the users who may change their minds, so many do."""
PERSONAS: Final = (
    "A busy person who writes short sentences and gives details only when asked.",
    "A friendly person who explains why things are wanted, and thanks for help.",
    "A careful person who wants to be sure: asks back where an answer is vague.",
    "An expert who uses the words of the trade and expects exact figures.",
    "A person new to all this, who describes things in everyday words.",
    "An impatient person who wants the outcome and no explanations.",
    "An older person who writes in whole, polite sentences.",
    "A young person who writes casually, without capitals or full stops.",
)
_BOOK: Final = PromptBook("training.rollout.users.prompts")
_PROMPT: Final = "user_turn"
_MAX_SPOKEN = 8_000
"""Characters of one message that the user reads; the rest of a longer one is cut out of its middle."""
_MAX_RESULT = 2_000
_TRIES = 2
_SAMPLE_BITS = 31


class UserTurn(FrozenModel):
    """What the model answers."""

    message: str
    is_done: bool
    reason: str = Field(min_length=1)


class SimulatedUsers:
    """Makes users that one model plays."""

    def __init__(self, model: Asks, name: str) -> None:
        """Take the model.

        Args:
            model: Speaks.
            name: Of the model at its endpoint.
        """
        self._model = model
        self._name = name

    def meet(self, goal: Goal, *, seed: int) -> "SimulatedUser":
        """Make a user who wants this; the seed decides on the persona and on a change of mind."""
        return SimulatedUser(self._model, self._name, goal, seed)


class SimulatedUser:
    """A user of one episode; satisfies :class:`~training.rollout.users.user.User`."""

    name = "simulated"

    def __init__(self, model: Asks, model_name: str, goal: Goal, seed: int) -> None:
        self.model = model_name
        self.persona = goal.persona or generator(seed, "persona").choice(PERSONAS)
        self._asked = model
        self._goal = goal
        self._sample = generator(seed, "user").getrandbits(_SAMPLE_BITS)
        changes = generator(seed, "change of mind")
        self._change_at = changes.choice((1, 2)) if changes.random() < CHANGE_SHARE else None
        if not goal.may_change:
            self._change_at = None
        self._known = [_known(call) for call in goal.calls]
        self._secrets = Secrets(goal.calls)

    async def next(self, messages: Sequence[Spoken]) -> str | UserStop:
        """Ask the model what this person says next.

        Raises:
            UserError: The model failed, said nothing, or told what the agent may not know.
        """
        num_said = sum(isinstance(message, UserMessage) for message in messages)
        fault = ""
        for attempt in range(_TRIES):
            turn = await self._ask(messages, num_said, attempt)
            if turn.is_done and num_said:
                return UserStop(reason=turn.reason)
            fault = self._fault(turn, messages)
            if not fault:
                return turn.message.strip()
        raise UserError(f"the user model {self.model!r} {fault}, {_TRIES} times")

    async def _ask(self, messages: Sequence[Spoken], num_said: int, attempt: int) -> UserTurn:
        try:
            return await _BOOK.ask(
                self._asked,
                _PROMPT,
                UserTurn,
                sample=self._sample + attempt,
                goal=self._goal.request,
                persona=self.persona,
                known=self._known,
                is_opening=not num_said,
                changes_mind=num_said == self._change_at,
                conversation=[_spoken(message) for message in messages],
            )
        except ModelError as error:
            raise UserError(str(error)) from error

    def _fault(self, turn: UserTurn, messages: Sequence[Spoken]) -> str:
        if turn.is_done:
            return "ended the conversation before it began"
        if not turn.message.strip():
            return "said nothing, and did not end the conversation"
        heard = (m.content or "" for m in messages if not isinstance(m, UserMessage))
        secret = self._secrets.told_by(turn.message, "\n".join((self._goal.request, *heard)))
        return f"told the agent what only the user may know: {secret}" if secret else ""


def _known(call: ExecutedCall) -> JsonObject:
    """Show a call without its tool: what was asked, and what came of it."""
    return {"with": call.arguments, "came": _cut(call.result, _MAX_RESULT)}


def _spoken(message: Spoken) -> JsonObject:
    speaker = "you" if isinstance(message, UserMessage) else "assistant"
    return {"speaker": speaker, "text": _cut(message.content or "", _MAX_SPOKEN)}


def _cut(text: str, limit: int) -> str:
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} [...] {text[-half:]}"
