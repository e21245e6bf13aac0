"""Hermes, the dialect of Qwen: each call is a JSON object between ``<tool_call>`` and ``</tool_call>``.

Source: the chat templates of Qwen2.5 and Qwen3, after NousResearch's Hermes function calling.
"""

import re
from collections.abc import Sequence

from training.render.dialects.calls import (
    call_fault,
    decode_call,
    decode_value,
    end_of_space,
    written_call,
)
from training.render.dialects.turns import ControlTags, ParsedCall, ParsedTurn

__all__ = ["Hermes"]

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_TAG = re.compile("</?tool_call>")
_FORM = '<tool_call>\n{"name": "TOOL", "arguments": {}}\n</tool_call>'


class Hermes:
    """Writes and reads the dialect."""

    name = "hermes"
    tags = ControlTags(
        opening=_OPEN,
        closing=_CLOSE,
        ends=("<|im_end|>", "<|endoftext|>"),
        others=("<|im_start|>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
    )

    def write(self, content: str, calls: Sequence[ParsedCall]) -> str:
        """Put the words first, then each call in lines of its own."""
        blocks = (f"{_OPEN}\n{{{written_call(call, 'arguments')}}}\n{_CLOSE}" for call in calls)
        return "\n".join((content, *blocks) if content else blocks)

    def call_id(self, id: str) -> str:
        """Give an id as it is."""
        return id

    def read(self, text: str) -> ParsedTurn:
        """Read words and calls; a tag within a string of a call's JSON belongs to the string."""
        return _Reading(text).turn()


class _Reading:
    """One pass over a turn, from tag to tag."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[str] = []
        self._calls: list[ParsedCall] = []
        self._faults: list[str] = []

    def turn(self) -> ParsedTurn:
        at = 0
        while (tag := _TAG.search(self._text, at)) is not None:
            self._take_words(self._text[at : tag.start()], is_before=tag[0] == _OPEN)
            at = self._read_call(tag.end()) if tag[0] == _OPEN else self._refuse_close(tag.end())
        self._take_words(self._text[at:], is_before=False)
        return ParsedTurn(
            content="\n".join(self._words), calls=tuple(self._calls), faults=tuple(self._faults)
        )

    def _take_words(self, words: str, *, is_before: bool) -> None:
        """Keep words, but for the line break that leads to a call, and for blanks around calls."""
        if self._words or self._calls or self._faults:
            words = words.strip()
        elif is_before:
            words = words.removesuffix("\n")
        if words:
            self._words.append(words)

    def _read_call(self, at: int) -> int:
        """Read what follows an opening tag; says where reading goes on."""
        begin = end_of_space(self._text, at)
        try:
            value, end = decode_value(self._text, begin)
        except ValueError as error:
            return self._skip(at, error)
        after = end_of_space(self._text, end)
        if not self._text.startswith(_CLOSE, after):
            return self._skip(end, f"{_CLOSE} does not follow its JSON")
        try:
            self._calls.append(decode_call(value, "arguments"))
        except ValueError as error:
            self._fault(error)
        return after + len(_CLOSE)

    def _skip(self, at: int, reason: object) -> int:
        """Leave out what cannot be read: to its closing tag, or to the next call."""
        tag = _TAG.search(self._text, at)
        if tag is None or tag[0] == _OPEN:
            reason = f"{reason}; it is not closed by {_CLOSE}"
        self._fault(reason)
        if tag is None:
            return len(self._text)
        return tag.end() if tag[0] == _CLOSE else tag.start()

    def _refuse_close(self, at: int) -> int:
        self._fault(f"{_CLOSE} closes no call")
        return at

    def _fault(self, reason: object) -> None:
        number = len(self._calls) + len(self._faults) + 1
        self._faults.append(call_fault(number, reason, _FORM))
