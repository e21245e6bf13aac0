"""The renderer: what a model is shown, what it writes, and what follows, as one growing text.

A conversation only ever grows, as the context of a model that samples turn after turn does: nothing that
stood there once is written anew. The template gives prompts and what stands between turns; the turns
themselves are written by the dialect, so that they are what the model would have sampled, blanks and all.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Self

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import AssistantMessage, FunctionCall, Message, ToolCall, ToolMessage
from astra_mcp.types import JsonObject
from training.render.controls import Controls, Sign
from training.render.dialects.calls import normal_arguments
from training.render.dialects.known import find_dialect
from training.render.dialects.turns import Dialect, ParsedCall, ParsedTurn, RenderError
from training.render.rows import RowForm, called_names
from training.render.template import DATE, ChatTemplate
from training.render.thinking import Thinking, ThinkingPolicy, Thoughts

__all__ = ["Rendered", "Renderer", "Segment", "ThinkingPolicy"]

_USER: JsonObject = {"role": "user", "content": "astrauser"}
_MARK = "astramark"
_FIRST_WORD = re.compile(r"\s*\S+")
_PROBE = ParsedCall("astra_probe", '{"text": "é"}', "astra0000")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a conversation's text with one author."""

    text: str
    is_model: bool
    """The model wrote it, or would write it; the end of its turn included."""
    breaks: tuple[int, ...] = ()
    """Places within the text across which no token reaches: data spells a control token there."""

    @property
    def pieces(self) -> list[str]:
        """What is encoded apart: the text between the breaks."""
        edges = (0, *self.breaks, len(self.text))
        return [self.text[a:b] for a, b in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text of a conversation, piece by piece."""

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(segment.text for segment in self.segments)


class Renderer:
    """Renders for one template, dialect and thinking policy; :meth:`of` makes it."""

    def __init__(
        self,
        template: ChatTemplate,
        thinking: Thinking,
        dialect: Dialect,
        ends: Sequence[str],
        controls: Iterable[str] = (),
    ) -> None:
        """Take the parts.

        Args:
            template: Of chats.
            thinking: How it carries the policy out.
            dialect: How turns spell calls.
            ends: What ends a turn, the one that is written first.
            controls: How further control tokens are spelled.
        """
        self._template = template
        self._thinking = thinking
        self.dialect = dialect
        self._ends = tuple(ends)
        self.controls = Controls((*controls, *ends))
        self._controls_of_turns = Controls(self.controls.spellings - set(ends))
        self._form = RowForm(dialect.call_id, with_thoughts=self._keeps_thoughts)

    @classmethod
    def of(
        cls,
        template: str,
        special_tokens: Mapping[str, str],
        dialect: Dialect | None = None,
        *,
        thinking: ThinkingPolicy = ThinkingPolicy.NATIVE_OFF,
        today: date = DATE,
        ends: Sequence[str] = (),
        controls: Iterable[str] = (),
    ) -> Self:
        """Make a renderer, and find out by rendering how the template works.

        Args:
            template: A chat template (Jinja).
            special_tokens: By the names that templates know them by, such as ``bos_token``.
            dialect: How turns spell calls; by default that in which the template writes one.
            thinking: What becomes of thoughts.
            today: What a template is told that asks for the date.
            ends: What ends a turn besides what the template writes and ``eos_token``.
            controls: How control tokens are spelled; those that end a turn are always some.

        Raises:
            ConfigError: The template does not compile, ends no turn, calls tools in no known dialect, or
                cannot do what the policy says.
        """
        compiled = ChatTemplate(template, special_tokens, today=today)
        try:
            how = Thinking.of(compiled, thinking)
            end = _find_end(compiled, how, special_tokens.get("eos_token"))
            found = dialect or _find_dialect(compiled, how)
        except RenderError as error:
            raise ConfigError(f"this is no template of chats: {error}") from None
        known = dict.fromkeys(filter(None, [end, special_tokens.get("eos_token"), *ends]))
        return cls(compiled, how, found, [*known], controls)

    @property
    def thinking(self) -> ThinkingPolicy:
        """The policy of thoughts."""
        return self._thinking.policy

    @property
    def end(self) -> str:
        """What the model ends a turn with."""
        return self._ends[0]

    @property
    def ends(self) -> tuple[str, ...]:
        """Whatever ends a turn, that with which the model ends it first."""
        return self._ends

    @property
    def thoughts(self) -> Thoughts | None:
        """How the template spells thoughts, whatever the policy is; None where it shows none."""
        return self._thinking.thoughts

    @property
    def sampling_only(self) -> str:
        """What ends a prompt at sampling and is not kept; empty but for ``off_sampling_only``."""
        return self._thinking.sampling_only

    def prompt(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> str:
        """Give what the model is shown before it samples its next turn.

        Raises:
            RenderError: A message cannot be rendered.
        """
        return self.shown(messages, tools).text + self.sampling_only

    def shown(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> Rendered:
        """Give the prompt as ``encode`` takes it, without :attr:`sampling_only`, which is not kept.

        Raises:
            RenderError: A message cannot be rendered.
        """
        return Rendered(tuple(self._segments(messages, tools, is_prompt=True)))

    def conversation(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> Rendered:
        """Give the training text: prompt, turn, what follows it, turn, and so on; it only grows.

        Raises:
            RenderError: A message cannot be rendered.
        """
        return Rendered(tuple(self._segments(messages, tools, is_prompt=False)))

    def instances(
        self, messages: Sequence[Message], tools: Sequence[JsonObject], *, per_turn: bool
    ) -> list[Rendered]:
        """Give what is trained of a conversation; the model's part of each is what carries the loss.

        Args:
            messages: The conversation.
            tools: What the model may call.
            per_turn: False for one instance that grows, as the context of a sampler that appends does. True
                for one for each turn, behind what the template makes of all before: that is what a server
                shows that renders every request anew, where the template may drop earlier thoughts.

        Raises:
            RenderError: A message cannot be rendered.
        """
        places = [i for i, m in enumerate(messages) if isinstance(m, AssistantMessage)]
        if not per_turn:
            return [self.conversation(messages, tools)] if places else []
        return [
            Rendered(
                (
                    self._whole(messages[:place], tools, is_prompt=True),
                    self._turn_at(messages, place),
                )
            )
            for place in places
        ]

    def whole(
        self, messages: Sequence[Message], tools: Sequence[JsonObject], *, is_prompt: bool
    ) -> str:
        """Give what the template itself makes of all messages at once, as Transformers does.

        Raises:
            RenderError: The template does not take them.
        """
        return self._render(self._form.rows(messages), tools, is_prompt=is_prompt)

    def turn(self, message: AssistantMessage) -> str:
        """Give what the model writes for a turn, its end included; thoughts are left out where they are off.

        Raises:
            RenderError: The turn would not be read as what the message says.
        """
        return self._turn(message).text

    def _turn(self, message: AssistantMessage) -> Segment:
        self._refuse_ends(message)
        meant = ParsedTurn(
            content=message.content or "",
            reasoning=(message.reasoning_content or None) if self._keeps_thoughts else None,
            calls=tuple(_parsed(call) for call in message.tool_calls),
        )
        text = self._write(meant)
        self._check(text, meant)
        breaks: tuple[int, ...] = ()
        if self._controls_of_turns.found(text):
            sign = Sign(text, astuple(meant))
            marked, breaks = sign.take_out(self._write(self._marked_turn(meant, sign)))
            self._check_marked(marked == text)
        return Segment(text + self.end, is_model=True, breaks=breaks)

    def _write(self, turn: ParsedTurn) -> str:
        """Spell a turn without its end."""
        text = self.dialect.write(turn.content, turn.calls)
        for end in self._ends:
            # Within the JSON of a call, it is spelled by its code.
            text = text.replace(end, f"\\u{ord(end[0]):04x}{end[1:]}")
        if self._keeps_thoughts and self._thinking.thoughts is not None:
            return self._thinking.thoughts.write(turn.reasoning) + text
        return text

    def _marked_turn(self, turn: ParsedTurn, sign: Sign) -> ParsedTurn:
        mark = self._controls_of_turns.mark
        calls = tuple(
            ParsedCall(
                mark(call.name, sign),
                mark(normal_arguments(call.arguments) or call.arguments, sign),
                call.id,
            )
            for call in turn.calls
        )
        return ParsedTurn(mark(turn.content, sign), mark(turn.reasoning, sign), calls)

    def continuation(self, messages: Sequence[Message], new: Sequence[Message]) -> str:
        """Give what is appended to a context behind a sampled turn, up to where the next one begins.

        Args:
            messages: The conversation so far; the last is the sampled turn, whose end is in the context.
            new: What came then: results of its calls, or what the user says.

        Raises:
            RenderError: A message cannot be rendered.
        """
        return self.shown_after(messages, new).text + self.sampling_only

    def shown_after(self, messages: Sequence[Message], new: Sequence[Message]) -> Rendered:
        """Give the continuation as ``encode`` takes it, without :attr:`sampling_only`.

        Raises:
            RenderError: A message cannot be rendered.
        """
        return Rendered((self._between(messages, new, is_prompt=True),))

    def parse(self, text: str) -> ParsedTurn:
        """Read a turn, with or without its end; reads anything, and never raises."""
        text, faults = self._before_end(text)
        thoughts = self._thinking.thoughts
        if thoughts is None:
            turn = self.dialect.read(text)
            return replace(turn, faults=(*faults, *turn.faults))
        is_begun = self._keeps_thoughts and not thoughts.opening
        reasoning, rest, of_thought = thoughts.split(text, is_begun=is_begun)
        turn = self.dialect.read(rest)
        stray = [tag for tag in thoughts.tags() if tag in turn.content]
        content = turn.content
        for tag in stray:
            content = content.replace(tag, " ")
        of_tags = tuple(f"{tag} stands within the words of the turn" for tag in stray)
        faults = (*faults, *of_thought, *of_tags, *turn.faults)
        return ParsedTurn(content, reasoning, turn.calls, faults)

    def _before_end(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Take off the first end of a turn, and what nobody should have sampled behind it."""
        places = [(text.find(end), end) for end in self._ends if end in text]
        if not places:
            return text, ()
        place, end = min(places)
        behind = text[place + len(end) :]
        fault = f"the turn goes on behind its end, {end}; that was not read"
        return text[:place], (fault,) if behind else ()

    @property
    def _keeps_thoughts(self) -> bool:
        return self._thinking.policy is ThinkingPolicy.ON

    def _segments(
        self, messages: Sequence[Message], tools: Sequence[JsonObject], *, is_prompt: bool
    ) -> list[Segment]:
        places = [i for i, m in enumerate(messages) if isinstance(m, AssistantMessage)]
        if not places:
            return [self._whole(messages, tools, is_prompt=is_prompt)]
        segments = [self._whole(messages[: places[0]], tools, is_prompt=True)]
        for place, following in zip(places, [*places[1:], None], strict=True):
            segments.append(self._turn_at(messages, place))
            new = messages[place + 1 : following]
            if following is not None or new or is_prompt:
                goes_on = following is not None or is_prompt
                segments.append(self._between(messages[: place + 1], new, is_prompt=goes_on))
        return segments

    def _render(
        self, rows: Sequence[JsonObject], tools: Sequence[JsonObject] = (), *, is_prompt: bool
    ) -> str:
        variables = self._thinking.variables
        return self._template.render(rows, tools, is_prompt=is_prompt, variables=variables)

    def _whole(
        self, messages: Sequence[Message], tools: Sequence[JsonObject], *, is_prompt: bool
    ) -> Segment:
        rows = self._form.rows(messages)
        text = self._render(rows, tools, is_prompt=is_prompt)
        if not self.controls.found([rows, tools]):
            return Segment(text, is_model=False)
        sign = Sign(text, rows, tools)
        rows, tools = self.controls.mark(rows, sign), self.controls.mark(tools, sign)
        marked, breaks = sign.take_out(self._render(rows, tools, is_prompt=is_prompt))
        self._check_marked(marked == text)
        return Segment(text, is_model=False, breaks=breaks)

    @staticmethod
    def _check_marked(is_same: bool) -> None:
        if not is_same:
            raise RenderError(
                "a control token is spelled in a text, and the chat template looks for it there; "
                "take it out of the text, or leave the conversation out"
            )

    def _turn_at(self, messages: Sequence[Message], place: int) -> Segment:
        message = messages[place]
        if not isinstance(message, AssistantMessage):
            raise RenderError(f"messages.{place}: it is of {message.role}, not of the assistant")
        try:
            return self._turn(message)
        except RenderError as error:
            raise RenderError(f"messages.{place}: {error}") from None

    def _between(
        self, messages: Sequence[Message], new: Sequence[Message], *, is_prompt: bool
    ) -> Segment:
        """Render a short conversation that ends alike, and take what stands behind its turn."""
        last = messages[-1] if messages else None
        if not isinstance(last, AssistantMessage):
            raise RenderError("a continuation follows a turn of the assistant; the last is none")
        if any(isinstance(message, AssistantMessage) for message in new):
            raise RenderError("a continuation holds no turn of the assistant")
        names = called_names([last])
        unknown = [m for m in new if isinstance(m, ToolMessage) and m.tool_call_id not in names]
        if unknown:
            raise RenderError(f"{unknown[0].tool_call_id!r} answers no call of the turn before")
        shown = [self._form.row(m, names) for m in new]
        mark = _free_word([self._form.row(last, names), *shown])
        rows = [_USER, self._form.marked(last, mark), *shown]
        text = self._render(rows, is_prompt=is_prompt)
        if not self.controls.found(rows):
            return Segment(self._behind(text, mark), is_model=False)
        # Marked, an end that a name holds is not taken for that of the turn.
        sign = Sign(text, rows)
        marked = self._render(self.controls.mark(rows, sign), is_prompt=is_prompt)
        behind, breaks = sign.take_out(self._behind(marked, mark))
        self._check_marked(text.endswith(behind))
        return Segment(behind, is_model=False, breaks=breaks)

    def _behind(self, text: str, mark: str) -> str:
        """Give what stands behind the turn that holds the mark."""
        _, found, behind = text.partition(mark)
        _, is_ended, behind = behind.partition(self.end)
        if not found or not is_ended:
            raise RenderError("the chat template does not show the turn before what follows it")
        return behind

    def _refuse_ends(self, message: AssistantMessage) -> None:
        """Refuse a turn that holds an end elsewhere than within the JSON of a call.

        Raises:
            RenderError: It does.
        """
        broken = [
            call.function.arguments
            for call in message.tool_calls
            if normal_arguments(call.function.arguments) is None
        ]
        for end in self._ends:
            if any(end in part for part in (message.content or "", *broken)):
                raise RenderError(f"the turn holds {end} itself, with which it would end there")

    def _check(self, text: str, meant: ParsedTurn) -> None:
        """Make sure that a turn is read as what is meant."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RenderError("the turn holds half a character (a lone surrogate)") from None
        read = self.parse(text)
        normal = [normal_arguments(call.arguments) for call in meant.calls]
        whole = [
            (call.name, text)
            for call, text in zip(meant.calls, normal, strict=True)
            if text is not None
        ]
        got = [(call.name, call.arguments) for call in read.calls]
        is_broken = None in normal
        are_same = {
            "words": read.content == meant.content,
            "thought": read.reasoning == meant.reasoning,
            "calls": got == whole and bool(read.faults) == is_broken,
        }
        for what, is_same in are_same.items():
            if not is_same:
                raise RenderError(
                    f"the {what} of the turn would be read as something else in the dialect "
                    f"{self.dialect.name}: a tag of the dialect or of thoughts stands in it, or arguments "
                    "that are no JSON object hide or forge a call beside them"
                )


def _parsed(call: ToolCall) -> ParsedCall:
    return ParsedCall(call.function.name, call.function.arguments, call.id)


def _free_word(rows: Sequence[JsonObject]) -> str:
    """Give a word that stands in none of the rows."""
    text, word = json.dumps(rows, ensure_ascii=False), _MARK
    while word in text:
        word += "x"
    return word


def _find_end(template: ChatTemplate, thinking: Thinking, eos: str | None) -> str:
    """Find what a template writes behind the words of a turn, without the white space after it."""
    turn: JsonObject = {"role": "assistant", "content": _MARK}
    text = template.render([_USER, turn], is_prompt=False, variables=thinking.variables)
    _, found, tail = text.partition(_MARK)
    end = _FIRST_WORD.match(tail)
    if not found or end is None:
        raise ConfigError("the chat template writes no end behind a turn of the assistant")
    return eos if eos and tail.startswith(eos) else end[0]


def _find_dialect(template: ChatTemplate, thinking: Thinking) -> Dialect:
    call = ToolCall(
        id=_PROBE.id or "",
        function=FunctionCall(name=_PROBE.name, arguments=_PROBE.arguments),
    )
    row = RowForm(str, with_thoughts=False).row(AssistantMessage(tool_calls=(call,)), {})
    text = template.render([_USER, row], is_prompt=False, variables=thinking.variables)
    return find_dialect(text, _PROBE)
