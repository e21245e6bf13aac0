"""What the documents of a server say of its entities; learned once for a version, noun by noun as asked.

A noun's fields are those that tools take to make, change or filter its entities, and those that output
schemas show; where there are few, the ones that such things usually have.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from astra_mcp.types import ToolSpec
from astra_mcp.values.nouns import plural
from astra_mcp.values.schema_values import ValueMaker
from astra_mcp.values.vocabulary import usual_fields
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.offline.fields import (
    Field,
    attribute_of,
    input_fields,
    item_schema,
    output_fields,
)
from servers.emulated.parameters import Role, key_suffix
from servers.emulated.verbs import ToolReading, Verb, read_tools

__all__ = ["CREATED", "UPDATED", "Learned", "Noun", "spoken_in"]

CREATED: Final = frozenset(
    ("created_at", "created", "created_time", "create_time", "creation_date", "date_created")
)
UPDATED: Final = frozenset(
    ("updated_at", "updated", "modified", "modified_at", "last_modified", "updated_time")
)
_OPAQUE: Final = frozenset(("id", "key", "hash"))
"""Attributes that nobody can know who was not told."""
_DISPLAYS: Final = (
    "name", "title", "subject", "display_name", "full_name", "label", "headline", "summary", "text",
    "content", "description", "message", "body", "question", "command", "username",
)  # fmt: skip
_FILED_UNDER: Final = frozenset(("key", "name", "title", "slug", "label", "topic"))
_FILING: Final = frozenset(("save", "store", "put", "remember"))
_FEW: Final = 3
_MAX_FIELDS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    """What the entities of one noun are like."""

    name: str
    shown: str
    """What many of them are called in answers."""
    identity: Field
    fields: tuple[Field, ...]
    display: str
    """The name of the field that people call an entity by."""
    is_given_out: bool
    """The server lists, searches or makes them."""
    is_kept: bool
    """The server makes or deletes them: no others exist than those that it knows."""
    address: frozenset[str]
    """The properties, in normal form, that all tools take that tell, set or take away one."""
    is_filed: bool = False
    """Callers store them under names of their own: no others exist than those."""
    related: Mapping[str, str] = field(default_factory=dict[str, str])
    """Fields, in normal form, that name an entity of another noun which the server gives out."""

    def is_fact(self, reading: ToolReading) -> bool:
        """Say whether a tool tells, sets or takes away what has no identity of its own.

        It is known by all that is asked, such as the price of a share on a day.
        """
        is_named = reading.id_parameter is not None
        is_composed = self.identity.key != "id" and len(self.address) > 1
        return not self.is_given_out and (is_composed or not is_named)

    def is_strict(self, attribute: str) -> bool:
        """Say whether an entity must have been there before to be found by an attribute."""
        if self.is_filed and attribute == self.identity.key:
            return True
        return self.is_given_out and (self.is_kept or attribute in _OPAQUE)

    def name_of(self, key: str, otherwise: str) -> str:
        """The name under which entities show a member; the caller's own where they do not know it."""
        if key == self.identity.key:
            return self.identity.name
        return next((each.name for each in self.fields if each.key == key), otherwise)


