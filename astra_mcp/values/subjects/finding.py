"""What things of a kind are like: real names, usual members, sizes, states and the forms of their ids.

A *subject* is a kind of thing that tools are about, such as shares, flights or pull requests. Each lies in
``words/subjects/`` as data; here it is read, and found by the words that documents use.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import singular
from astra_mcp.values.subjects.plain_words import (
    AMBIGUOUS,
    EVERYDAY,
    HOMONYMS,
    OF_ANY_TRADE,
    PLAIN,
    TOLD_ALONE,
    WEAK,
)
from astra_mcp.values.vocabulary import Numbers

__all__ = [
    "LISTS",
    "Found",
    "Row",
    "Subject",
    "find_subject",
    "is_subject",
    "is_weak",
    "telling_words",
]

Row = Mapping[str, JsonValue]
"""One real thing: its members by their names in normal form."""
LISTS: Final = frozenset(
    ("authors", "tags", "labels", "ingredients", "columns", "amenities", "languages")
)
"""Columns whose cells hold several values, joined by commas."""
_CUTS: Final = frozenset(("by", "for", "of", "in", "from", "with", "to", "on", "at", "and"))
_DOUBTFUL: Final = AMBIGUOUS | HOMONYMS
_IS_NAMED: Final = 5
"""So much must the words of a noun say for it to name a thing."""
_IS_HEAD: Final = 10
_ALIKE: Final = 3
"""A noun that has so many columns of a subject names such things."""
_IS_CONTEXT: Final = 3
_OF_DOMAIN: Final = 2
"""What the domain says: less than is needed where nothing else speaks for a subject."""
_MOST_ALIKE: Final = 3
_IS_PLAIN: Final = 5
"""So much must the words beside a noun say where it is one like ``result``."""
_NO_WORDS: Final = frozenset[str]()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Subject:
    """One kind of thing; there is one object of each."""

    name: str
    known_by: frozenset[str]
    """Arguments of these names, in normal form, say which thing is meant."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    live: frozenset[str]
    """Columns whose numbers differ from session to session."""
    fields: tuple[str, ...]
    """The members that such things usually have."""
    about: tuple[str, ...]
    """Sentences on one of them; ``{name}`` stands for a member."""
    found: tuple[str, ...]
    """What those are called that are found by a query."""
    statuses: tuple[str, ...]
    categories: tuple[str, ...]
    lists: Mapping[str, tuple[str, ...]]
    """Values of members, by their names."""
    numbers: Mapping[str, Numbers]
    formats: Mapping[str, str]
    """Regular expressions of members, by their names."""
    identity: str | None
    """The regular expression of an id."""


@dataclass(frozen=True, slots=True)
class Found:
    """The subject that some words speak of."""

    subject: Subject
    is_thing: bool
    """The noun names such things; else something that has to do with them, or nothing known."""
    fields: tuple[str, ...]
    """What entities of the noun usually have; empty where that is not known."""
    support: int = 0
    """How much else than the noun speaks for the subject."""
    hints: frozenset[str] = _NO_WORDS
    """Names that the documents speak of, in lower case: things that have one are told of first."""


@lru_cache(512)
def find_subject(
    noun: str,
    *,
    language: str | None = None,
    domain: str | None = None,
    near: frozenset[str] = _NO_WORDS,
    around: frozenset[str] = _NO_WORDS,
    members: frozenset[str] = _NO_WORDS,
) -> Found | None:
    """Find what a noun is about.

    A word of a noun names a thing where something else speaks of the same trade: the domain, other words, or
    members that such things have. Alone, an everyday word names a thing of no trade, of which only the
    members are told that any such thing has.

    Args:
        noun: In normal form, such as ``pull_request``; may be empty.
        language: Of the texts.
        domain: One of :class:`astra_mcp.domains.Domain`.
        near: Words of the tools that are about the noun.
        around: Words of the whole server.
        members: What the tools about the noun take and are said to give, in normal form.

    Returns:
        None where nothing speaks for any.
    """
    index = _index(language if language == "zh" else "en")
    own = frozenset(word for each in noun.split("_") for word in (each, singular(each)))
    context = _context(index, domain, near - own, around - own)
    _add_likeness(index, noun, members, context)
    named = _named(index, noun, context)
    scores = {
        name: (named[name].weight if name in named else 0) + context[name]
        for name in {*named, *context}
    }
    if not scores:
        return None
    things = {name for name, each in named.items() if each.is_thing}
    best = max(sorted(scores), key=lambda name: (scores[name], name in things, name in named))
    subject, match = index.subjects[best], named.get(best)
    if match is not None and match.strength >= _IS_NAMED:
        is_like = len({*match.fields} & {*subject.columns}) >= _ALIKE
        is_vague = not context[best] and singular(noun.rpartition("_")[2]) in EVERYDAY
        fields = _plain(match) if is_vague else match.fields
        return Found(subject, match.is_thing or is_like, fields, context[best])
    is_plain = not noun or singular(noun.rpartition("_")[2]) in PLAIN
    if is_plain and context[best] >= _IS_PLAIN:
        return Found(subject, True, subject.fields, context[best])
    is_near = context[best] >= _IS_CONTEXT
    return Found(subject, False, (), context[best]) if is_near else None


