"""What the documents of a server say of its entities; learned once for a version, noun by noun as asked.

A noun's fields are those that tools take to make, change or filter its entities, and those that output
schemas show; where there are few, the ones that such things usually have.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, cast

from astra_mcp.types import JsonValue, ToolSpec, canonical_json
from astra_mcp.values.nouns import is_plural, key_of, plural, singular, words_of
from astra_mcp.values.schema_values import ValueMaker
from astra_mcp.values.subjects.finding import (
    Found,
    find_subject,
    is_subject,
    is_weak,
    telling_words,
)
from astra_mcp.values.vocabulary import Meaning, meaning_of, usual_fields
from servers.emulated.arguments import documented
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.offline.fields import (
    PAIRED,
    Field,
    attribute_of,
    input_fields,
    item_schema,
    output_fields,
)
from servers.emulated.offline.promises import Promise, read_promise, said_of
from servers.emulated.parameters import Role, key_suffix
from servers.emulated.verbs import ToolReading, Verb, read_tools

__all__ = [
    "CREATED",
    "OF_NEW",
    "UPDATED",
    "Learned",
    "Noun",
    "lists_too",
    "spoken_in",
    "words_in_text",
]

CREATED: Final = frozenset(
    ("created_at", "created", "created_time", "create_time", "creation_date", "date_created")
)
UPDATED: Final = frozenset(
    ("updated_at", "updated", "modified", "modified_at", "last_modified", "updated_time")
)
_OPAQUE: Final = frozenset(("id", "key", "hash"))
"""Attributes that nobody can know who was not told."""
_PROPER: Final = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)?|[A-Z][\w'-]+")
"""Names as texts write them."""
_NAMED: Final = re.compile(r"[a-z]{3,}([-_ ][a-z]{2,})+|[A-Za-z]+[/:][\w./:-]{3,}", re.IGNORECASE)
"""Such as ``solar-power`` or ``facebook/react``: nothing that a server draws."""
_DISPLAYS: Final = (
    "name", "title", "subject", "display_name", "full_name", "label", "headline", "summary", "text",
    "content", "description", "message", "body", "question", "command", "username",
)  # fmt: skip
_ALSO_DISPLAYS: Final = (
    "city",
    "symbol",
    "word",
    "event",
    "domain",
    "address",
    "path",
    "url",
    "email",
)
_FILED_UNDER: Final = frozenset(("key", "name", "title", "slug", "label", "topic"))
_FILING: Final = frozenset(("save", "store", "put", "remember"))
_FEW: Final = 3
_READ: Final = 1500
_READ_OF_TOOL: Final = 300
_READ_FOR_NOUN: Final = 70
"""So much of a description is read for what a server, or a noun, is about."""
_STATES: Final = ("status", "state")
"""Two words for one member."""
_MAX_FIELDS: Final = 16
_SUPPORTED: Final = 2
"""So much must speak for a subject that only a description names."""
_WEB: Final = "web_search"
"""The domain of servers that search pages, whatever the noun."""
_SURELY: Final = 3
"""More must speak for the subject of things that are asked for as its own are, under another noun."""
_MAX_VARIANTS: Final = 64
"""Of so many calls with arguments of their own it is remembered how a tool is read."""


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
    found: Found | None = None
    """The subject that it belongs to; None where nothing is known of such things."""

    def is_fact(self, reading: ToolReading) -> bool:
        """Say whether a tool tells, sets or takes away what has no identity of its own.

        It is known by all that is asked, such as the price of a share on a day.
        """
        is_named = reading.id_parameter is not None
        is_composed = self.identity.key != "id" and len(self.address) > 1
        return not self.is_given_out and (is_composed or not is_named)

    def is_strict(self, attribute: str, value: JsonValue) -> bool:
        """Say whether an entity must have been there before to be found by a value of an attribute."""
        if self.is_filed and attribute == self.identity.key:
            return True
        if not self.is_given_out or self.is_kept:
            return self.is_given_out
        return attribute in _OPAQUE and not self._is_public(value)

    def _is_public(self, value: JsonValue) -> bool:
        """Say whether a value may be known from elsewhere: a name in words, or an id of the trade."""
        subject = self.found.subject if self.found is not None and self.found.is_thing else None
        if subject is not None:
            forms = (form for key, form in subject.formats.items() if key.endswith("id"))
            if subject.name in _PUBLIC or any(re.fullmatch(f, str(value)) for f in forms):
                return True
        return _NAMED.fullmatch(str(value)) is not None

    def name_of(self, key: str, otherwise: str) -> str:
        """The name under which entities show a member; the caller's own where they do not know it."""
        if key == self.identity.key:
            return self.identity.name
        key = self.key_of(key)
        return next((each.name for each in self.fields if each.key == key), otherwise)

    def key_of(self, key: str) -> str:
        """The key that a member has with this noun: what one tool calls ``status`` others call ``state``."""
        keys = {each.key for each in self.fields}
        if key in keys or key not in _STATES:
            return key
        return next((each for each in _STATES if each in keys), key)


