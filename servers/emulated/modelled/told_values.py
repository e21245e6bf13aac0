"""The values that objects of results have, and whether two of them say the same.

Equal is what the matcher of answers takes for equal: case, punctuation, and ways to write numbers and days.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from astra_mcp.answers import tokenize
from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of

__all__ = [
    "Leaf",
    "Leaves",
    "are_same",
    "is_counter",
    "is_moving",
    "is_state",
    "is_wording",
    "leaves_of",
]

Scalar: TypeAlias = str | int | float | bool
Leaf: TypeAlias = Scalar | tuple[Scalar, ...]
"""A value without members of its own; lists only of such."""
Leaves: TypeAlias = Mapping[str, Leaf]
"""By the normal form of the member's name; that of a member's member after a dot."""

_MAX_TEXT: Final = 2000
"""Characters; what is longer is not held against anything."""
_MAX_LIST: Final = 50


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOVING: Final = _words(
    "at time timestamp updated modified accessed seen age ago elapsed uptime ttl expires expiry now"
    " score relevance rank ranking position index distance similarity snippet highlight highlights"
    " excerpt preview cursor token nonce etag hash checksum signature version revision request trace"
    " temperature humidity progress percent percentage views likes rate eta duration message"
)
"""Words in names of what changes by itself, or differs between two looks at the same."""
_WORDINGS: Final = _words(
    "summary abstract details overview slug url uri link href permalink html html_url path display"
    " display_name full_name label description text content body note notes info type kind object"
)
"""Names of what a service makes of other members, or tells at different lengths."""
_COUNTERS: Final = _words(
    "count counts num number total totals quantity qty stock balance amount points remaining available"
    " size length sum used usage"
)
_STATES: Final = _words(
    "status state stage phase completed complete done closed open opened active enabled disabled archived"
    " published locked paused resolved is has"
)
_TAGS: Final = re.compile(r"<[^<>]{1,200}>")
_PHONE: Final = re.compile(r"\+?[\d\s().-]{7,30}")
_NOT_DIGIT: Final = re.compile(r"\D+")
_ELLIPSES: Final = ("\u2026", "...", "[truncated]")
_MASK: Final = re.compile(r"[*\u2022xX.\-\s]{3,}")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")


def leaves_of(members: JsonObject) -> Leaves:
    """Read what an object says of itself; other things inside of it, and long texts, are left out."""
    found: dict[str, Leaf] = {}
    for name, value in members.items():
        field = key_of(name)
        if isinstance(value, dict):
            inner = {key_of(key): _leaf(part) for key, part in value.items()}
            if not any(key == "id" or key.endswith("_id") for key in inner):
                parts = {f"{field}.{key}": part for key, part in inner.items()}
                found.update({key: part for key, part in parts.items() if part is not None})
        elif (leaf := _leaf(value)) is not None:
            found[field] = leaf
    return found


def _leaf(value: JsonValue) -> Leaf | None:
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, str | int | float)]
        is_short = len(parts) == len(value) <= _MAX_LIST
        return tuple(parts) if is_short and all(map(_is_short, parts)) else None
    return value if isinstance(value, str | int | float) and _is_short(value) else None


def _is_short(value: Scalar) -> bool:
    return not isinstance(value, str) or len(value) <= _MAX_TEXT


def is_moving(field: str) -> bool:
    """True for the name of what changes by itself: nothing follows from its value before."""
    return not _MOVING.isdisjoint(field.replace(".", "_").split("_"))


def is_wording(field: str) -> bool:
    """True for the name of what may be said at other lengths, or follow from other members."""
    return field in _WORDINGS or field.rpartition("_")[2] in _WORDINGS


def is_counter(field: str) -> bool:
    """True for the name of a number that calls add to and take from."""
    return not _COUNTERS.isdisjoint(field.replace(".", "_").split("_"))


def is_state(field: str) -> bool:
    """True for the name of how far a thing has come."""
    return not _STATES.isdisjoint(field.replace(".", "_").split("_"))


def are_same(one: Leaf, other: Leaf) -> bool:
    """Say whether two values may be the same; those of two kinds may be, in two notations."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return _are_same_lists(one, other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one == other if isinstance(one, bool) and isinstance(other, bool) else True
    if isinstance(one, str) and isinstance(other, str):
        return _are_same_texts(one, other)
    if not isinstance(one, str) and not isinstance(other, str):
        return one == other or tokenize(str(one)) == tokenize(str(other))
    text, number = (one, other) if isinstance(one, str) else (other, one)
    numbers = [token for token in tokenize(str(text)) if _NUMBER.fullmatch(token)]
    return len(numbers) != 1 or tokenize(str(number)) == (numbers[0],)


def _are_same_lists(one: Leaf, other: Leaf) -> bool:
    if not (isinstance(one, tuple) and isinstance(other, tuple)):
        return True
    return sorted(map(_normal, one)) == sorted(map(_normal, other))


def _normal(value: Scalar) -> tuple[str, ...]:
    return tokenize(str(value)) or (str(value).strip(),)


def _are_same_texts(one: str, other: str) -> bool:
    if one == other or _normal(one) == _normal(other):
        return True
    if any(_MASK.fullmatch(text) for text in (one, other)) or _are_times(one, other):
        return True
    if _PHONE.fullmatch(one) and _PHONE.fullmatch(other):
        return _NOT_DIGIT.sub("", one) == _NOT_DIGIT.sub("", other)
    if _TAGS.search(one) or _TAGS.search(other):
        return _normal(_TAGS.sub(" ", one)) == _normal(_TAGS.sub(" ", other))
    return _begins(one, other) or _begins(other, one)


def _are_times(one: str, other: str) -> bool:
    """True where either is a day with a time, which zones change, or only one is a day."""
    days = [_normal(text) for text in (one, other)]
    are_days = [_DAY.fullmatch(tokens[0]) is not None for tokens in days]
    return any(are_days) and not (all(are_days) and all(len(tokens) == 1 for tokens in days))


def _begins(part: str, whole: str) -> bool:
    """Say whether a text is the other one, cut and marked so."""
    kept = part.rstrip()
    mark = next((mark for mark in _ELLIPSES if kept.endswith(mark)), None)
    if mark is None or len(kept) - len(mark) < 1:
        return False
    return whole.casefold().startswith(kept.removesuffix(mark).rstrip().casefold())