def _plain(match: "_Match") -> tuple[str, ...]:
    """The members that such things have whatever trade they are of."""
    return tuple(name for name in match.fields if name in OF_ANY_TRADE)


def is_weak(noun: str) -> bool:
    """Say whether a noun may be about anything, as ``details`` and ``result`` are."""
    return singular(noun.rpartition("_")[2]) in WEAK | PLAIN


def is_subject(noun: str, language: str | None = None) -> bool:
    """Say whether a single word, in the singular, is one that subjects are found by."""
    return noun in _index(language if language == "zh" else "en").by_noun


def telling_words(words: Iterable[str], language: str | None = None) -> frozenset[str]:
    """Those of some words that speak for a subject."""
    by_word = _index(language if language == "zh" else "en").by_word
    return frozenset(word for word in words if word in by_word)


@dataclass(frozen=True, slots=True)
class _Match:
    """How a noun names a subject."""

    strength: int
    is_thing: bool
    fields: tuple[str, ...]
    num_more: int = 0
    """How many other words of the noun name it, too."""

    @property
    def weight(self) -> int:
        """How much it says for the subject; the thing itself more than what has to do with it."""
        return self.strength + self.num_more + self.is_thing


def _named(index: "_Index", noun: str, context: Mapping[str, int]) -> dict[str, _Match]:
    """The subjects that the words of a noun name, each by the word that says most."""
    found: dict[str, _Match] = {}
    for strength, word in _parts(noun):
        entries = index.by_noun.get(word, ())
        is_alone = strength >= _IS_HEAD and word in TOLD_ALONE
        for name, fields in entries:
            is_thing = fields is None
            is_beside = context[name] > _OF_DOMAIN or name in found
            is_said = word in EVERYDAY or word not in _DOUBTFUL or context[name] > 0
            is_enough = (strength >= _IS_HEAD and is_said) or is_beside if is_thing else is_alone
            if is_enough or (fields is not None and context[name]):
                own = index.subjects[name].fields if fields is None else fields
                _keep(found, name, _Match(strength, is_thing, own))
        for name in index.by_word.get(word, ()) if strength >= _IS_HEAD else ():
            if context[name] > 1 and name not in found:
                found[name] = _Match(_IS_NAMED, True, index.subjects[name].fields)
    return found


def _keep(found: dict[str, _Match], name: str, match: _Match) -> None:
    """Keep the stronger of two matches, and of equal ones that of the thing itself."""
    before = found.get(name)
    if before is None:
        found[name] = match
        return
    is_better = (match.strength, match.is_thing) > (before.strength, before.is_thing)
    found[name] = replace(match if is_better else before, num_more=before.num_more + 1)


def _parts(noun: str) -> Iterator[tuple[int, str]]:
    """The words of a noun, with how much each says of what it is."""
    words = noun.split("_") if noun else []
    cut = next((at for at, word in enumerate(words) if at and word in _CUTS), len(words))
    head = words[:cut]
    for start in range(max(len(head) - 3, 0), len(head) - 1):
        yield 12, singular("_".join(head[start:]))
    is_head = True
    for word in reversed(head):
        one = singular(word)
        if one in WEAK:
            yield 2, one
        else:
            yield _IS_HEAD if is_head else 6, one
            is_head = False
    for word in words[cut:]:
        yield 1, singular(word)


def _context(
    index: "_Index", domain: str | None, near: frozenset[str], around: frozenset[str]
) -> Counter[str]:
    """How much the words beside a noun say for each subject."""
    found = Counter(dict.fromkeys(index.by_domain.get(domain or "", ()), _OF_DOMAIN))
    for words, most in ((near, 3), (around, 4)):
        seen: Counter[str] = Counter()
        for word in words:
            seen.update(index.by_word.get(word, ()))
        found.update({name: min(number, most) for name, number in seen.items()})
    return found


