"""What exists in one session: the entities that it began with, that were looked for, made and changed.

Only what differs from the documents is kept: the rest of an entity is drawn anew from its dice whenever it
is shown, and is the same each time.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.alternatives import as_schema
from astra_mcp.values.making import Making, ValueContext
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import UnmetError, make_id, takes
from astra_mcp.values.wording import DAY, VirtualClock, Wording, written
from servers.emulated.offline.fields import Field
from servers.emulated.offline.learning import CREATED, UPDATED, Learned, Noun

__all__ = ["MAX_ENTITIES", "Collection", "Drawings", "Entity", "Store"]

MAX_ENTITIES: Final = 2000
"""So many entities one session keeps; then nothing more is made up, and nothing more can be made."""
_MAX_GONE: Final = 500
"""So many of a noun are remembered that were taken away."""
_FIRST: Final = (3, 8)
_DRAWS: Final = 8
_FAR: Final = 1_000_000
_MAX_DRAWINGS: Final = 2048
"""Of so many entities it is remembered what was drawn; some 1 kB each."""


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
    is_known: bool = True
    """It is kept, not only looked at."""


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
    places: set[bytes] = field(default_factory=set[bytes])
    """Scopes and queries for which entities were made up already."""

    def newest_first(self) -> list[Entity]:
        """In the order in which lists show them."""
        newest = [*self.entities.values()][::-1]
        newest.sort(key=lambda entity: entity.born, reverse=True)
        return newest


class Drawings:
    """Members of entities as they were drawn, by their dice: those used last, of all sessions together.

    Dice are of one seed, version and place, so that one entity's are no other's. What is drawn is not
    to be changed.
    """

    def __init__(self, size: int = _MAX_DRAWINGS) -> None:
        """Remember those of so many entities."""
        self._size = size
        self._known: OrderedDict[bytes, dict[str, tuple[JsonValue, ...]]] = OrderedDict()

    def of(self, rng: RandomStream) -> dict[str, tuple[JsonValue, ...]]:
        """What was drawn of an entity, by the names of its members, to be added to; empty for none."""
        known = self._known.get(rng.key)
        if known is None:
            known = self._known[rng.key] = {}
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(rng.key)
        return known


class Store:
    """The world of one session; all tools of the server share it."""

    def __init__(
        self, learned: Learned, rng: RandomStream, drawings: Drawings | None = None
    ) -> None:
        """Begin with nothing made up yet.

        Args:
            learned: What the documents say.
            rng: Decide everything.
            drawings: Remembers what was drawn; None for one of its own.
        """
        self._learned = learned
        self._drawings = drawings or Drawings()
        self._rng = rng
        self.clock = VirtualClock(rng)
        self.wording = Wording(learned.language, self.clock.start)
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
                self._add_some(found, place, number, lambda _: {})
                found.first = tuple(entity.identity for entity in found.entities.values())
        return found

    def populate(
        self,
        collection: Collection,
        place: JsonObject,
        number: tuple[int, int],
        given: Callable[[RandomStream], JsonObject],
    ) -> None:
        """Make up entities for a place, once.

        Args:
            collection: Gets them.
            place: A scope or a query, as what it is made of.
            number: The fewest and the most.
            given: Says which members an entity has, by its dice.
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
        given: Callable[[RandomStream], JsonObject],
    ) -> None:
        for at in range(number):
            place = rng.at(at)
            born = self.clock.start - place.at("age").between(0, 60 * DAY)
            self.add(collection, place, given(place), born=born)

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
        entity = Entity(
            identity=self._identity(collection, rng) if identity is None else identity,
            rng=rng,
            born=self.now if born is None else born,
            given=given,
            is_made=born is None,
        )
        self.keep(collection, entity)
        return entity

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
        return Entity(
            identity=self._identity(collection, rng) if identity is None else identity,
            rng=rng,
            born=self.clock.start - rng.at("age").between(0, 60 * DAY),
            given=given,
            is_known=False,
        )

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

    def _identity(self, collection: Collection, rng: RandomStream) -> JsonValue:
        """Draw an identity that nothing has had before."""
        noun = collection.noun
        value: JsonValue = None
        for draw in range(_DRAWS):
            place = rng.at("identity", draw)
            try:
                value = self._drawn(noun, noun.identity, place)
            except UnmetError:
                value = make_id(noun.name, place)
            if str(value) not in collection.entities and str(value) not in collection.gone:
                return value
        return value + rng.below(_FAR) if isinstance(value, int) else f"{value}-{rng.digits(6)}"

    def shown(self, collection: Collection, entity: Entity) -> JsonObject:
        """All members of an entity."""
        noun = collection.noun
        shown: JsonObject = {noun.identity.name: entity.identity}
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
        elif each.reference is None or not entity.is_made:
            yield from self._drawn_once(collection.noun, entity.rng, each)

    def _drawn_once(self, noun: Noun, rng: RandomStream, each: Field) -> Sequence[JsonValue]:
        """Draw a member, if there is one, or take what was drawn from the same dice before.

        What names another entity is drawn anew: it lets that one exist.
        """
        is_of_another = each.reference is not None or each.key in noun.related
        known = {} if is_of_another else self._drawings.of(rng)
        found = known.get(each.name)
        if found is None:
            is_who = self.wording.is_of_person(noun.name, each.key)
            place = rng.at("who" if is_who else each.name)
            try:
                found = (self._drawn(noun, each, place),)
            except UnmetError:
                found = ()
            known[each.name] = found
        return found

    def _time(self, each: Field, moment: int) -> Iterator[JsonValue]:
        """A time in the form that a field has: a text, a day or a number."""
        schema = as_schema(each.schema)
        for value in (written(moment), written(moment)[:10], moment):
            if takes(schema, value):
                yield value
                return

    def _drawn(self, noun: Noun, each: Field, rng: RandomStream) -> JsonValue:
        """Draw a member; one that names another entity names one that there is."""
        reference = each.reference or noun.related.get(each.key)
        if reference is not None and reference != noun.name:
            others = self.collection(reference).first
            if others:
                return rng.choose(others)
        making = Making(each.root, self.wording)
        return making.value(
            each.schema, ValueContext(rng=rng, key=each.key, noun=noun.name, depth=1)
        )
