"""Mistral, versions 3 and 7: words, then ``[TOOL_CALLS]`` and one JSON list of calls with ids.

Ids have nine letters and digits; another one becomes nine that are derived from it, the same everywhere.
Source: ``mistral_common``, instruct tokenizers V3 and V7.
"""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from string import ascii_letters, digits
from typing import cast

from training.render.dialects.calls import (
    call_fault,
    decode_call,
    decode_value,
    end_of_space,
    written_call,
)
from training.render.dialects.turns import ControlTags, ParsedCall, ParsedTurn

__all__ = ["Mistral"]

_MARK = "[TOOL_CALLS]"
_ID = re.compile("[a-zA-Z0-9]{9}")
_SIGNS = ascii_letters + digits
_FORM = '[TOOL_CALLS][{"name": "TOOL", "arguments": {}, "id": "abcdefghi"}]'
_WITH_ID = frozenset({"id"})


class Mistral:
    """Writes and reads the dialect."""

    tags = ControlTags(
        opening=_MARK,
        ends=("</s>",),
        others=(
            *("<s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
            *("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
        ),
    )

    def __init__(self, name: str, gap: str) -> None:
        """Choose a spelling.

        Args:
            name: For people.
            gap: What stands between the mark and the list: a blank with the SentencePiece tokenizers.
        """
        self.name = name
        self._gap = gap

    def write(self, content: str, calls: Sequence[ParsedCall]) -> str:
        """Put the words first, then the list of calls."""
        if not calls:
            return content
        return f"{content}{_MARK}{self._gap}[{', '.join(map(self._written, calls))}]"

    def _written(self, call: ParsedCall) -> str:
        id = json.dumps(self.call_id(call.id or ""))
        return f'{{{written_call(call, "arguments")}, "id": {id}}}'

    def call_id(self, id: str) -> str:
        """Give an id of nine letters and digits: this one, or one that is derived from it."""
        if _ID.fullmatch(id):
            return id
        number = int.from_bytes(sha256(id.encode("utf-8", "surrogatepass")).digest())
        return "".join(_SIGNS[number // len(_SIGNS) ** place % len(_SIGNS)] for place in range(9))

    def read(self, text: str) -> ParsedTurn:
        """Read words and calls; a mark within a string of a call's JSON belongs to the string."""
        words, calls, faults = list[str](), list[ParsedCall](), list[str]()
        at = 0
        while (mark := text.find(_MARK, at)) >= 0:
            words.append(text[at:mark] if at == 0 else text[at:mark].strip())
            try:
                value, at = decode_value(text, end_of_space(text, mark + len(_MARK)))
                _take(value, calls, faults)
            except ValueError as error:
                faults.append(call_fault(len(calls) + len(faults) + 1, error, _FORM))
                following = text.find(_MARK, mark + len(_MARK))
                at = len(text) if following < 0 else following
        words.append(text[at:] if at == 0 else text[at:].strip())
        content = "\n".join(filter(None, words))
        return ParsedTurn(content=content, calls=tuple(calls), faults=tuple(faults))


def _take(value: object, calls: list[ParsedCall], faults: list[str]) -> None:
    """Take the calls of a list.

    Raises:
        ValueError: It is no list of calls at all.
    """
    if not isinstance(value, list) or not value:
        raise ValueError(f"{_MARK} has to be followed by a list of calls")
    for row in cast("list[object]", value):
        try:
            calls.append(decode_call(row, "arguments", _WITH_ID))
        except ValueError as error:
            faults.append(call_fault(len(calls) + len(faults) + 1, error, _FORM))
