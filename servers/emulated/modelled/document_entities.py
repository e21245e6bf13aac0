"""What a server's documents say about the entities that its calls are about.

Reads calls only as far as the documents leave no doubt: what is unclear here is checked nowhere, so that a
good answer is never taken for a contradiction.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.nouns import key_of, singular, words_of
from servers.emulated.modelled.given_words import words_in
from servers.emulated.parameters import Role
from servers.emulated.verbs import ToolReading, Verb, read_tools

__all__ = [
    "Entity",
    "ReadCall",
    "Vocabulary",
    "are_alike",
    "id_text",
    "is_id_field",
    "noun_of_field",
    "read_vocabulary",
]

_PLAIN_IDS: Final = frozenset({"id", "uuid", "guid", "uid"})
_MAX_ID: Final = 200
"""Characters; what is longer is text."""
_OF_ONE: Final = frozenset({Verb.GET, Verb.UPDATE, Verb.DELETE})
_OF_PLACES: Final = frozenset({Verb.GET, Verb.LIST, Verb.DELETE})
_STORES: Final = frozenset({Verb.CREATE, Verb.UPDATE, Verb.DELETE})
_BRINGS_BACK: Final = frozenset(
    {"restore", "unarchive", "reopen", "recover", "undelete", "put", "upsert"}
)
"""Updates that make what is not there, or not any more."""
_WRITES: Final = frozenset({"save", "store", "write", "set", "configure"})
"""Updates that do so where the caller chooses the name, such as a path."""
_BUNDLES: Final = frozenset(
    {
        "data",
        "fields",
        "updates",
        "changes",
        "patch",
        "properties",
        "attributes",
        "values",
        "payload",
    }
)
"""Arguments that hold the members of an entity."""
_OF_PAGES: Final = frozenset(
    {Role.LIMIT, Role.OFFSET, Role.PAGE, Role.CURSOR, Role.SORT, Role.DIRECTION}
    | {Role.OPTION, Role.NOISE}
)
"""Arguments that leave nothing out of a list for good."""
_OF_ALL: Final = frozenset(
    {"list", "get", "fetch", "show", "view", "read", "retrieve", "all", "my", "our", "the", "of"}
    | {"api", "tool"}
)
"""Words beside its noun in the name of a tool that lists everything."""
_NARROWS: Final = frozenset({"search", "filter", "query", "discover"})
"""Words in the name of a tool that gives some, even where it is not told which."""
_MOVES: Final = frozenset({"move", "rename"})
_TAKES_OFF: Final = frozenset({"remove", "clear", "discard"})
"""Deletes that may only part one thing from another."""
_NOT_DOCUMENTED: Final = ToolReading(
    verb=Verb.OTHER, word="", noun=None, is_many=False, id_parameter=None, references={}
)


class Entity(NamedTuple):
    """Something that a server has, by its noun and its identifier."""

    noun: str
    """In the singular, with ``_`` between its words."""
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """What a call is about."""

    tool: str
    reading: ToolReading
    verb: Verb
    noun: str | None
    entity: Entity | None
    """What it reads, changes or deletes; None where that is not certain."""
    id_field: str
    """The argument that names the entity, in its normal form; empty where there is none."""
    arguments: Mapping[str, JsonValue]
    places: Mapping[str, str]
    """Where it looks, such as in which project: equal identifiers of two places are two entities."""
    brings_back: bool
    """A success may make what was deleted exist again."""
    leaves_doubt: bool
    """After a success, whether the entity is still what it was cannot be told."""
    named: Mapping[str, JsonValue]
    """What it says of its entity, or of the one that it makes, by the normal form of the member's name."""
    references: tuple[Entity, ...]
    """Other entities that it names by identifiers which only the server gives."""

    lists_all: bool
    """It is a list that nothing narrows, but the place and the page."""
    shows_plainly: bool
    """Values in its answer are those of any other look at the same, in the same units and language."""

    def given(self, *roles: Role) -> Mapping[str, JsonValue]:
        """The arguments of some roles, as far as they are given."""
        names = {p.name for p in self.reading.parameters if p.role in roles}
        return {n: v for n, v in self.arguments.items() if n in names and v is not None}

    def takes(self, *roles: Role) -> bool:
        """Say whether the tool has arguments of some roles."""
        return any(p.role in roles for p in self.reading.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The nouns of a server, and how its tools name what they stand for."""

    readings: Mapping[str, ToolReading]
    id_fields: Mapping[str, frozenset[str]]
    """By noun: fields that its tools take for the identifier, such as ``path``."""
    places: frozenset[str]
    """Parameters that say in which place something is."""
    settled: frozenset[str]
    """Nouns of two or more tools: what one tool alone calls so may be something else."""
    stored: frozenset[str]
    """Nouns of what tools create, change or delete: quotes have a symbol, but it is not that of a quote."""
    settable: Mapping[str, frozenset[str]]
    """By noun: members that tools which create or change one take, so that calls alone decide them."""
    given_by_server: frozenset[str]
    """Nouns of what the server makes, and so gives the identifiers of."""
    plain_lists: frozenset[str]
    """Tools whose names speak of all of a noun, not of ``recent`` or ``overdue`` ones."""
    words: frozenset[str]
    """Of the documents: identifiers that stand there are known to everybody."""

    def read(self, tool: str, arguments: Mapping[str, JsonValue]) -> ReadCall:
        """Read a call, of a tool that the documents may not hold."""
        reading = self.readings.get(tool, _NOT_DOCUMENTED)
        return ReadCall(
            tool=tool,
            reading=reading,
            verb=reading.verb,
            noun=reading.noun,
            entity=self._entity(reading, arguments),
            id_field=key_of(reading.id_parameter or ""),
            arguments=arguments,
            places=self.places_of(arguments, but=reading.id_parameter),
            brings_back=_brings_back(reading),
            leaves_doubt=_leaves_doubt(reading, arguments),
            named=_named_members(reading, arguments),
            references=_references(reading, arguments),
            lists_all=tool in self.plain_lists and self._is_unfiltered(reading, arguments),
            shows_plainly=self._is_plain(reading, arguments),
        )

    def _is_unfiltered(self, reading: ToolReading, arguments: Mapping[str, JsonValue]) -> bool:
        """True where every argument is one of the page, or says in which place to look."""
        roles = {p.name: p.role for p in reading.parameters}
        return all(
            (name in roles and roles[name] in _OF_PAGES)
            or (is_id_field(key_of(name)) and key_of(name) in self.places)
            for name, value in arguments.items()
            if value is not None
        )

    def _is_plain(self, reading: ToolReading, arguments: Mapping[str, JsonValue]) -> bool:
        """True where no argument may say how to tell it, such as a currency or a day in the past."""
        if reading.verb not in (Verb.GET, Verb.LIST, Verb.SEARCH):
            return True
        fields = self.settable.get(reading.noun or "", frozenset[str]())
        roles = {p.name: p.role for p in reading.parameters}
        return all(
            name == reading.id_parameter
            or name in reading.references
            or key_of(name) in fields
            or is_id_field(key_of(name))
            or roles.get(name) in (_OF_PAGES - {Role.OPTION}) | {Role.QUERY}
            for name, value in arguments.items()
            if value is not None
        )

    def places_of(
        self, values: Mapping[str, JsonValue], *, but: str | None = None
    ) -> Mapping[str, str]:
        """Pick out what says where something is, of a call's arguments or an object's members."""
        found = {
            key_of(name): id_text(value)
            for name, value in values.items()
            if name != but and key_of(name) in self.places
        }
        return {name: text for name, text in found.items() if text is not None}

    def _entity(self, reading: ToolReading, arguments: Mapping[str, JsonValue]) -> Entity | None:
        name, noun = reading.id_parameter, reading.noun
        if reading.verb not in _OF_ONE or name is None or noun is None:
            return None
        text = id_text(arguments.get(name))
        return Entity(noun, text) if text is not None and self._is_of(noun, name, reading) else None

    def _is_of(self, noun: str, parameter: str, reading: ToolReading) -> bool:
        """Say whether a parameter certainly names an entity of the noun, and not what it belongs to."""
        stem = noun_of_field(parameter)
        if stem == noun:
            return True
        if noun not in self.settled or reading.is_many:
            return False
        if is_id_field(key_of(parameter)):
            return not stem or are_alike(noun, stem)
        return noun in self.stored


def read_vocabulary(tools: Sequence[ToolSpec]) -> Vocabulary:
    """Read the documents of a server's tools."""
    readings = read_tools(tools)
    fields: dict[str, set[str]] = {}
    places = set[str]()
    for tool in tools:
        reading = readings[tool.name]
        if reading.noun and reading.id_parameter:
            fields.setdefault(reading.noun, set()).add(key_of(reading.id_parameter))
        if reading.verb in _OF_PLACES:
            required = cast("list[str]", tool.input_schema.get("required") or [])
            places |= {key_of(name) for name in required if name != reading.id_parameter}
    nouns = Counter(reading.noun for reading in readings.values() if reading.noun)
    return Vocabulary(
        readings=readings,
        id_fields={noun: frozenset(keys) for noun, keys in fields.items()},
        places=frozenset(places),
        settled=frozenset(noun for noun, num in nouns.items() if num > 1),
        stored=frozenset(r.noun for r in readings.values() if r.noun and r.verb in _STORES),
        settable=_settable(readings.values()),
        given_by_server=frozenset(_given_by_server(readings.values())),
        plain_lists=frozenset(_plain_lists(readings)),
        words=words_in([t.description for t in tools], [dict(t.input_schema) for t in tools]),
    )


def _settable(readings: Iterable[ToolReading]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for reading in readings:
        if reading.noun and reading.verb in (Verb.CREATE, Verb.UPDATE):
            own = reading.id_parameter
            keys = {p.key for p in reading.parameters if p.role is Role.FIELD and p.name != own}
            found.setdefault(reading.noun, set()).update(keys)
    return {noun: frozenset(keys) for noun, keys in found.items()}


def _plain_lists(readings: Mapping[str, ToolReading]) -> Iterator[str]:
    named = [frozenset(words_of(name)) for name in readings]
    shared = frozenset[str].intersection(*named) if named else frozenset[str]()
    for name, reading in readings.items():
        words = words_of(name)
        if reading.verb is Verb.LIST and reading.noun and not (_NARROWS.intersection(words)):
            allowed = {*reading.noun.split("_"), *shared, *_OF_ALL, reading.word}
            if {singular(word) for word in words} <= allowed | set(map(singular, allowed)):
                yield name


def _given_by_server(readings: Iterable[ToolReading]) -> Iterator[str]:
    """Find the nouns of what is kept under identifiers that no caller chooses or knows beforehand."""
    verbs: dict[str, set[Verb]] = {}
    chosen = set[str]()
    for reading in readings:
        if reading.noun:
            verbs.setdefault(reading.noun, set()).add(reading.verb)
            if reading.verb is Verb.CREATE and reading.id_parameter is not None:
                chosen.add(reading.noun)
    for noun, done in verbs.items():
        is_changed = bool(done & {Verb.LIST, Verb.SEARCH}) and bool(done & _STORES)
        if noun not in chosen and (Verb.CREATE in done or is_changed):
            yield noun


def _named_members(
    reading: ToolReading, arguments: Mapping[str, JsonValue]
) -> Mapping[str, JsonValue]:
    """Pick out what is to stand in an entity; a bundle of members is opened."""
    fields = {p.name: p.key for p in reading.parameters if p.role is Role.FIELD}
    found: dict[str, JsonValue] = {}
    for name, value in arguments.items():
        if name not in fields or name == reading.id_parameter:
            continue
        if isinstance(value, dict) and fields[name] in (_BUNDLES | {reading.noun}):
            found.update({key_of(key): member for key, member in value.items()})
        else:
            found[fields[name]] = value
    return found


def _references(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> tuple[Entity, ...]:
    texts = [
        (noun, id_text(arguments.get(name)))
        for name, noun in reading.references.items()
        if is_id_field(key_of(name))
    ]
    return tuple(Entity(noun, text) for noun, text in texts if text is not None)


def are_alike(noun: str, other: str) -> bool:
    """Say whether two nouns can stand for the same: ``blog_post`` and ``post``."""
    return noun == other or noun.endswith(f"_{other}") or other.endswith(f"_{noun}")


def is_id_field(field: str) -> bool:
    """Say whether a field, in its normal form, holds identifiers by its name."""
    return singular(field).rpartition("_")[2] in _PLAIN_IDS


def noun_of_field(name: str) -> str:
    """Name what an identifier stands for: ``order`` for ``orderId``; empty where the name does not say."""
    stem, _, last = singular(key_of(name)).rpartition("_")
    return singular(stem) if last in _PLAIN_IDS else ""


def id_text(value: JsonValue) -> str | None:
    """Write an identifier as a text, in which 7 and ``"7"`` are one; None for what can be none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return text if 0 < len(text) <= _MAX_ID and "\n" not in text else None


def _brings_back(reading: ToolReading) -> bool:
    is_named = not is_id_field(key_of(reading.id_parameter or ""))
    return reading.word in _BRINGS_BACK or (reading.word in _WRITES and is_named)


def _leaves_doubt(reading: ToolReading, arguments: Mapping[str, JsonValue]) -> bool:
    others = [name for name in arguments if name != reading.id_parameter]
    is_of_two = any(id_text(arguments[name]) is not None for name in others)
    is_renaming = any(key_of(name).startswith("new_") for name in others)
    return (
        reading.word in _MOVES
        or (reading.verb is Verb.UPDATE and is_renaming)
        or (reading.word in _TAKES_OFF and is_of_two)
    )
