"""The arguments that the calls of a chain have to be given, and what their own documents say of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from astra_mcp.synthesis.trajectories.checks.results import (
    listed,
    object_of,
    plain_name,
    words_of,
)
from astra_mcp.types import ToolSpec
from astra_mcp.values.guesses import resolve

__all__ = ["Argument", "is_optional_in_effect", "required_arguments"]

_ISSUED: Final = frozenset({"id", "uuid", "guid"})
_BEARER_WORDS = "access refresh session page next continuation sync upload csrf"
_CREATING_WORDS = "create add register new start init define insert upsert put set"
_TOKENS: Final = frozenset(_BEARER_WORDS.split())
_CREATING: Final = frozenset(_CREATING_WORDS.split())
_SAYS_ID: Final = re.compile(
    r"(?:the |an? )?(?:[\w-]+ ){0,2}(?:id|identifier|uuid|guid)s?\b", re.IGNORECASE
)
_SAYS_ISSUED: Final = re.compile(
    r"\b(?:returned|obtained|received|issued) (?:by|from)\b", re.IGNORECASE
)
_HEDGE: Final = re.compile(
    r"\b(?:e\.?g|for example|such as|examples?|default|optional|if (?:omitted|empty|not)|current(?:ly)?|this"
    r"|like|or|your|any|new|choose|custom)\b",
    re.IGNORECASE,
)
"""Words by which a description leaves it open who gives the value."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that a step requires."""

    step: int
    """From 0."""
    name: str
    schema: Mapping[str, Any]
    """Its references into the tool's schema are followed."""
    tool: ToolSpec

    @property
    def id(self) -> str:
        """Names it in a prompt: the step, from 1, and its own name."""
        return f"{self.step + 1}.{self.name}"

    @property
    def description(self) -> str:
        """What its schema says of it in words."""
        words = self.schema.get("description")
        return words if isinstance(words, str) else ""

    @property
    def options(self) -> tuple[object, ...]:
        """The members of its enumeration; empty where it is none."""
        return listed(self.schema, "enum")

    @property
    def kinds(self) -> frozenset[str]:
        """The types that it may be of; empty where the schema leaves them open."""
        return frozenset(_kinds(self.schema))

    @property
    def names(self) -> frozenset[str]:
        """The plain names under which a result may hold it; a bare ``id`` is of what the tool is about."""
        name = plain_name(self.name)
        if name not in _ISSUED:
            return frozenset({name})
        return frozenset(f"{word}_{name}" for word in words_of(self.tool.name)[1:])

    @property
    def is_issued(self) -> bool:
        """True where, by name and description, only a server can have given the value.

        What the documents hedge (examples, alternatives, what the caller makes up) is not sure to be so.
        """
        words = words_of(self.name)
        is_named = words[-1:] != [] and words[-1] in _ISSUED
        is_token = len(words) > 1 and words[-1] == "token" and words[-2] in _TOKENS
        says = _SAYS_ID.match(self.description) or _SAYS_ISSUED.search(self.description)
        is_issued = is_named or is_token or says is not None or self.schema.get("format") == "uuid"
        return is_issued and not self._is_hedged and not self._is_made_up

    @property
    def _is_hedged(self) -> bool:
        is_foreign = not self.description.isascii()
        named = any(word in self.schema for word in ("enum", "examples", "example"))
        return is_foreign or named or _HEDGE.search(self.description) is not None

    @property
    def _is_made_up(self) -> bool:
        """True of the id of what the tool creates."""
        tool, own = words_of(self.tool.name), words_of(self.name)
        return tool[:1] != [] and tool[0] in _CREATING and (len(own) == 1 or own[-2] == tool[-1])


def required_arguments(step: int, tool: ToolSpec) -> Iterator[Argument]:
    """The arguments without which a tool takes no call, in the order of its document."""
    root = tool.input_schema
    properties = object_of(root.get("properties", {}))
    parts = [root, *map(object_of, listed(root, "allOf"))]
    for name in dict.fromkeys(str(name) for part in parts for name in listed(part, "required")):
        own = object_of(properties.get(name, {}))
        beside = {word: value for word, value in own.items() if word != "$ref"}
        yield Argument(step, name, {**resolve(own, root), **beside}, tool)


def is_optional_in_effect(argument: Argument) -> bool:
    """True where nobody needs to know a value: it has a default, one value alone, or may be null."""
    may_be_null = "null" in argument.kinds or None in argument.options
    has_own = "default" in argument.schema or "const" in argument.schema
    return has_own or may_be_null or len(argument.options) == 1


def _kinds(schema: Mapping[str, Any]) -> Iterator[str]:
    kind = schema.get("type")
    yield from (kind,) if isinstance(kind, str) else map(str, listed(schema, "type"))
    for word in ("anyOf", "oneOf"):
        for branch in listed(schema, word):
            yield from _kinds(object_of(branch))
