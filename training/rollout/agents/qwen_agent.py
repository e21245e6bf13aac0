"""Qwen-Agent's tool-calling loop as an agent; the one module that imports it, with the extra ``rollout``.

Qwen-Agent decides what the model is told and which tools are called. Its model is that of the model layer,
which retries and counts, and its tools are the episode's: a turn is put down when the first of its calls is
made. The loop is synchronous, so it runs in a thread, and comes back to the event loop for each message and
each turn.
Source: ASTRA sec. 2.1.4.
"""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportMissingTypeArgument=false, reportUntypedBaseClass=false, reportIncompatibleMethodOverride=false

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import count
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from astra_mcp.errors import ConfigError
from astra_mcp.llm.chat import Chat, ChatReply
from astra_mcp.llm.thoughts import split_thoughts
from astra_mcp.trajectory import (
    AgentInfo,
    AssistantMessage,
    StopReason,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from astra_mcp.trajectory import Message as OwnMessage
from astra_mcp.types import JsonObject, ToolSpec
from training.rollout.agent import AgentError, Answered, CallRequest, EpisodeView

# Qwen-Agent reads them as it is imported: its own bounds are narrower than those of an episode.
os.environ.setdefault("QWEN_AGENT_MAX_LLM_CALL_PER_RUN", "1000")
try:
    from qwen_agent.agents.fncall_agent import FnCallAgent
    from qwen_agent.llm.function_calling import BaseFnCallModel
    from qwen_agent.llm.schema import ASSISTANT, FUNCTION, SYSTEM, USER, FunctionCall, Message
    from qwen_agent.tools.base import BaseTool
except ImportError as error:
    raise ConfigError(
        f"the agent qwen-agent needs Qwen-Agent ({error}): install astra-mcp[rollout]"
    ) from None

__all__ = ["MAX_EPISODES", "QwenAgent"]

MAX_EPISODES = 256
"""Episodes that are played at once, each in a thread of its own; further ones wait, and their time runs."""
_WITHOUT_LIMIT = -1


class QwenAgent:
    """Lets Qwen-Agent play, by a chat model with function calling."""

    def __init__(self, name: str, chat: Chat) -> None:
        """Name the model.

        Args:
            name: As its endpoint knows it.
            chat: The way to the model.
        """
        self.info = AgentInfo(name="qwen-agent", model=name)
        self._chat = chat
        self._threads: anyio.CapacityLimiter | None = None

    async def play(self, episode: EpisodeView) -> StopReason:
        """Let the loop run once for each message of the user.

        Raises:
            ModelError: The model gave no usable answer.
        """
        self._threads = self._threads or anyio.CapacityLimiter(MAX_EPISODES)
        table = _Table(episode, self._chat)
        while True:
            reply = await self._run(table)
            if reply is None:
                return StopReason.TURNS
            episode.answer(reply.content, reasoning=reply.reasoning_content)
            if reply.finish_reason == "length":
                return StopReason.LENGTH
            if await episode.hear() is None:
                return StopReason.ANSWER

    async def _run(self, table: "_Table") -> ChatReply | None:
        try:
            # Not abandoned: what ends the episode ends the thread's next word with the event loop.
            return await anyio.to_thread.run_sync(table.run, limiter=self._threads)
        except _CancelledError:
            await anyio.lowlevel.checkpoint()
            raise AgentError("the thread of Qwen-Agent was cut off from the event loop") from None


class _Table:
    """Where the loop, the model and the episode meet; used by one thread at a time."""

    def __init__(self, episode: EpisodeView, chat: Chat) -> None:
        self.episode = episode
        self.chat = chat
        self._reply: ChatReply | None = None
        self._ids: list[str] = []
        self._answers: deque[Answered] = deque()
        self._used: set[str] = set()
        self._numbers = count()

    def run(self) -> ChatReply | None:
        """Run the loop on the conversation so far; None where it ended without an answer."""
        loop = _Loop(self)
        messages = [part for message in self.episode.messages for part in _as_qwen(message)]
        for _ in loop.run(messages):
            pass
        reply, self._reply = self._reply, None
        return reply

    def complete(self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> ChatReply:
        """Ask the model, and remember what it says until the loop has made its calls."""
        reply: ChatReply = _in_loop(self.chat.complete, messages, tools)
        self._reply = reply
        self._ids = [self._name_call(call.id) for call in reply.calls]
        return reply

    @property
    def ids(self) -> Sequence[str]:
        """The names of the calls of the last message, each used once in the episode."""
        return self._ids

    def call(self) -> str:
        """Make the next call of the last message; the first one makes all of them at once."""
        reply = self._reply
        if reply is not None:
            self._reply = None
            self._answers.extend(_in_loop(self._take_turn, reply))
        return self._answers.popleft().text

    async def _take_turn(self, reply: ChatReply) -> Sequence[Answered]:
        calls = [
            CallRequest(name=call.name, arguments=call.arguments, id=name)
            for call, name in zip(reply.calls, self._ids, strict=True)
        ]
        return await self.episode.take_turn(
            calls, content=reply.content, reasoning=reply.reasoning_content
        )

    def _name_call(self, name: str) -> str:
        """Keep the model's id, changed where it was used before, as the episode would."""
        name = name or f"call_{next(self._numbers)}"
        while name in self._used:
            name += "_"
        self._used.add(name)
        return name


def _in_loop(function: Any, *arguments: Any) -> Any:
    """Run a function in the event loop, and wait; where that is cancelled, the thread's work ends."""
    try:
        return anyio.from_thread.run(function, *arguments)
    except CancelledError:
        raise _CancelledError from None


class _CancelledError(BaseException):
    """The episode is over; no loop may take it for a failed tool."""


class _Loop(FnCallAgent):
    """Qwen-Agent's loop over the tools of an episode."""

    mem = None
    """Files are of no use here."""

    def __init__(self, table: _Table) -> None:
        tools: list[Any] = [_Tool(spec, table) for spec in table.episode.tools]
        super().__init__(function_list=tools, llm=_Model(table), system_message=None)
        self._table = table

    def _call_tool(self, tool_name: str, tool_args: str | dict = "{}", **kwargs: Any) -> str:
        """Make the call whatever the tool: the episode answers for tools that there are not."""
        tool = self.function_map.get(tool_name)
        return tool.call(tool_args, **kwargs) if tool is not None else self._table.call()


class _Tool(BaseTool):
    """A tool of the episode."""

    def __init__(self, spec: ToolSpec, table: _Table) -> None:
        self.name = spec.name
        super().__init__()
        # Later: it takes parameters of the simplest schemas alone.
        self.description = spec.description
        self.parameters = spec.input_schema
        self._table = table

    def call(self, params: str | dict, **kwargs: Any) -> str:
        """Make the call; what the model wrote is known already."""
        del params, kwargs
        return self._table.call()


class _Model(BaseFnCallModel):
    """The model of the episode's agent, called with functions as its endpoint takes them."""

    def __init__(self, table: _Table) -> None:
        without = {"use_raw_api": True, "max_input_tokens": _WITHOUT_LIMIT, "max_retries": 0}
        super().__init__({"model": "episode", "generate_cfg": without})
        self._table = table

    def _chat_stream(
        self, messages: list[Any], delta_stream: bool, generate_cfg: dict
    ) -> Iterator[list[Any]]:
        del delta_stream
        tools = generate_cfg.get("tools", [])
        reply = self._table.complete(list(_as_openai(messages)), tools)
        said = split_thoughts(reply.content, reply.reasoning_content)
        parts = [
            Message(role=ASSISTANT, content=said.content or "", reasoning_content=said.thoughts)
        ]
        parts += [
            Message(
                role=ASSISTANT,
                content="",
                function_call=FunctionCall(name=call.name, arguments=call.arguments),
                extra={"function_id": name},
            )
            for call, name in zip(reply.calls, self._table.ids, strict=True)
        ]
        yield parts

    def _chat_no_stream(self, messages: list[Any], generate_cfg: dict) -> list[Any]:
        return next(self._chat_stream(messages, False, generate_cfg))


def _as_qwen(message: OwnMessage) -> Iterator[Any]:
    """Give a message of the episode as Qwen-Agent has it: each call is a message."""
    match message:
        case SystemMessage():
            yield Message(role=SYSTEM, content=message.content)
        case UserMessage():
            yield Message(role=USER, content=message.content)
        case AssistantMessage():
            thoughts = message.reasoning_content
            yield Message(role=ASSISTANT, content=message.content or "", reasoning_content=thoughts)
            for call in message.tool_calls:
                asked = FunctionCall(name=call.function.name, arguments=call.function.arguments)
                extra = {"function_id": call.id}
                yield Message(role=ASSISTANT, content="", function_call=asked, extra=extra)
        case ToolMessage():
            extra = {"function_id": message.tool_call_id}
            yield Message(role=FUNCTION, content=message.content, extra=extra)


def _as_openai(messages: Sequence[Any]) -> Iterator[JsonObject]:
    """Give Qwen-Agent's messages as endpoints take them: the calls of a turn are in one message."""
    turn: JsonObject | None = None
    for message in messages:
        text = _text_of(message.content)
        if message.role == ASSISTANT:
            if turn is None:
                turn = {"role": "assistant", "content": None}
            _add_part(turn, text, message)
            continue
        if turn is not None:
            yield turn
            turn = None
        if message.role == FUNCTION:
            yield {"role": "tool", "tool_call_id": message.extra["function_id"], "content": text}
        else:
            yield {"role": message.role, "content": text}
    if turn is not None:
        yield turn


def _add_part(turn: JsonObject, text: str, message: Any) -> None:
    if text:
        turn["content"] = text
    if message.reasoning_content:
        turn["reasoning_content"] = _text_of(message.reasoning_content)
    if message.function_call is not None:
        calls = turn.setdefault("tool_calls", [])
        asked = message.function_call
        function: JsonObject = {"name": asked.name, "arguments": asked.arguments}
        calls.append(  # pyright: ignore[reportAttributeAccessIssue,reportOptionalMemberAccess]
            {"id": message.extra["function_id"], "type": "function", "function": function}
        )


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(item.text or "" for item in content)