def _add_likeness(
    index: "_Index", noun: str, members: frozenset[str], context: Counter[str]
) -> None:
    """Count the members that speak for a subject, where a word does so, too."""
    telling = members - OF_ANY_TRADE
    if not telling:
        return
    named = (name for _, word in _parts(noun) for name, _ in index.by_noun.get(word, ()))
    for name in {*context, *named}:
        alike = len(telling & index.members[name])
        context[name] += min(alike, _MOST_ALIKE)


@dataclass(frozen=True, slots=True)
class _Index:
    subjects: Mapping[str, Subject]
    by_noun: Mapping[str, list[tuple[str, tuple[str, ...] | None]]]
    """Subjects whose things a noun names, and those that it is related to, with the fields that it has."""
    by_word: Mapping[str, list[str]]
    by_domain: Mapping[str, list[str]]
    members: Mapping[str, frozenset[str]]
    """What things of each subject have, and are asked for by."""


@cache
def _index(language: str) -> _Index:
    by_noun: dict[str, list[tuple[str, tuple[str, ...] | None]]] = {}
    by_word: dict[str, list[str]] = {}
    by_domain: dict[str, list[str]] = {}
    sections = _read(language)
    for name, section in sections.items():
        nouns: list[str] = section.get("nouns", "").split()
        for noun in nouns:
            by_noun.setdefault(noun, []).append((name, None))
        for related, fields in section.get("related", ()):
            for noun in related.split():
                by_noun.setdefault(noun, []).append((name, tuple(fields.split())))
        for word in {*section.get("words", "").split(), *nouns}:
            by_word.setdefault(word, []).append(name)
        for domain in section.get("domains", "").split():
            by_domain.setdefault(domain, []).append(name)
    subjects = {
        name: _subject(name, section, sections[section.get("table", name)])
        for name, section in sections.items()
    }
    members = {
        name: frozenset((*each.fields, *each.columns, *each.known_by))
        for name, each in subjects.items()
    }
    return _Index(subjects, by_noun, by_word, by_domain, members)


def _read(language: str) -> dict[str, Mapping[str, Any]]:
    """All sections; what a Chinese one says stands in the place of what the English one does."""
    sections: dict[str, Mapping[str, Any]] = {}
    folder = files("astra_mcp.values").joinpath("words", "subjects")
    for name in sorted(each.name for each in folder.iterdir() if each.name.endswith(".toml")):
        if not name.startswith("zh"):
            sections |= tomllib.loads(folder.joinpath(name).read_text("utf-8"))
    if language == "zh":
        for name, section in tomllib.loads(folder.joinpath("zh.toml").read_text("utf-8")).items():
            sections[name] = {**sections.get(name, {}), **section}
    return sections


def _subject(name: str, section: Mapping[str, Any], table: Mapping[str, Any]) -> Subject:
    marked = tuple(each.strip() for each in table.get("columns", "").split("|") if each.strip())
    columns = tuple(each.rstrip("~") for each in marked)
    lines: list[str] = table.get("rows", "").strip().splitlines()
    return Subject(
        name=name,
        known_by=frozenset(section.get("known_by", "").split()),
        columns=columns,
        rows=tuple(_row(columns, line) for line in lines),
        live=frozenset(each[:-1] for each in marked if each.endswith("~")),
        fields=tuple(section.get("fields", "").split()),
        about=tuple(section.get("about", ())),
        found=tuple(section.get("found", ())),
        statuses=tuple(section.get("statuses", "").split()),
        categories=_values(section.get("categories", "")),
        lists={key: _values(text) for key, text in section.get("lists", {}).items()},
        numbers={key: Numbers(*size) for key, size in section.get("numbers", {}).items()},
        formats=dict(section.get("formats", {})),
        identity=section.get("id"),
    )


def _values(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(", ") if each.strip())


def _row(columns: tuple[str, ...], line: str) -> Row:
    cells = [cell.strip() for cell in line.split("|")]
    return {
        column: [*_values(cell)] if column in LISTS else _cell(cell)
        for column, cell in zip(columns, cells, strict=True)
    }


def _cell(text: str) -> JsonValue:
    if text == "none":
        return None
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text
