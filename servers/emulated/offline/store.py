"""What exists in one session: the entities that it began with, that were looked for, made and changed.

Only what differs from the documents is kept: the rest of an entity is drawn anew from its dice whenever it
is shown, and is the same each time.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.alternatives import as_schema
from astra_mcp.values.making import Making, ValueContext, named_value
from astra_mcp.values.nouns import is_plural, key_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import UnmetError, make_id, takes
from astra_mcp.values.subjects.portraits import Portrait, portrait_of
from astra_mcp.values.vocabulary import Meaning, meaning_of, usual_values
from astra_mcp.values.wording import DAY, VirtualClock, Wording, written
from servers.emulated.offline.fields import Field, attribute_of
from servers.emulated.offline.learning import CREATED, OF_NEW, UPDATED, Learned, Noun

__all__ = ["MAX_ENTITIES", "Collection", "Entity", "Store"]

MAX_ENTITIES: Final = 2000
"""So many entities one session keeps; then nothing more is made up, and nothing more can be made."""
_MAX_GONE: Final = 500
"""So many of a noun are remembered that were taken away."""
_FIRST: Final = (3, 8)
_DRAWS: Final = 8
_CALLED: Final = frozenset(("name", "slug", "code", "handle", "symbol", "ticker", "title"))
"""What names one thing to everybody: another one is not shown for it."""
_DRAWN: Final = 8
"""No two things of a session have an id of so many characters by chance."""
_FAR: Final = 1_000_000


@dataclass(slots=True, eq=False)
class Entity:
    """One thing that a server knows of."""

    identity: JsonValue
    rng: RandomStream
    """Decide all that is not given."""
    born: int
    """Seconds since 1970."""
    given: JsonObject
    """Members that a call, or a place where it was found, set."""
    changed: int | None = None
    """Seconds since 1970 of the last change."""
    is_made: bool = False
    """A call made it: it has no references but those that are given."""
    is_sparse: bool = False
    """It has what a call gave, and little else."""
    is_composed: bool = False
    """It has no identity of its own, but is known by all that is asked for it."""
    is_known: bool = True
    """It is kept, not only looked at."""
    portrait: Portrait | None = None
    drawn: dict[str, tuple[JsonValue, ...]] = field(
        default_factory=dict[str, tuple[JsonValue, ...]]
    )
    """Members that nobody set, as they were drawn when they were first shown."""
    """What is known of such things; None where nothing is."""


@dataclass(slots=True)
class Collection:
    """The entities of one noun, oldest first."""

    noun: Noun
    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])
    """By their identity as text."""
    gone: dict[str, Entity] = field(default_factory=dict[str, Entity])
    """Those that a call took away."""
    first: tuple[JsonValue, ...] = ()
    """The identities of those that were there from the beginning."""
    is_seen: bool = False
    """A call was shown all of them: no others come to exist because somebody looks for them."""
    places: set[bytes] = field(default_factory=set[bytes])
    """Scopes and queries for which entities were made up already."""

    def turn(self, rng: RandomStream) -> int:
        """The place of the next entity among its like, in an order that the session decides."""
        return rng.at("turn", self.noun.name).below(64) + len(self.entities) + len(self.gone)

    def newest_first(self) -> list[Entity]:
        """In the order in which lists show them."""
        newest = [*self.entities.values()][::-1]
        newest.sort(key=lambda entity: entity.born, reverse=True)
        return newest


def _is_free_text(schema: Mapping[str, Any]) -> bool:
    """Say whether a schema says no more of a value than that it may be a text."""
    if {"enum", "const", "format", "pattern"} & schema.keys():
        return False
    return schema.get("type", "string") == "string"


def _with_identity(value: JsonValue, identity: JsonValue, form: str | None) -> JsonValue:
    """An address that ends with an id of the trade ends with the entity's own."""
    if form is None or identity is None or not isinstance(value, str) or "://" not in value:
        return value
    head, mark, tail = value.rpartition(value[max(value.rfind("/"), value.rfind("="))])
    return f"{head}{mark}{identity}" if re.fullmatch(form, tail) else value


