"""The live episode: runs an agent's calls over MCP and keeps the conversation.

Calls of one turn run at the same time and carry their place (``seq``), so the gateway takes them in one
order whatever the network does. What the agent says is put down without its thoughts, which stand apart; what
the user says comes from elsewhere.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import orjson

from astra_mcp.call_record import CallFacts, CallRecord
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import EpisodeEndedError
from astra_mcp.llm.thoughts import split_thoughts
from astra_mcp.llm.usage import Meter
from astra_mcp.trajectory import (
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserInfo,
    UserMessage,
)
from astra_mcp.types import JsonObject, JsonValue, ToolResult, ToolSpec
from gateway.api.client import CallRefusedError
from training.rollout.agent import AgentError, Answered, CallRequest
from training.rollout.arguments import parse_arguments
from training.rollout.limits import NO_LIMITS, Allowance, LimitReachedError, PlayLimits
from training.rollout.users.dialogue import Dialogue
from training.rollout.users.user import User

__all__ = ["MAX_NAME_LENGTH", "LiveEpisode", "ToolCaller", "result_text"]

MAX_NAME_LENGTH = 256
"""Characters of a tool's name that are sent, as many as the gateway records; names travel in a header."""
MAX_PARALLEL_CALLS = 16
"""Calls of one turn that are under way at once; the others of the turn wait."""
TIME_IS_OVER = "No answer: the time of the episode was over."
"""In the place of the result of a call that was under way then."""
_INVALID_PARAMS = -32602


class ToolCaller(Protocol):
    """Calls a tool of the episode; ``gateway.api.client.EpisodeClient`` is one."""

    async def call(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
    ) -> ToolResult:
        """Call a tool; with a ``fault`` of the arguments, have it counted and answered by that text."""
        ...


