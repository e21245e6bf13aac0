"""The user's side of one episode: what the user hears and says, how that ends, and what it costs."""

from collections.abc import Callable, Sequence

from astra_mcp.llm.usage import Usage, metered
from astra_mcp.trajectory import AssistantMessage, Message, UserEnd, UserInfo, UserMessage
from training.rollout.limits import LimitReachedError
from training.rollout.model_usage import told
from training.rollout.users.user import Spoken, User, UserError, UserStop

__all__ = ["Dialogue"]


class Dialogue:
    """Lets a user speak, and keeps what the trajectory says of that."""

    def __init__(self, user: User) -> None:
        self._user = user
        self._end: UserEnd | None = None
        self._reason: str | None = None
        self._usage = Usage()

    def info(self, messages: Sequence[Message]) -> UserInfo:
        """Say who spoke, and how it ended."""
        return UserInfo(
            name=self._user.name,
            model=self._user.model,
            persona=self._user.persona,
            turns=_num_said(messages),
            end=self._end,
            reason=self._reason,
            usage=told(self._usage) if self._user.model is not None else None,
        )

    async def begin(self) -> str:
        """Let the user say the request.

        Raises:
            UserError: Nothing is said.
        """
        said = await self._listen(())
        if isinstance(said, UserStop):
            raise UserError(f"the user ended the conversation before it began: {said.reason}")
        return said

    async def next(self, messages: Sequence[Message], check: Callable[[int], None]) -> str | None:
        """Let the user say something to an answer; None where there is nothing more to say.

        Args:
            messages: Of the episode.
            check: Is told how often the user has spoken, and refuses a further message.

        Raises:
            LimitReachedError: The user would go on, and may not.
            UserError: The user failed.
        """
        if self._end is not None:
            return None
        said = await self._listen(messages)
        if isinstance(said, UserStop):
            self._end, self._reason = UserEnd.DONE, said.reason
            return None
        try:
            check(_num_said(messages))
        except LimitReachedError:
            self._end = UserEnd.LIMIT
            raise
        return said

    async def _listen(self, messages: Sequence[Message]) -> str | UserStop:
        heard = list(_words_of(messages))
        with metered(alone=True) as meter:
            try:
                return await self._user.next(heard)
            finally:
                self._usage += meter.usage


def _words_of(messages: Sequence[Message]) -> Sequence[Spoken]:
    """Leave what a person hears: no instructions, thoughts, calls and results."""
    heard: list[Spoken] = []
    for message in messages:
        if isinstance(message, UserMessage):
            heard.append(message)
        elif isinstance(message, AssistantMessage) and message.content:
            heard.append(AssistantMessage(content=message.content))
    return heard


def _num_said(messages: Sequence[Message]) -> int:
    return sum(isinstance(message, UserMessage) for message in messages)