class Learned:
    """Everything that sessions of one version share."""

    def __init__(self, document: EmulatedDocument) -> None:
        """Read nothing yet."""
        tools = tuple(documented(tool) for tool in document.tools)
        self.document = replace(document, tools=tools)
        self._variants: OrderedDict[tuple[str, bytes], ToolReading] = OrderedDict()
        self._nouns: dict[str, Noun] = {}
        self._outputs: dict[str, ValueMaker] = {}
        self._promises: dict[str, Promise] = {}

    @cached_property
    def language(self) -> str | None:
        """Of the answers."""
        return spoken_in(self.document)

    @cached_property
    def around(self) -> frozenset[str]:
        """The words of the server as a whole."""
        document = self.document
        said = f"{document.title} {document.name} {document.description[:_READ]}"
        return telling_words(words_in_text(said), self.language)

    def promise(self, tool: ToolSpec) -> Promise:
        """What a tool is said to give."""
        if tool.name not in self._promises:
            self._promises[tool.name] = read_promise(tool)
        return self._promises[tool.name]

    @cached_property
    def readings(self) -> Mapping[str, ToolReading]:
        """What each tool is taken for, by its name."""
        return read_tools(self.document.tools)

    def reading(self, tool: ToolSpec) -> ToolReading:
        """What a tool is taken for whose schema may have more arguments than its document has."""
        if tool is self.tools[tool.name]:
            return self.readings[tool.name]
        key = (tool.name, canonical_json(tool.input_schema))
        found = self._variants.get(key)
        if found is None:
            tools = [tool if each.name == tool.name else each for each in self.document.tools]
            found = self._variants[key] = read_tools(tools)[tool.name]
        self._variants.move_to_end(key)
        if len(self._variants) > _MAX_VARIANTS:
            self._variants.popitem(last=False)
        return found

    @cached_property
    def tools(self) -> Mapping[str, ToolSpec]:
        """By their names."""
        return {tool.name: tool for tool in self.document.tools}

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
        near = frozenset[str]().union(
            *(words_in_text(f"{tool.name} {said_of(tool)[:_READ_OF_TOOL]}") for tool, _ in about)
        )
        near = telling_words(near, self.language)
        found = self._found(name, near, about)
        if found is not None:
            found = replace(found, hints=self._hints(name, about))
        verbs = {reading.verb for _, reading in about}
        identity = self._identity(name, about)
        fields = self._fields(name, identity, about, found)
        readings = [reading for _, reading in about]
        is_many = any(r.is_many for r in readings) or Verb.CREATE in verbs or Verb.DELETE in verbs
        return Noun(
            name=name,
            shown=self.named(plural(name)) if is_many else "results",
            identity=identity,
            fields=fields,
            display=_called_by(name, [identity, *fields]) or identity.name,
            is_given_out=any(_gives_out(r, name) for r in readings),
            is_kept=not verbs.isdisjoint((Verb.CREATE, Verb.DELETE)),
            address=_address(readings),
            found=found,
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
    def made(self) -> tuple[str, ...]:
        """The nouns whose entities callers make, in the order of the tools."""
        readings = self.readings.values()
        nouns = (reading.noun for reading in readings if reading.verb is Verb.CREATE)
        return tuple(dict.fromkeys(noun for noun in nouns if noun is not None))

    @cached_property
    def _given_out(self) -> frozenset[str]:
        return frozenset(
            reading.noun
            for reading in self.readings.values()
            if reading.noun and reading.verb in (Verb.LIST, Verb.SEARCH, Verb.CREATE)
        )

    def _found(
        self, name: str, near: frozenset[str], about: Sequence[tuple[ToolSpec, ToolReading]]
    ) -> Found | None:
        """The subject of a noun; where the noun says little, that of what its tools say that they give."""
        language, domain = self.language, self.document.domain
        members = frozenset(key for tool, reading in about for key in self._keys(tool, reading))

        def find(noun: str) -> Found | None:
            return find_subject(
                noun,
                language=language,
                domain=domain,
                near=near,
                around=self.around,
                members=members,
            )

        found = find(name)
        if found is not None and found.fields:
            return found
        is_search = any(reading.verb is Verb.SEARCH for _, reading in about)
        is_open = name == "item" or is_weak(name) or is_search
        for tool, _ in about[:_FEW] if is_open else ():
            told = words_of(said_of(tool)[:_READ_FOR_NOUN])[1:]
            known = [each for each in told if is_subject(singular(each), language)]
            for word in sorted(known, key=lambda each: not is_plural(each)):
                better = find(singular(word))
                if better is not None and better.is_thing and better.support >= _SUPPORTED:
                    return better
        if is_search and (name == "item" or is_weak(name) or domain == _WEB):
            return find_subject("web_page", language=language)
        one = (r for _, r in about if r.verb not in (Verb.LIST, Verb.SEARCH) and not r.is_many)
        keys = {p.key for reading in one for p in reading.parameters}
        is_sure = found is not None and (is_open or found.support > _SURELY)
        if is_sure and found is not None and not keys.isdisjoint(found.subject.known_by):
            return replace(found, is_thing=True, fields=found.subject.fields)
        return found

    def _hints(self, noun: str, about: Sequence[tuple[ToolSpec, ToolReading]]) -> frozenset[str]:
        """Names that the tools of a noun speak of, such as ``Bitcoin`` or ``Portugal``."""
        words = {word for tool, _ in about for word in words_of(tool.name)} | {*noun.split("_")}
        said = " . ".join(
            (self.document.title, *(said_of(tool)[:_READ_OF_TOOL] for tool, _ in about))
        )
        return frozenset((*words, *(each.casefold() for each in _PROPER.findall(said))))

    def _keys(self, tool: ToolSpec, reading: ToolReading) -> Iterator[str]:
        """The names of what a tool takes and is said to give, in normal form."""
        yield from (p.key for p in reading.parameters)
        yield from (member.key for member in self.promise(tool).members)

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
        self,
        noun: str,
        identity: Field,
        about: Sequence[tuple[ToolSpec, ToolReading]],
        found: Found | None,
    ) -> tuple[Field, ...]:
        taken = {identity.key, *((f"{noun}_id",) if identity.key == "id" else ())}
        told: dict[str, Field] = {}
        for each in self._told(noun, about):
            if each.key not in taken and len(told) < _MAX_FIELDS:
                told.setdefault(key_of(each.name), each)
        fields = list(told.values())
        taken = {*taken, *told}
        taken |= {"name", "title"} if taken & {"name", "title"} else set()
        places = _places(about)
        if sum(each.reference is None and each.key not in places for each in fields) < _FEW:
            usual = [key for key in self._usual(noun, found) if key not in taken]
            fields = [*(_plain(self.named(key), key) for key in usual), *fields]
        known = {each.key for each in fields} | {identity.key}
        known |= {*_STATES} if not known.isdisjoint(_STATES) else set()
        taken_in = (each for each in self._taken(noun, about) if each.key not in known)
        fields += [*{each.key: each for each in taken_in}.values()][: _MAX_FIELDS - len(fields)]
        is_listed = any(_gives_out(r, noun) for _, r in about)
        is_open = not is_weak(noun) and (is_listed or not self._known(found))
        if is_open and _called_by(noun, [identity, *fields]) is None:
            fields.insert(0, _plain("name", "name"))
        is_kept = any(r.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE) for _, r in about)
        is_dated = is_kept or (found is not None and found.is_thing)
        if is_dated and CREATED.isdisjoint(each.key for each in fields) and _is_dated(found):
            fields.append(_plain(self.named("created_at"), "created_at"))
        return tuple(fields)

    def _known(self, found: Found | None) -> bool:
        return found is not None and bool(found.fields)

    def _usual(self, noun: str, found: Found | None) -> Sequence[str]:
        """What such things usually have."""
        return found.fields if found is not None and found.fields else usual_fields(noun)

    def _told(self, noun: str, about: Sequence[tuple[ToolSpec, ToolReading]]) -> Iterator[Field]:
        """What the tools are said to give, and what they take to make one."""
        showing = [(t, r) for t, r in about if r.verb not in (Verb.OTHER, Verb.DELETE)]
        for tool, _ in showing:
            yield from output_fields(tool, noun)
        for tool, _ in showing:
            for member in self.promise(tool).members:
                yield Field(name=member.name, key=member.key, schema=member.schema, root={})
        for verb in (Verb.CREATE, Verb.UPDATE):
            for tool, reading in about:
                if reading.verb is verb and reading.state is None:
                    yield from (f for f in input_fields(tool, reading, noun) if _is_said(f, tool))

    def _taken(self, noun: str, about: Sequence[tuple[ToolSpec, ToolReading]]) -> Iterator[Field]:
        """What the tools take to find them."""
        for verb in (Verb.LIST, Verb.SEARCH):
            for tool, reading in about:
                if reading.verb is verb:
                    is_paired = any(p.key in PAIRED for p in reading.parameters)
                    for field in input_fields(tool, reading, noun):
                        is_way = field.key.startswith(_WAYS) or field.key in PAIRED
                        is_way |= is_paired and field.key == "value"
                        if _is_said(field, tool) and not is_way:
                            yield field