class LiveEpisode:
    """An :class:`~training.rollout.agent.EpisodeView` over a tool caller."""

    def __init__(  # noqa: PLR0913 - all that an episode is made of, by name
        self,
        *,
        environment: str | None,
        question: str | None = None,
        seed: int,
        prompt: str | None,
        tools: tuple[ToolSpec, ...],
        caller: ToolCaller,
        system_prompt: str | None = None,
        user: User | None = None,
        is_solved: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Begin the conversation.

        Args:
            environment: Name, where it is one.
            question: Id of its further question.
            seed: Of the agent.
            prompt: The user's request, which a user who speaks does not repeat: see :meth:`begin`.
            tools: In the order in which they are shown.
            caller: Calls them.
            system_prompt: First message.
            user: Says the request, and goes on speaking after each answer.
            is_solved: Asked after each turn with a result, where the episode ends once it is.
        """
        self.environment = environment
        self.question = question
        self.seed = seed
        self.tools = tools
        self._listed = frozenset(tool.name for tool in tools)
        self._caller = caller
        self._messages: list[Message] = []
        if system_prompt:
            self._messages.append(SystemMessage(content=system_prompt))
        if prompt and user is None:
            self._messages.append(UserMessage(content=prompt))
        self._dialogue = Dialogue(user) if user is not None else None
        self._is_solved = is_solved
        self._allowance = Allowance()
        self._reached: LimitReachedError | None = None
        self._notes: list[CallNote] = []
        self._used_ids: set[str] = set()
        self._call_numbers = count()
        self._seqs = count()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return tuple(self._messages)

    @property
    def notes(self) -> tuple[CallNote, ...]:
        """What is known of each answered call."""
        return tuple(self._notes)

    def annotate(self, calls: Iterable[CallRecord]) -> None:
        """Add what the episode's record says of the calls, once it has been read."""
        recorded = {call.seq: call for call in calls if call.seq is not None}
        self._notes = [
            note.model_copy(update={name: getattr(call, name) for name in CallFacts.model_fields})
            if note.seq is not None and (call := recorded.get(note.seq))
            else note
            for note in self._notes
        ]

    @property
    def user(self) -> UserInfo | None:
        """What is known of the user; None where the prompt is all that one says."""
        return self._dialogue.info(self._messages) if self._dialogue is not None else None

    @property
    def reached(self) -> StopReason | None:
        """The limit that the agent reached."""
        return self._reached and self._reached.stop

    @contextmanager
    def bounded(
        self, limits: PlayLimits = NO_LIMITS, meter: Meter | None = None
    ) -> Generator[None]:
        """Bound what is played in the block, which ends where time is over; a turn under way then is whole.

        Args:
            limits: Of the episode.
            meter: Counts what the agent's model takes.
        """
        self._allowance = Allowance(limits, meter)
        with self._allowance.running():
            yield
            return
        self._reached = LimitReachedError(StopReason.TIME, "the time of the episode is over")

    async def begin(self) -> None:
        """Let a user who speaks say the request.

        Raises:
            UserError: The user says nothing.
        """
        if self._dialogue is not None:
            self._messages.append(UserMessage(content=await self._dialogue.begin()))

    async def hear(self) -> str | None:
        """Hear what the user says to an answer; None where nothing more comes.

        Raises:
            LimitReachedError: The agent, or the user, has no turn left.
            UserError: The user failed.
        """
        if self._dialogue is None:
            return None
        with self._stopping():
            self._allowance.check()
            said = await self._dialogue.next(self._messages, self._allowance.check_user_turns)
        if said is not None:
            self._messages.append(UserMessage(content=said))
        return said

    @contextmanager
    def _stopping(self) -> Generator[None]:
        """Take no further turn once a limit is reached."""
        if self._reached is not None:
            raise self._reached
        try:
            yield
        except LimitReachedError as error:
            self._reached = error
            raise

    def answer(self, content: str | None, *, reasoning: str | None = None) -> None:
        """Say something to the user, and call nothing.

        Raises:
            AgentError: It is no text that can be kept.
            LimitReachedError: The agent was told to stop before.
        """
        with self._stopping():
            _check_texts(content, reasoning)
            self._say(content, reasoning)
            self._allowance.count_turn()

    def _say(
        self, content: str | None, reasoning: str | None, calls: tuple[ToolCall, ...] = ()
    ) -> None:
        said = split_thoughts(content, reasoning)
        self._messages.append(
            AssistantMessage(
                content=said.content, reasoning_content=said.thoughts, tool_calls=calls
            )
        )

    async def take_turn(
        self,
        calls: Sequence[CallRequest],
        *,
        content: str | None = None,
        reasoning: str | None = None,
    ) -> tuple[Answered, ...]:
        """Make the calls of one turn at once; they take effect in the order given.

        Raises:
            AgentError: It holds what is no text that can be kept; nothing was called.
            EpisodeEndedError: The episode takes no more calls; the turn is on the record.
            LimitReachedError: It was the last turn, and is on the record; or it is one too many, and is not.
            TransportError: The gateway cannot be reached or refuses a call for no fault of the agent; the
                turn stays unanswered.
            UntoldTokensError: A limit of tokens cannot be kept.
        """
        with self._stopping():
            said = (t for c in calls for t in (c.name, c.arguments, c.id, c.fault))
            _check_texts(content, reasoning, *said)
            prepared = [self._prepare(call) for call in calls]
            self._say(content, reasoning, tuple(call.message for call in prepared))
            with self._allowance.unhurried():
                outcomes = await map_concurrently(self._run, prepared, limit=MAX_PARALLEL_CALLS)
            for call, outcome in zip(prepared, outcomes, strict=True):
                self._put_down(call, outcome)
            ended = next((o.ended for o in outcomes if o.ended is not None), None)
            if ended is not None:
                raise ended
            self._allowance.count_turn([outcome.is_invalid for outcome in outcomes])
            if any(o.result is not None and not o.result.is_error for o in outcomes):
                await self._end_where_solved()
            self._allowance.check()
        return tuple(Answered(text=o.text, result=o.result) for o in outcomes)

    async def _end_where_solved(self) -> None:
        if self._is_solved is not None and await self._is_solved():
            raise LimitReachedError(StopReason.SOLVED, "all sub-tasks are solved")

    def _put_down(self, call: "_Prepared", outcome: "_Outcome") -> None:
        name, result = call.message.id, outcome.result
        is_error = result is None or result.is_error
        self._messages.append(ToolMessage(tool_call_id=name, content=outcome.text))
        self._notes.append(CallNote(tool_call_id=name, seq=call.seq, is_error=is_error))

    def _prepare(self, call: CallRequest) -> "_Prepared":
        parsed = call.fault or parse_arguments(call.arguments)
        is_fault = isinstance(parsed, str)
        function = FunctionCall(name=call.name, arguments=call.arguments)
        return _Prepared(
            message=ToolCall(id=self._name_call(call), function=function),
            arguments={} if is_fault else parsed,
            fault=parsed if is_fault else None,
            is_unreadable=bool(call.fault),
            # What is malformed takes its place like any other call: it counts, too.
            seq=next(self._seqs),
        )

    async def _run(self, call: "_Prepared") -> "_Outcome":
        name = call.message.function.name[:MAX_NAME_LENGTH]
        result: ToolResult | None = None
        try:
            with self._allowance.bounding():
                result = await self._caller.call(
                    name, call.arguments, call_id=f"call_{call.seq}", seq=call.seq, fault=call.fault
                )
        except CallRefusedError as error:
            # A listed tool is refused for the call's id or place alone: no mistake of the agent.
            if error.code != _INVALID_PARAMS or name in self._listed:
                raise
            text = call.fault if call.is_unreadable and call.fault else error.message
            return _Outcome(text=text, is_invalid=True)
        except EpisodeEndedError as error:
            return _Outcome(text=str(error), ended=error)
        if result is None:
            return _Outcome(text=TIME_IS_OVER)
        return _Outcome(text=result_text(result), result=result, is_invalid=call.fault is not None)

    def _name_call(self, call: CallRequest) -> str:
        """Keep the agent's id, changed where it was used before, so that ids are unique."""
        name = call.id or f"call_{next(self._call_numbers)}"
        while name in self._used_ids:
            name += "_"
        self._used_ids.add(name)
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    message: ToolCall
    arguments: JsonObject
    fault: str | None
    """What is wrong with the arguments that the agent wrote; those above are then empty."""
    is_unreadable: bool
    """Already the agent could not read the call, so that it has no name either."""
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    text: str
    result: ToolResult | None = None
    ended: EpisodeEndedError | None = None
    is_invalid: bool = False
    """It could reach no tool, by a fault of the agent."""


def _check_texts(*texts: str | None) -> None:
    """Refuse what no file can hold.

    Raises:
        AgentError: There is half a surrogate pair.
    """
    for text in texts:
        try:
            (text or "").encode("utf-8")
        except UnicodeEncodeError as error:
            msg = f"the agent said what is no text: {text!r:.60} has half a surrogate pair"
            raise AgentError(f"{msg} at character {error.start}") from None


def result_text(result: ToolResult) -> str:
    """Render a result for a chat message; blocks that are no text are named by their type."""
    parts = [
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type')}]"
        for block in result.content
    ]
    if not parts and result.structured is not None:
        return orjson.dumps(result.structured).decode()
    return "\n".join(parts)
