"""What a call asks for, as the kinds of payload read it."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of, words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.wording import Wording
from servers.emulated.offline.finding import Call
from servers.emulated.offline.promises import Promise, said_of

__all__ = ["Asked", "titled"]

_READ: Final = 600
_MAX_TITLE: Final = 120
_SMALL: Final = frozenset(("a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"))


@dataclass(frozen=True)
class Asked:
    """One call, with what answers of its kind need."""

    call: Call
    promise: Promise
    title: str
    """What the server is called."""
    server: frozenset[str]
    """Words of the server's title and description."""
    wording: Wording
    now: int
    """Seconds since 1970."""
    rng: RandomStream
    """Decide what nothing else decides: the same for the same arguments."""
    opened: str | None = None
    """The address that the session opened last."""
    find: Callable[[], JsonObject | None] = lambda: None
    """Looks for the entity that the call names."""
    is_given_out: bool = False
    """The server lists, searches or makes things of the tool's noun."""

    @cached_property
    def thing(self) -> JsonObject | None:
        """The entity that the call names, as it is shown; None where there are no such ones.

        Raises:
            EntityRefusedError: It does not exist.
        """
        return self.find()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The words of the tool's name, in their order."""
        return words_of(self.call.tool.name)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the tool's name."""
        return frozenset(self.names)

    @cached_property
    def server_words(self) -> frozenset[str]:
        """The words of the server's title."""
        return frozenset(words_of(self.title))

    @cached_property
    def said(self) -> str:
        """The beginning of the tool's description, in lower case."""
        return said_of(self.call.tool)[:_READ].casefold()

    @cached_property
    def given(self) -> dict[str, JsonValue]:
        """Arguments by their names in normal form, declared or not; objects are taken apart once."""
        found: dict[str, JsonValue] = {}
        for name, value in self.call.arguments.items():
            inner = _taken_apart(value)
            if isinstance(inner, dict):
                found |= {
                    key_of(key): each for key, each in inner.items() if key_of(key) not in found
                }
            found[key_of(name)] = inner
        return {name: value for name, value in found.items() if value is not None}

    def text(self, *keys: str) -> str | None:
        """The first argument of these names that is a text or a number, or a list of such ones."""
        for key in keys:
            value = self.given.get(key)
            if isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, str) and value.strip():
                return value.strip()
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
        return None

    def texts(self, *keys: str) -> list[str]:
        """All texts of the first argument of these names: the members of a list, or the lines of a text."""
        for key in keys:
            value = self.given.get(key)
            if isinstance(value, list) and value:
                return [_named(each) for each in value]
            if isinstance(value, str) and value.strip():
                return [part.strip() for part in re.split(r"[\n,;]+", value) if part.strip()]
        return []

    def number(self, *keys: str) -> int | None:
        """The first argument of these names that is a whole number above 0."""
        for key in keys:
            value = self.text(key)
            if value is not None and re.fullmatch(r"\d{1,6}", value) and int(value) > 0:
                return int(value)
        return None

    def has(self, words: Iterable[str]) -> bool:
        """Say whether the tool's name has one of these words."""
        return not self.words.isdisjoint(words)


def _named(value: JsonValue) -> str:
    """What a member of a list is called by."""
    if isinstance(value, dict):
        keyed = {key_of(name): each for name, each in value.items()}
        for key in ("name", "title", "label", "text", "id"):
            if isinstance(keyed.get(key), str | int):
                return str(keyed[key])
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _taken_apart(value: JsonValue) -> JsonValue:
    """JSON that is written as a text, as what it says."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        read = cast("JsonValue", json.loads(value))
    except (ValueError, RecursionError):  # a text that only begins so
        return value
    return read if isinstance(read, dict | list) else value


def titled(text: str) -> str:
    """``solar-power_basics`` as a title: ``Solar Power Basics``; one with capitals stays as it is."""
    words = [word for word in re.split(r"[-_+\s]+", text.strip()[:_MAX_TITLE]) if word]
    if any(word[:1].isupper() for word in words) and " " in text:
        return " ".join(words)
    return " ".join(
        word if at and word in _SMALL else word[:1].upper() + word[1:]
        for at, word in enumerate(words)
    )
