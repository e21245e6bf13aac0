"""Llama 3, its JSON dialect: a turn is words, or one call as a bare JSON object with ``parameters``.

The templates of Llama 3.1 and 3.2 refuse a turn of several calls, and drop words beside a call; so this
dialect has no form for either. Source: those templates, and Meta's card of Llama 3.1.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from training.render.dialects.calls import call_fault, decode_call, decode_value, written_call
from training.render.dialects.turns import ControlTags, ParsedCall, ParsedTurn, RenderError

__all__ = ["Llama"]

_MARK = "<|python_tag|>"
_FORM = '{"name": "TOOL", "parameters": {}}, and nothing else in the turn'
_CALL_LIKE = re.compile(r'\{\s*"(name|parameters)"\s*:')
_MEMBERS = frozenset({"name", "parameters", "arguments"})
_TYPE = frozenset({"type"})
"""What some write beside, which says nothing."""


class Llama:
    """Writes and reads the dialect."""

    name = "llama"
    tags = ControlTags(
        opening=_MARK,
        is_optional=True,
        ends=("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),
        others=("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
    )

    def write(self, content: str, calls: Sequence[ParsedCall]) -> str:
        """Give the words, or the call.

        Raises:
            RenderError: There is more than one call, or words beside it.
        """
        if not calls:
            return content
        if len(calls) > 1:
            raise RenderError(
                f"a turn has {len(calls)} calls, and in the dialect llama it has one: leave the "
                "trajectory out, or render it for a model that calls in parallel"
            )
        if content:
            raise RenderError(
                "a turn has words beside its call, for which the dialect llama has no place: take "
                "them out, or leave the trajectory out"
            )
        return f"{{{written_call(calls[0], 'parameters')}}}"

    def call_id(self, id: str) -> str:
        """Give an id as it is."""
        return id

    def read(self, text: str) -> ParsedTurn:
        """Read words or a call; an object that is no call is an answer in JSON, and so words."""
        bare = text.strip()
        is_marked = bare.startswith(_MARK)
        bare = bare.removeprefix(_MARK).lstrip()
        try:
            value, rest = _decode_first(bare)
        except ValueError as error:
            if is_marked or _CALL_LIKE.match(bare):
                return ParsedTurn(faults=(call_fault(1, error, _FORM),))
            return ParsedTurn(content=text)
        if not is_marked and not _is_call_like(value):
            return ParsedTurn(content=text)
        faults: tuple[str, ...] = ()
        if rest:
            faults = (f"what follows the call was not read. Write a call as {_FORM}",)
        try:
            call = decode_call(_as_parameters(value), "parameters", _TYPE)
        except ValueError as error:
            return ParsedTurn(faults=(call_fault(1, error, _FORM), *faults))
        return ParsedTurn(calls=(call,), faults=faults)


def _decode_first(text: str) -> tuple[object, str]:
    """Read the value at the beginning, and give what follows it.

    Raises:
        ValueError: There is none, or more brackets are closed than were opened.
    """
    value, end = decode_value(text, 0)
    rest = text[end:].strip()
    if rest.startswith(("}", "]")):
        raise ValueError(f"{rest[0]} at character {end + 1} closes nothing")
    return value, rest


def _is_call_like(value: object) -> bool:
    """Whether an object is meant as a call: it has the members of one, or none but some of them."""
    if not isinstance(value, Mapping):
        return False
    members = set(cast("Mapping[str, object]", value))
    is_whole = "name" in members and bool(members & {"parameters", "arguments"})
    return is_whole or ("name" in members and members <= _MEMBERS)


def _as_parameters(value: object) -> object:
    """Take ``arguments``, as other dialects call them, for ``parameters``."""
    if not isinstance(value, Mapping) or "parameters" in value:
        return cast("object", value)
    row = cast("Mapping[str, object]", value)
    return {"parameters" if name == "arguments" else name: part for name, part in row.items()}
