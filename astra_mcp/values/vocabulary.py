"""The lists of words that values are made of: names, places and sentences of our own, in two languages.

The lists lie in ``words/``, as does what the fields of tools mean by their names.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

__all__ = [
    "LISTED",
    "WRAPPINGS",
    "Meaning",
    "Numbers",
    "Words",
    "meaning_of",
    "numbers_of",
    "usual_fields",
    "usual_values",
    "words_in",
]

LISTED: Final = ""
"""Where a told object holds the entities of a list, whatever the schema calls them."""
WRAPPINGS: Final = frozenset(
    ("data", "result", "response", "payload", "body", "item", "record", "entity", "object", "value",
     "results", "items", "records", "entries", "objects", "entities", "values", "rows", "hits", "list")
)  # fmt: skip
"""Members under which answers hold the thing itself."""


class Meaning(StrEnum):
    """What the value of a field is, where its schema does not say."""

    TEXT = "text"
    """One of the texts that :mod:`astra_mcp.values.wording` writes."""
    NUMBER = "number"
    """A number of a plausible size."""
    FLAG = "flag"
    """True or false."""
    ID = "id"
    """Names an entity."""
    UNKNOWN = "unknown"
    """The name says nothing."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of which size the numbers of a field are."""

    low: float
    high: float
    decimals: int


@dataclass(frozen=True, slots=True)
class _Fields:
    texts: Mapping[str, str]
    numbers: Mapping[str, Numbers]
    flags: frozenset[str]
    untrue: frozenset[str]
    kinds: Mapping[str, tuple[str, ...]]
    default: tuple[str, ...]
    lists: Mapping[str, tuple[str, ...]]


Words = Mapping[str, Any]
"""Lists of words by their names."""

_LANGUAGES: Final = ("en", "zh")
_DISTINCT: Final = 8192


@cache
def words_in(language: str | None) -> Words:
    """The words of a language; English ones where there are none of it."""
    known = language if language in _LANGUAGES else _LANGUAGES[0]
    return _read(f"{known}.toml")


@lru_cache(_DISTINCT)
def meaning_of(key: str) -> tuple[Meaning, str]:
    """What a field is by its name in normal form, and the text or number that it is then.

    The whole name decides, else its last two words, else the last one.
    """
    fields = _fields()
    words = key.split("_")
    if words[0] in ("is", "has", "can", "was", "should") and len(words) > 1:
        return Meaning.FLAG, "true"
    for start in dict.fromkeys((0, max(len(words) - 2, 0), len(words) - 1)):
        found = _meaning(fields, "_".join(words[start:]))
        if found is not None:
            return found
    return _by_ending(words)


def _meaning(fields: _Fields, key: str) -> tuple[Meaning, str] | None:
    if key in fields.texts:
        return Meaning.TEXT, fields.texts[key]
    if key in fields.numbers:
        return Meaning.NUMBER, key
    if key in fields.flags:
        return Meaning.FLAG, "false" if key in fields.untrue else "true"
    return None


def _by_ending(words: list[str]) -> tuple[Meaning, str]:
    match words[-1]:
        case "at" | "since" | "until" | "before" | "after":
            return Meaning.TEXT, "datetime"
        case "on" if len(words) > 1:
            return Meaning.TEXT, "date"
        case "id" | "uuid" | "guid" | "uid" | "identifier" | "ids":
            return Meaning.ID, "id"
        case _:
            return Meaning.UNKNOWN, ""


def numbers_of(key: str) -> Numbers:
    """Of which size the numbers of a known field are."""
    return _fields().numbers[key]


def usual_values(key: str) -> tuple[str, ...]:
    """The values that a field of a name usually has, whatever it belongs to; empty where there are none."""
    lists, words = _fields().lists, key.split("_")
    for start in dict.fromkeys((0, max(len(words) - 2, 0), len(words) - 1)):
        found = lists.get("_".join(words[start:]))
        if found is not None:
            return found
    return ()


def usual_fields(noun: str) -> tuple[str, ...]:
    """The fields that entities of a noun usually have, by its last word."""
    fields = _fields()
    return fields.kinds.get(noun.rpartition("_")[2], fields.default)


@cache
def _fields() -> _Fields:
    read = _read("fields.toml")
    return _Fields(
        texts={key: meaning for meaning, keys in read["texts"].items() for key in keys.split()},
        numbers={key: Numbers(*size) for key, size in read["numbers"].items()},
        flags=frozenset(read["flags"]["words"].split()),
        untrue=frozenset(read["flags"]["false"].split()),
        kinds={
            noun: tuple(kind["fields"].split())
            for kind in reversed(read["kinds"])
            for noun in kind["nouns"].split()
        },
        default=tuple(read["default"]["fields"].split()),
        lists={key: tuple(values.split(", ")) for key, values in read["lists"].items()},
    )


def _read(name: str) -> dict[str, Any]:
    text = files("astra_mcp.values").joinpath("words", name).read_text("utf-8")
    return tomllib.loads(text)
