"""Many small questions at once: who waits while a transaction runs shares the next one with all who wait.

So that hundreds of items in flight are few transactions, and none of them waits for a clock.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar, cast

import anyio
from sqlalchemy.orm import Session

from astra_mcp.concurrency import completed

__all__ = ["SharedTransactions"]

_AT_ONCE = 256
"""So many questions share a transaction."""

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class _Waiting(Generic[Question, Answer]):
    """A question, and what became of it."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.is_taken = False
        self.answer: Answer | None = None
        self.failure: Exception | None = None


class SharedTransactions(Generic[Question, Answer]):
    """Answers questions, each when the transaction that it was part of is over."""

    def __init__(
        self,
        transact: Callable[[Callable[[Session], Sequence[Answer]]], Awaitable[Sequence[Answer]]],
        answer: Callable[[Session, Sequence[Question]], Sequence[Answer]],
    ) -> None:
        """Ask nothing yet.

        Args:
            transact: Runs a function in a transaction, such as ``Database.write``.
            answer: Answers questions, one for one and in the order in which they came.
        """
        self._transact = transact
        self._answer = answer
        self._waiting: deque[_Waiting[Question, Answer]] = deque()
        self._turn = anyio.Lock(fast_acquire=True)

    async def ask(self, question: Question) -> Answer:
        """Answer a question together with those that wait beside it.

        What a transaction wrote is committed then. A caller that is cancelled meanwhile cannot know.

        Raises:
            RegistryError: The database failed or refused, for all of the transaction.
        """
        mine = _Waiting[Question, Answer](question)
        self._waiting.append(mine)
        try:
            async with self._turn:
                while not mine.is_taken:
                    await completed(self._answer_some())
        finally:
            if not mine.is_taken:
                self._waiting.remove(mine)
        if mine.failure is not None:
            raise mine.failure
        return cast("Answer", mine.answer)

    async def _answer_some(self) -> None:
        """Take the first who wait, and leave each with its answer or the failure; never raises either."""
        some = [self._waiting.popleft() for _ in range(min(len(self._waiting), _AT_ONCE))]
        for waiting in some:
            waiting.is_taken = True
        questions = [waiting.question for waiting in some]
        try:
            answers = await self._transact(lambda session: self._answer(session, questions))
        except Exception as error:  # noqa: BLE001 - raised to each who asked
            for waiting in some:
                waiting.failure = error
        else:
            for waiting, answer in zip(some, answers, strict=True):
                waiting.answer = answer