class Learned:
    """Everything that sessions of one version share."""

    def __init__(self, document: EmulatedDocument) -> None:
        """Read nothing yet."""
        self.document = document
        self._nouns: dict[str, Noun] = {}
        self._outputs: dict[str, ValueMaker] = {}

    @cached_property
    def readings(self) -> Mapping[str, ToolReading]:
        """What each tool is taken for, by its name."""
        return read_tools(self.document.tools)

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:
        """By their names."""
        return {tool.name: tool for tool in self.document.tools}

    @cached_property
    def language(self) -> str | None:
        """Of the server's answers."""
        return spoken_in(self.document)

    @cached_property
    def is_camel(self) -> bool:
        """The server joins words as in ``dueDate``."""
        names = [p.name for reading in self.readings.values() for p in reading.parameters]
        camel = sum(re.match(r"[a-z]+\d*[A-Z]", name) is not None for name in names)
        return camel > sum("_" in name for name in names)

    def named(self, key: str) -> str:
        """Write a name in normal form as the server writes its own."""
        if not self.is_camel:
            return key
        first, *others = key.split("_")
        return first + "".join(word.capitalize() for word in others)

    def noun(self, name: str) -> Noun:
        """What is known of a noun."""
        if name not in self._nouns:
            self._nouns[name] = self._learn(name)
        return self._nouns[name]

    def output(self, tool: ToolSpec) -> ValueMaker | None:
        """Makes what a tool with an output schema answers."""
        if tool.output_schema is None:
            return None
        if tool.name not in self._outputs:
            self._outputs[tool.name] = ValueMaker(tool.output_schema)
        return self._outputs[tool.name]

    def about(self, noun: str) -> Iterator[tuple[ToolSpec, ToolReading]]:
        """The tools of a noun."""
        for name, reading in self.readings.items():
            if reading.noun == noun or (reading.noun is None and noun == "item"):
                yield self.tools[name], reading

    def _learn(self, name: str) -> Noun:
        about = list(self.about(name))
        verbs = {reading.verb for _, reading in about}
        identity = self._identity(name, about)
        fields = self._fields(name, identity, about)
        readings = [reading for _, reading in about]
        is_many = any(r.is_many for r in readings) or Verb.CREATE in verbs or Verb.DELETE in verbs
        return Noun(
            name=name,
            shown=self.named(plural(name)) if is_many else "results",
            identity=identity,
            fields=fields,
            display=_display([identity, *fields]),
            is_given_out=not verbs.isdisjoint((Verb.LIST, Verb.SEARCH, Verb.CREATE)),
            is_kept=not verbs.isdisjoint((Verb.CREATE, Verb.DELETE)),
            address=_address(readings),
            is_filed=identity.key in _FILED_UNDER and any(_files(r) for r in readings),
            related={f.key: other for f in fields if (other := self._related(f.key, name))},
        )

    def _related(self, key: str, noun: str) -> str | None:
        """The noun that a field such as ``customer_id`` names an entity of, if the server gives it out."""
        of, how = key_suffix(key)
        if how not in _OPAQUE or key.endswith("s"):
            return None
        words = of.split("_")
        tails = ("_".join(words[at:]) for at in range(len(words)))
        return next((tail for tail in tails if tail in self._given_out and tail != noun), None)

    @cached_property
    def _given_out(self) -> frozenset[str]:
        return frozenset(
            reading.noun
            for reading in self.readings.values()
            if reading.noun and reading.verb in (Verb.LIST, Verb.SEARCH, Verb.CREATE)
        )

    def _identity(self, noun: str, about: Sequence[tuple[ToolSpec, ToolReading]]) -> Field:
        """The field that the tools name entities by; ``id`` where they do not agree on another one."""
        asked = [
            (attribute_of(p.key, noun), p, tool)
            for tool, reading in about
            for p in reading.parameters
            if p.name == reading.id_parameter and reading.verb is not Verb.OTHER
        ]
        votes = Counter(attribute for attribute, _, _ in asked)
        chosen = max(votes, key=lambda name: (name == "id", votes[name]), default="id")
        for attribute, parameter, tool in asked:
            if attribute == chosen:
                schema = item_schema(parameter.schema, tool.input_schema)
                name = "id" if chosen == "id" else self.named(chosen)
                return Field(name=name, key=chosen, schema=schema, root=tool.input_schema)
        keys = ("id", f"{noun}_id")
        shown = (field for tool, _ in about for field in output_fields(tool, noun))
        otherwise = Field(name="id", key="id", schema={"type": "string"}, root={})
        found = next((field for field in shown if field.key in keys), otherwise)
        return replace(found, name="id", key="id")

    def _fields(
        self, noun: str, identity: Field, about: Sequence[tuple[ToolSpec, ToolReading]]
    ) -> tuple[Field, ...]:
        taken = {identity.key, *((f"{noun}_id",) if identity.key == "id" else ())}
        found: dict[str, Field] = {}
        for each in self._documented(noun, about):
            if each.key not in taken and len(found) < _MAX_FIELDS:
                found.setdefault(each.key, each)
        fields = list(found.values())
        if sum(each.reference is None for each in fields) < _FEW:
            usual = [key for key in usual_fields(noun) if key not in taken | found.keys()]
            fields = [*(_plain(self.named(key), key) for key in usual), *fields]
        if not {identity.key, *(each.key for each in fields)} & set(_DISPLAYS):
            fields.insert(0, _plain("name", "name"))
        if CREATED.isdisjoint(found):
            fields.append(_plain(self.named("created_at"), "created_at"))
        return tuple(fields)

    def _documented(
        self, noun: str, about: Sequence[tuple[ToolSpec, ToolReading]]
    ) -> Iterator[Field]:
        for tool, reading in about:
            if reading.verb not in (Verb.OTHER, Verb.DELETE):
                yield from output_fields(tool, noun)
        for verb in (Verb.CREATE, Verb.UPDATE, Verb.LIST, Verb.SEARCH):
            for tool, reading in about:
                if reading.verb is verb:
                    yield from input_fields(tool, reading, noun)


def _files(reading: ToolReading) -> bool:
    return reading.word in _FILING and reading.id_parameter is not None


def _plain(name: str, key: str) -> Field:
    return Field(name=name, key=key, schema={}, root={})


def _address(readings: Sequence[ToolReading]) -> frozenset[str]:
    taken = [
        frozenset(p.key for p in reading.parameters if p.role is Role.FIELD)
        for reading in readings
        if reading.verb in (Verb.GET, Verb.UPDATE, Verb.DELETE)
    ]
    first = taken[0] if taken else frozenset[str]()
    return first.intersection(*taken)


def _display(fields: list[Field]) -> str:
    names = {field.key: field.name for field in reversed(fields)}
    return next((names[key] for key in _DISPLAYS if key in names), fields[0].name)


_HAN = re.compile("[\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z]+")
_KANA = re.compile("[\u3040-\u30ff]")


def spoken_in(document: EmulatedDocument) -> str | None:
    """Find the language of a server's answers: that of most of its tools, where it shows, else of its texts.

    Publishers describe a server in English whose tools and whose contents are Chinese.
    """
    chinese = sum(_is_chinese(tool.description) for tool in document.tools)
    return "zh" if chinese * 2 > len(document.tools) else document.language


def _is_chinese(text: str) -> bool:
    """Tell whether a text is Chinese, and not an English one that names something in Chinese.

    A word of Latin letters counts as one Han character. Kana make a text Japanese.
    """
    if _KANA.search(text):
        return False
    return len(_HAN.findall(text)) > len(_LATIN.findall(text))
