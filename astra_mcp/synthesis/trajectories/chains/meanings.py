"""Values that mean the same to every server, such as a place, a share's symbol or the address of a page.

They lie in ``meanings.toml``. An id means something to its own server alone, so it is none of them.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from astra_mcp.synthesis.trajectories.chains.deeds import Deed, known_noun
from astra_mcp.synthesis.trajectories.chains.fields import (
    Evidence,
    Need,
    ToolFields,
)

__all__ = ["Given", "SharedMeaning", "given_by", "shared_meanings", "taken_as"]

_GIVING: Final = frozenset((Deed.LISTS, Deed.SHOWS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMeaning:
    """A kind of value, and how documents speak of it; what each member asks for stands in the file."""

    name: str
    field: str
    arguments: frozenset[str]
    fields: frozenset[str]
    nouns: frozenset[str]
    made_by: frozenset[str]
    about: frozenset[str]
    given_about: frozenset[str]
    given_unless: frozenset[str]
    taken_about: frozenset[str]
    taken_unless: frozenset[str]
    verbs: frozenset[str]
    called: frozenset[str]
    unless: frozenset[str]
    is_once: bool
    """One step of a chain takes it: all that do, do the same."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value of a meaning in a result."""

    meaning: SharedMeaning
    path: str
    evidence: Evidence


@cache
def shared_meanings() -> tuple[SharedMeaning, ...]:
    """All meanings, in the order of the file."""
    text = files("astra_mcp.synthesis.trajectories.chains").joinpath("meanings.toml")
    rows: list[dict[str, Any]] = tomllib.loads(text.read_text("utf-8"))["meanings"]
    return tuple(
        SharedMeaning(
            name=row["name"],
            field=row["field"],
            is_once=row.get("once", False),
            **{key: frozenset(_names(key, row.get(key, ""))) for key in _LISTS},
        )
        for row in rows
    )


_LISTS: Final = (
    "arguments", "fields", "nouns", "made_by", "about", "given_about", "given_unless", "taken_about",
    "taken_unless", "verbs", "called", "unless",
)  # fmt: skip


def _names(key: str, text: str) -> Iterator[str]:
    """The names of a list; those of things and fields also as all documents are read."""
    for name in text.split():
        yield name
        if key in ("nouns", "fields"):
            yield known_noun(name)


_NUMBERS: Final = frozenset(("number", "integer"))


@cache
def _by(key: Literal["arguments", "fields", "nouns"]) -> Mapping[str, Sequence[SharedMeaning]]:
    """The meanings that each name of a list belongs to."""
    found: dict[str, list[SharedMeaning]] = {}
    for meaning in shared_meanings():
        names: frozenset[str] = getattr(meaning, key)
        for name in sorted(names):
            found.setdefault(name, []).append(meaning)
    return found


def taken_as(tool: ToolFields, need: Need) -> SharedMeaning | None:
    """The meaning of an argument; None where it has none that all servers share."""
    if need.types and "string" not in need.types and need.types.isdisjoint(_NUMBERS):
        return None
    return next((m for m in _by("arguments").get(need.key, ()) if _takes(tool, need, m)), None)


def _takes(tool: ToolFields, need: Need, meaning: SharedMeaning) -> bool:
    named = frozenset(tool.name_words)
    spoken = need.words | named
    return (
        _has_one(meaning.about, tool.words)
        and _has_one(meaning.taken_about, spoken | tool.words)
        and _has_one(meaning.verbs, named)
        and meaning.unless.isdisjoint(spoken)
        and meaning.taken_unless.isdisjoint(tool.words)
        and (not meaning.called or named <= meaning.called)
    )


def _has_one(wanted: frozenset[str], words: frozenset[str]) -> bool:
    return not wanted or not wanted.isdisjoint(words)


def given_by(tool: ToolFields) -> Iterator[Given]:
    """The values of shared meanings that a tool gives, each meaning once.

    What it has to be given itself is none of them: its caller knows that already.
    """
    taken = {meaning.name for need in tool.needs if (meaning := taken_as(tool, need))}
    given: dict[str, Given] = {}
    for field in tool.results:
        if field.evidence is not Evidence.IMPLIED:
            whole = f"{field.noun}_{field.attribute}" if field.noun else field.attribute
            for name in (field.attribute, whole):
                for meaning in _by("fields").get(name, ()):
                    given.setdefault(meaning.name, Given(meaning, field.path, field.evidence))
    for meaning in _by("nouns").get(tool.noun, ()):
        if _implies(tool, meaning) and not _is_told(tool, meaning.field):
            implied = Given(meaning, meaning.field, Evidence.IMPLIED)
            given.setdefault(meaning.name, implied)
    for each in given.values():
        is_about = _has_one(each.meaning.about, tool.words)
        if is_about and each.meaning.name not in taken and not _is_denied(tool, each.meaning):
            yield each


def _implies(tool: ToolFields, meaning: SharedMeaning) -> bool:
    makes = tool.deed is Deed.MAKES and not meaning.made_by.isdisjoint(tool.name_words)
    return (makes or tool.deed in _GIVING) and _has_one(meaning.given_about, tool.words)


def _is_told(tool: ToolFields, attribute: str) -> bool:
    """Say whether a tool has to be given what names its thing, such as a package by its name."""
    own = [need for need in tool.needs if need.noun in ("", tool.noun)]
    last = tool.noun.rpartition("_")[2]
    return any(need.attribute and need.attribute in (attribute, last) for need in own)


def _is_denied(tool: ToolFields, meaning: SharedMeaning) -> bool:
    """Say whether a word by the tool, or by what it has to be given, speaks against a meaning."""
    told = frozenset(word for need in tool.needs for word in need.words)
    return not meaning.given_unless.isdisjoint(tool.words | told)