def _places(about: Sequence[tuple[ToolSpec, ToolReading]]) -> frozenset[str]:
    """What a list cannot do without says where its entities are, not what they are like."""
    return frozenset(
        p.key
        for _, reading in about
        if reading.verb in (Verb.LIST, Verb.SEARCH)
        for p in reading.parameters
        if p.is_required and p.role is Role.FIELD
    )


def _is_said(field: Field, tool: ToolSpec) -> bool:
    """Say whether anything tells what an argument holds: crawlers take words of a page for arguments."""
    schema: Any = field.schema
    required: Any = tool.input_schema.get("required", ())
    is_told = isinstance(schema, dict) and bool(
        cast("dict[str, Any]", schema).keys() - {"type", "title"}
    )
    return is_told or field.name in required or meaning_of(field.key)[0] is not Meaning.UNKNOWN


_WAYS: Final = (
    "sort",
    "order_",
    "convert",
    "aux",
    "include",
    "exclude",
    "start",
    "limit",
    "listing",
)
"""Filters whose names begin so say how a list is to be, not what is in it."""
_UNDATED: Final = frozenset(
    (
        "stock", "coin", "pool", "currency", "indicator", "weather", "city", "country", "airport", "train",
        "ip", "quake", "vehicle", "energy", "movie", "song", "book", "game", "pokemon", "recipe", "team",
        "news", "video", "quote", "paper", "gene", "compound", "drug", "animal", "space", "attraction",
        "hotel", "restaurant", "web", "post", "mail", "message", "commit", "package", "component",
        "vulnerability", "function", "process", "law", "model", "device", "chain", "build", "setting",
    )
)  # fmt: skip
"""Subjects whose things nobody made in the server, or that have a time of their own."""
_PUBLIC: Final = frozenset(
    (
        "stock", "coin", "airport", "movie", "song", "book", "game", "pokemon", "recipe", "paper", "gene",
        "compound", "drug", "animal", "attraction", "package", "video", "law", "space", "vulnerability",
    )
)  # fmt: skip
"""Subjects whose things have ids that anybody may look up elsewhere."""
OF_NEW: Final = frozenset(("status", "state", "url", "link", "html_url", "web_url", "success"))
"""What a thing has that a call made, though the call did not give it."""