class Store:
    """The world of one session; all tools of the server share it."""

    def __init__(self, learned: Learned, rng: RandomStream) -> None:
        """Begin with nothing made up yet."""
        self._learned = learned
        self._rng = rng
        self.clock = VirtualClock(rng)
        document = learned.document
        self.wording = Wording(
            learned.language,
            self.clock.start,
            domain=document.domain,
            around=learned.around,
        )
        self.calls = 0
        self._collections: dict[str, Collection] = {}
        self._number = 0
        self._undo: list[Callable[[], object]] = []
        self._saved: set[str] = set()
        """The nouns whose collections were copied since the last commit."""

    @property
    def now(self) -> int:
        """Seconds since 1970, by the calls so far."""
        return self.clock.after(self.calls)

    @property
    def is_full(self) -> bool:
        """No room is left for another entity."""
        return self._number >= MAX_ENTITIES

    def commit(self) -> None:
        """Let stand what was done since the last time."""
        self._undo.clear()
        self._saved.clear()

    def on_undo(self, undo: Callable[[], object]) -> None:
        """Have something undone, too, if what was done since the last commit is."""
        self._undo.append(undo)

    def rollback(self) -> None:
        """Undo what was done since the last commit."""
        while self._undo:
            self._undo.pop()()
        self._saved.clear()

    def collection(self, noun: str) -> Collection:
        """The entities of a noun; some exist from the first look on where the server gives them out."""
        found = self._collections.get(noun)
        if found is None:
            found = self._collections[noun] = Collection(self._learned.noun(noun))
            self._undo.append(lambda: self._collections.pop(noun))
            if found.noun.is_given_out:
                place = self._rng.at("first", noun)
                number = place.at("number").between(*_FIRST)
                self._add_some(found, place, number, lambda _, __: {})
                found.first = tuple(entity.identity for entity in found.entities.values())
        return found

    def home(self, collection: Collection, identity: JsonValue) -> Collection:
        """Where the entity of an id is: what one tool made as a rectangle another one deletes as a cell.

        Args:
            collection: Where it is looked for first, and which is given where it is nowhere.
            identity: As it was given out; one that several nouns may have is looked for nowhere else.
        """
        key = str(identity)
        is_drawn = len(key) >= _DRAWN and any(each.isdigit() for each in key)
        if not is_drawn or key in collection.entities or key in collection.gone:
            return collection
        others = self._collections.values()
        return next(
            (each for each in others if key in each.entities or key in each.gone), collection
        )

    def see(self, collection: Collection) -> None:
        """Take note that all of a collection was shown."""
        if not collection.is_seen:
            collection.is_seen = True
            self._undo.append(lambda: setattr(collection, "is_seen", False))

    def populate(
        self,
        collection: Collection,
        place: JsonObject,
        number: tuple[int, int],
        given: Callable[[RandomStream, int], JsonObject],
    ) -> None:
        """Make up entities for a place, once.

        Args:
            collection: Gets them.
            place: A scope or a query, as what it is made of.
            number: The fewest and the most.
            given: Says which members an entity has, by its dice and its place among them.
        """
        key = canonical_json(place)
        if key in collection.places or self.is_full or len(collection.places) >= MAX_ENTITIES:
            return
        collection.places.add(key)
        self._undo.append(lambda: collection.places.discard(key))
        rng = self._rng.at("place", collection.noun.name, key.decode())
        self._add_some(collection, rng, rng.at("number").between(*number), given)

    def _add_some(
        self,
        collection: Collection,
        rng: RandomStream,
        number: int,
        given: Callable[[RandomStream, int], JsonObject],
    ) -> None:
        """Let entities exist of which no two are called the same; fewer where there are no more names."""
        taken: set[str] = set()
        for at in range(number):
            for draw in range(_DRAWS):
                place = rng.at(at) if not draw else rng.at(at, draw)
                born = self.clock.start - place.at("age").between(0, 60 * DAY)
                members = given(place, at)
                own = members.get(collection.noun.identity.name)
                entity = self._born(collection, place, members, born, own)
                called = self._called(collection, entity)
                if called is None or called not in taken:
                    taken.add(called or "")
                    self.keep(collection, entity)
                    break

    def _called(self, collection: Collection, entity: Entity) -> str | None:
        """What people call an entity, where that tells it from its like."""
        noun = collection.noun
        if noun.display == noun.identity.name:
            return str(entity.identity)
        shown = next((each for each in noun.fields if each.name == noun.display), None)
        if shown is None or shown.key in noun.related or shown.reference is not None:
            return None
        called = next(self.member(collection, entity, shown), None)
        return called if isinstance(called, str) else None

    def add(
        self,
        collection: Collection,
        rng: RandomStream,
        given: JsonObject,
        *,
        born: int | None = None,
        identity: JsonValue = None,
    ) -> Entity:
        """Let an entity exist.

        Args:
            collection: Where.
            rng: Decide what is not given.
            given: Members that are known.
            born: Seconds since 1970; None where a call makes it now.
            identity: As it is named; drawn where it is None.
        """
        entity = self._born(collection, rng, given, born, identity)
        self.keep(collection, entity)
        return entity

    def _born(
        self,
        collection: Collection,
        rng: RandomStream,
        given: JsonObject,
        born: int | None,
        identity: JsonValue,
    ) -> Entity:
        """An entity that nothing keeps yet."""
        is_made = born is None
        turn = None if is_made else collection.turn(self._rng)
        portrait = self.portrait(collection.noun, rng, given, turn)
        return Entity(
            identity=self._identity(collection, rng, portrait) if identity is None else identity,
            rng=rng,
            born=self.now if born is None else born,
            given=given,
            is_made=is_made,
            is_sparse=is_made and (bool(given) or identity is not None),
            portrait=portrait,
        )

    def glimpse(
        self, collection: Collection, given: JsonObject, identity: JsonValue = None
    ) -> Entity:
        """An entity that exists because somebody asks for it; kept only when a call changes it.

        Args:
            collection: Of its noun.
            given: Members that are known.
            identity: As it is named; drawn where it is None.
        """
        known = canonical_json([identity, given]).decode()
        rng = self._rng.at("named", collection.noun.name, known)
        noun = collection.noun
        named = given if identity is None else {**given, noun.identity.key: identity}
        portrait = self.portrait(noun, self.dice(noun, named) or rng, named, None)
        return Entity(
            identity=self._identity(collection, rng, portrait) if identity is None else identity,
            rng=rng,
            born=self.clock.start - rng.at("age").between(0, 60 * DAY),
            given=given,
            is_known=False,
            portrait=portrait,
        )

    def dice(self, noun: Noun, asked: Mapping[str, JsonValue]) -> RandomStream | None:
        """The dice of a thing by what it is called; the same for all tools that tell of it.

        Args:
            noun: Of the thing.
            asked: What it is asked for by.

        Returns:
            None where nothing that is asked says which thing it is.
        """
        if noun.found is None:
            return None
        subject = noun.found.subject
        for name, value in asked.items():
            if key_of(name) in subject.known_by and isinstance(value, str | int):
                return self._rng.at("thing", subject.name, str(value).casefold())
        return None

    def portrait(
        self, noun: Noun, rng: RandomStream, asked: Mapping[str, JsonValue], turn: int | None
    ) -> Portrait | None:
        """One thing of a noun.

        Args:
            noun: Of the thing.
            rng: Decide what is not asked for.
            asked: Members that it is to have.
            turn: Its place among its like; None where it has none.
        """
        if noun.found is None:
            return None
        keyed = {key_of(name): value for name, value in asked.items()}
        if noun.found.is_thing:
            of = noun.found.subject.name
            called = (v for k, v in keyed.items() if attribute_of(k, noun.name) in _CALLED and v)
            keyed |= {f"{of}_name": value for value in [*called][:1] if isinstance(value, str)}
        return portrait_of(noun.found, rng, keyed, turn)

    def keep(self, collection: Collection, entity: Entity) -> None:
        """Let an entity exist that was only looked at, or was taken away."""
        key = str(entity.identity)
        entity.is_known = True
        before = collection.gone.pop(key, None)
        collection.entities[key] = entity
        self._number += 1

        def undo() -> None:
            self._number -= 1
            collection.entities.pop(key, None)
            if before is not None:
                collection.gone[key] = before

        self._undo.append(undo)

    def remove(self, collection: Collection, entity: Entity) -> None:
        """Let an entity exist no more."""
        key = str(entity.identity)
        self._save(collection)
        collection.entities.pop(key, None)
        collection.gone[key] = entity
        if len(collection.gone) > _MAX_GONE:
            del collection.gone[next(iter(collection.gone))]
        self._number -= entity.is_known

        def undo() -> None:
            self._number += entity.is_known

        self._undo.append(undo)

    def _save(self, collection: Collection) -> None:
        """Remember what exists, in its order; once until the next commit: later changes are undone first."""
        if collection.noun.name in self._saved:
            return
        self._saved.add(collection.noun.name)
        entities, gone = dict(collection.entities), dict(collection.gone)

        def undo() -> None:
            collection.entities, collection.gone = entities, gone

        self._undo.append(undo)

    def change(
        self, collection: Collection, entity: Entity, changes: Mapping[str, JsonValue]
    ) -> None:
        """Set members of an entity."""
        if not entity.is_known:
            self.keep(collection, entity)
        given, changed = entity.given, entity.changed
        entity.given = {**given, **changes}
        entity.changed = self.now

        def undo() -> None:
            entity.given, entity.changed = given, changed

        self._undo.append(undo)

    def _identity(
        self, collection: Collection, rng: RandomStream, portrait: Portrait | None
    ) -> JsonValue:
        """Draw an identity that nothing has had before."""
        noun = collection.noun
        value: JsonValue = None
        for draw in range(_DRAWS):
            place = rng.at("identity", draw)
            try:
                value = self._drawn(noun, noun.identity, place, portrait if not draw else None)
            except UnmetError:
                value = make_id(noun.name, place)
            if str(value) not in collection.entities and str(value) not in collection.gone:
                return value
        return value + rng.below(_FAR) if isinstance(value, int) else f"{value}-{rng.digits(6)}"

    def shown(self, collection: Collection, entity: Entity) -> JsonObject:
        """All members of an entity."""
        noun = collection.noun
        shown: JsonObject = {} if entity.is_composed else {noun.identity.name: entity.identity}
        for each in noun.fields:
            for value in self.member(collection, entity, each):
                shown[each.name] = value
        shown.update({k: v for k, v in entity.given.items() if k not in shown})
        return shown

    def member(self, collection: Collection, entity: Entity, each: Field) -> Iterator[JsonValue]:
        """One member of an entity, if it has it."""
        if each.name in entity.given:
            yield entity.given[each.name]
        elif each.key in CREATED:
            yield from self._time(each, entity.born)
        elif each.key in UPDATED:
            yield from self._time(each, entity.changed or entity.born)
        elif each.reference is not None or each.key in collection.noun.related:
            # What names another entity lets that one exist, so it is drawn each time.
            yield from self._not_given(collection.noun, entity, each)
        else:
            if each.name not in entity.drawn:
                entity.drawn[each.name] = tuple(self._not_given(collection.noun, entity, each))
            yield from entity.drawn[each.name]

    def _not_given(self, noun: Noun, entity: Entity, each: Field) -> Iterator[JsonValue]:
        """A member that nobody set, if the entity has it."""
        if not each.schema and not entity.is_sparse and entity.portrait is not None:
            yield from self._portrayed(noun, entity, each, entity.portrait)
        elif self._is_left_out(noun, entity, each):
            return
        elif not entity.is_sparse or each.is_declared or each.key in OF_NEW:
            yield from self._made(noun, entity, each)

    def _portrayed(
        self, noun: Noun, entity: Entity, each: Field, portrait: Portrait
    ) -> Iterator[JsonValue]:
        """A member of which only the name is known: as the portrait has it, or as its like are."""
        for value in portrait.member(each.key):
            yield _with_identity(value, entity.identity, portrait.subject.identity)
            return
        if not self._is_left_out(noun, entity, each):
            yield from self._made(noun, entity, each)

    def _made(self, noun: Noun, entity: Entity, each: Field) -> Iterator[JsonValue]:
        try:
            is_who = self.wording.is_of_person(noun.name, each.key)
            place = entity.rng.at("who" if is_who else each.name)
            yield self._drawn(noun, each, place, entity.portrait)
        except UnmetError:
            return

    def _is_left_out(self, noun: Noun, entity: Entity, each: Field) -> bool:
        """A thing that a call made refers to nothing that was not given; what nobody can know is not told."""
        if each.reference is not None and entity.is_made:
            return True
        return not each.is_declared and self._is_unknown(noun, entity, each)

    def _is_unknown(self, noun: Noun, entity: Entity, each: Field) -> bool:
        """Say whether nothing is known that a member could hold, so that it is left out."""
        portrait, key = entity.portrait, each.key
        schema = as_schema(each.schema)
        if not _is_free_text(schema) or each.name in each.root.get("required", ()):
            return False
        if portrait is not None and portrait.lacks(key):
            return True
        is_told = schema and portrait is not None and any(True for _ in portrait.member(key))
        if is_told or key == noun.display:
            return False
        meaning, name = meaning_of(key)
        if meaning is Meaning.UNKNOWN:
            return not usual_values(key) and not (is_plural(key) and not schema)
        if name == "category":
            return portrait is not None and not portrait.is_thing and not usual_values(key)
        return name in ("sentence", "paragraph", "query", "title")

    def _time(self, each: Field, moment: int) -> Iterator[JsonValue]:
        """A time in the form that a field has: a text, a day or a number."""
        schema = as_schema(each.schema)
        for value in (written(moment), written(moment)[:10], moment):
            if takes(schema, value):
                yield value
                return

    def _drawn(
        self, noun: Noun, each: Field, rng: RandomStream, portrait: Portrait | None
    ) -> JsonValue:
        """Draw a member; one that names another entity names one that there is."""
        reference = each.reference or noun.related.get(each.key)
        if reference is not None and reference != noun.name:
            others = self.collection(reference).first
            if others:
                return rng.choose(others)
        if not each.schema:
            return named_value(each.key, noun.name, rng, self.wording, portrait)
        making = Making(each.root, self.wording)
        spot = ValueContext(rng=rng, key=each.key, noun=noun.name, depth=1, portrait=portrait)
        return making.value(each.schema, spot)