def _is_dated(found: Found | None) -> bool:
    return found is None or not found.is_thing or found.subject.name not in _UNDATED


def words_in_text(text: str) -> frozenset[str]:
    """The words of a text, as they stand and in the singular."""
    words = {*words_of(text), *re.findall(r"[a-z0-9]+", text.casefold())}
    return frozenset((*words, *map(singular, words)))


def _gives_out(reading: ToolReading, noun: str) -> bool:
    """Say whether a tool lets a caller come to know entities of a noun who knows none yet."""
    if reading.verb not in (Verb.LIST, Verb.SEARCH, Verb.CREATE) and not lists_too(reading):
        return False
    named = {name for name, of in reading.references.items() if of == noun}
    return not any(p.is_required and p.name in named for p in reading.parameters)


def lists_too(reading: ToolReading) -> bool:
    """Say whether a tool gives many where the argument that says which ones may be left out."""
    own = next((p for p in reading.parameters if p.name == reading.id_parameter), None)
    is_many = reading.is_many or reading.parameter(Role.LIMIT) is not None
    return reading.verb is Verb.GET and is_many and own is not None and not own.is_required


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


def _called_by(noun: str, fields: list[Field]) -> str | None:
    """The name of the field that people call an entity by, such as ``title``, or ``city`` of a location."""
    names = {field.key: field.name for field in reversed(fields)}
    ends = {field.key.rpartition("_")[2]: field.name for field in reversed(fields)}
    known = (kinds[key] for kinds in (names, ends) for key in _DISPLAYS if key in kinds)
    own = (names[key] for key in (noun.rpartition("_")[2], *_ALSO_DISPLAYS) if key in names)
    return next(known, None) or next(own, None)


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
