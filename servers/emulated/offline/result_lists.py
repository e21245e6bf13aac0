"""Lists and searches: which entities a call is shown, and which come to exist because it asks for them.

What a call is told, before it takes the form of an output schema, is an :class:`Answer` for all verbs.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.alternatives import as_schema
from astra_mcp.values.nouns import key_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import takes
from astra_mcp.values.subjects.finding import Row
from astra_mcp.values.vocabulary import LISTED, meaning_of, usual_values
from astra_mcp.values.wording import written
from servers.emulated.offline.fields import Field, is_documented
from servers.emulated.offline.finding import Call, member_of
from servers.emulated.offline.learning import Noun
from servers.emulated.offline.selection import (
    Filter,
    filters_of,
    page_of,
    query_of,
    sort_of,
    words_match,
)
from servers.emulated.offline.store import Collection, Entity, Store
from servers.emulated.parameters import Role
from servers.emulated.spans import MOMENTS, Span, moment_of, span_of, time_key

__all__ = ["Answer", "Listing", "listed"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and what else is known of it."""

    shown: JsonObject
    """All of it, where no schema says otherwise."""
    more: JsonObject = field(default_factory=dict[str, JsonValue])
    """What an output schema may ask for by other names."""
    text: str | None = None
    """The whole answer, where it is a text and no schema says otherwise."""

    @property
    def known(self) -> JsonObject:
        """Everything, for an output schema to choose from."""
        return {**self.more, **self.shown}


def listed(noun: Noun, rows: list[JsonObject], more: JsonObject | None = None) -> Answer:
    """Entities, under what the server calls many of them.

    Args:
        noun: Theirs.
        rows: They themselves.
        more: What is told beside them.
    """
    entities = cast("list[JsonValue]", rows)
    names = dict.fromkeys(
        ("count", "total", "total_count", "total_results", "num_results"), len(rows)
    )
    return Answer({noun.shown: entities, **(more or {})}, {**names, LISTED: entities})


_SCOPED: Final = (3, 8)
_FOUND: Final = (2, 5)


_STATES: Final = frozenset(
    ("status", "state", "stage", "priority", "severity", "level", "role", "visibility")
)
"""Have few values, which are the same for all things of a kind."""
_FACETS: Final = _STATES | frozenset(
    (
        "type", "kind", "category", "tag", "label", "assignee", "author", "owner_id", "is_active", "active",
        "completed", "language",
    )
)  # fmt: skip
"""By these a list is narrowed; elsewhere there are no others."""
_UNIQUE: Final = frozenset(("email", "username", "phone", "phone_number", "handle", "isbn", "vin"))
"""No two things of a server have the same."""


class _Asked(NamedTuple):
    """What the entities of a list are to have."""

    wanted: list[Filter]
    query: str
    scope: frozenset[str]
    """The names of members that say where they are."""
    span: Span | None
    when: str
    """The member, in normal form, that is to lie within the span."""


class Listing:
    """Lists the entities of one session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        """What exists; gets what is looked for."""

    def told(self, call: Call, collection: Collection, parents: list[Entity]) -> Answer:
        """What a list or a search shows.

        What a search is for exists from then on, unless a call took such things away. So do those of a
        place that a list cannot do without, unless a call made that place.

        Args:
            call: Lists or searches.
            collection: Of its noun.
            parents: The entities of other nouns that it refers to.

        Raises:
            RefusedError: It asks for a page that cannot be.
        """
        page = page_of(call.reading, call.arguments)
        searched, query = query_of(call.reading, call.arguments)
        own = call.reading.parameter(Role.QUERY)
        words = None if own is not None and own.name == searched else searched
        asked = {name: value for name, value in call.arguments.items() if name != words}
        wanted = list(filters_of(call.reading, asked))
        scope = self._scope(call, collection.noun, wanted)
        span = span_of(call.reading, call.arguments, self._store.now)
        fields = collection.noun.fields if span is not None else ()
        when = time_key(each.key for each in fields) or "date"
        asked_for = _Asked(wanted, query, frozenset(map(key_of, scope)), span, when)
        is_open = not any(parent.is_made for parent in parents)
        if is_open and (scope or span is not None):
            self._fill(collection, scope, asked_for)
        found = self._fitting(collection, asked_for)
        is_open &= not (collection.is_seen and collection.noun.is_kept)
        if not found and query and is_open and not self._was_there(collection, query):
            self._find_some(collection, query, {**self._searched(call, collection.noun), **scope})
            found = self._fitting(collection, asked_for)
        called = next((str(e.value).strip("*? ") for e in wanted if e.is_part), "")
        if not found and is_open and not query and called:
            self._find_some(collection, called, scope)
            found = self._fitting(collection, asked_for)
        elif not found and is_open and not query:
            facets = {e.key: e.value for e in wanted if e.key in _FACETS and _is_plain(e.value)}
            is_there = all(_is_state(call, collection.noun, *facet) for facet in facets.items())
            if is_there and (facets or asked_for.span is not None):
                self._fill(collection, {**scope, **self._named(collection, facets)}, asked_for)
                found = self._fitting(collection, asked_for)
        if not wanted and not query and len(page.part(found)) == len(found):
            self._store.see(collection)
        found = self._sorted(call, collection, found)
        rows = [self._store.shown(collection, entity) for entity in page.part(found)]
        answer = listed(collection.noun, rows, page.describe(len(found)))
        alone = _alone(call, collection.noun, rows[0]) if rows else {}
        return Answer(answer.shown, {**answer.more, **page.synonyms(len(found)), **alone})

    def all_that_fit(self, call: Call, collection: Collection) -> list[Entity]:
        """Every entity that has what the arguments ask for."""
        asked = _Asked([*filters_of(call.reading, call.arguments)], "", frozenset(), None, "date")
        return [
            entity
            for entity in self._fitting(collection, asked)
            if all(any(member_of(self._store, collection, entity, e.key)) for e in asked.wanted)
        ]

    def _fitting(self, collection: Collection, asked: "_Asked") -> list[Entity]:
        if not asked.wanted and not asked.query and asked.span is None:
            return collection.newest_first()
        return [e for e in collection.newest_first() if self._fits(collection, e, asked)]

    def _fits(self, collection: Collection, entity: Entity, asked: "_Asked") -> bool:
        for each in asked.wanted:
            members = [*member_of(self._store, collection, entity, each.key)]
            is_elsewhere = not members and not entity.is_made and each.key in asked.scope
            if is_elsewhere or not each.passes(members):
                return False
        if asked.span is not None:
            own = time_key(entity.given) if entity.is_made else None
            times = [*member_of(self._store, collection, entity, own or asked.when)]
            moment = moment_of(times[0]) if times else entity.born
            if (not times and not entity.is_made) or (
                moment is not None and not asked.span.holds(moment)
            ):
                return False
        return not asked.query or words_match(asked.query, self._store.shown(collection, entity))

    def _fill(self, collection: Collection, scope: JsonObject, asked: "_Asked") -> None:
        """Let the entities of a place exist, and of a time where one is asked for."""
        undated = Field(name=asked.when, key=asked.when, schema={"maxLength": 10}, root={})
        dated = [e for e in collection.noun.fields if e.key in {asked.when, *MOMENTS}] or [undated]
        place: JsonObject = dict(scope)
        number = (1, 1) if not _UNIQUE.isdisjoint(map(key_of, scope)) else _SCOPED
        if number == (1, 1) and self._fitting(collection, asked):
            return
        if asked.span is not None:
            place |= {"first": asked.span.first, "last": asked.span.last}

        def given(rng: RandomStream, _: int) -> JsonObject:
            if asked.span is None:
                return dict(scope)
            moment = rng.at("when").between(*asked.span.bounds(self._store.now))
            times = (written(moment), written(moment)[:10], moment)
            members: JsonObject = dict(scope)
            for each in dated:
                taken = (t for t in times if takes(as_schema(each.schema), t))
                members.update((each.name, t) for t in [*taken][:1])
            return members

        self._store.populate(collection, place, number, given)

    def _named(self, collection: Collection, members: JsonObject) -> JsonObject:
        return {collection.noun.name_of(key, key): value for key, value in members.items()}

    def _scope(self, call: Call, noun: Noun, wanted: list[Filter]) -> JsonObject:
        """The arguments without which there is no list, and all filters where the server only shows."""
        same = {each.key for each in wanted if not each.sign and not each.is_part}
        fields = (
            p
            for p in call.fields()
            if p.key in same
            and (p.is_required or not noun.is_kept)
            and not (noun.is_kept and p.key in _FACETS)
        )
        scope = {noun.name_of(p.key, p.name): call.arguments[p.name] for p in fields}
        return {name: value for name, value in scope.items() if _is_plain(value)}

    def _searched(self, call: Call, noun: Noun) -> JsonObject:
        """The member that a search is by, where it is one that things have and not what they are called."""
        name, _ = query_of(call.reading, call.arguments)
        parameter = next((p for p in call.reading.parameters if p.name == name), None)
        if parameter is None or parameter.role is not Role.FIELD:
            return {}
        shown = noun.name_of(parameter.key, "")
        is_member = shown not in ("", noun.display) and _is_plain(call.arguments[parameter.name])
        return {shown: call.arguments[parameter.name]} if is_member else {}

    def _was_there(self, collection: Collection, query: str) -> bool:
        """What a call took away is not found again by another name."""
        gone = (self._store.shown(collection, entity) for entity in collection.gone.values())
        return any(words_match(query, row) for row in gone)

    def _find_some(self, collection: Collection, query: str, scope: JsonObject) -> None:
        """Let entities exist that a search is for."""
        noun, found = collection.noun, collection.noun.found
        if found is not None and found.is_thing and not scope:
            known = [row for row in found.subject.rows if words_match(query, row)]
            if known:
                self._know(collection, known)
                return
        titles = found.subject.found if found is not None and found.is_thing else ()
        order = self._store.wording.titles(titles, noun.name, query)

        wording = self._store.wording

        def given(rng: RandomStream, at: int) -> JsonObject:
            title = order[at % len(order)].replace("{query}", query)
            about = {
                each.name: wording.on(query, rng.at(each.name))
                for each in noun.fields
                if not each.root and meaning_of(each.key)[1] in ("sentence", "paragraph")
            }
            urls = {
                each.name: wording.url_of(title, rng)
                for each in noun.fields
                if not each.root and each.key in ("url", "link", "html_url")
            }
            return {**about, **urls, **scope, noun.display: title}

        place: JsonObject = {"query": query.casefold(), **scope}
        self._store.populate(
            collection, place, (min(_FOUND[0], len(order)), min(_FOUND[1], len(order))), given
        )

    def _know(self, collection: Collection, rows: list[Row]) -> None:
        """Let things exist that the tables have, under the names of the noun's own fields."""
        noun = collection.noun
        for row in rows[: _FOUND[1]]:
            named = {noun.name_of(key, key): value for key, value in row.items()}
            shown = {each.name for each in noun.fields} | {noun.display}
            given = {name: value for name, value in named.items() if name in shown}
            self._store.populate(collection, {"row": given}, (1, 1), lambda _, __, g=given: g)

    def _sorted(self, call: Call, collection: Collection, found: list[Entity]) -> list[Entity]:
        """Sort as the call asks, by a field that entities have; else as they stand."""
        sort = sort_of(call.reading, call.arguments)
        if sort is None:
            return found
        key, is_down = sort
        members = [[*member_of(self._store, collection, each, key)] for each in found]
        if not any(members):
            return found
        rows = [(next(iter(own), None), each) for own, each in zip(members, found, strict=True)]
        rows.sort(key=lambda row: _sort_key(row[0]), reverse=is_down)
        return [entity for _, entity in rows]


def _is_state(call: Call, noun: Noun, key: str, value: JsonValue) -> bool:
    """Say whether things may be in a state; of what is no state anything may be said."""
    if key not in _STATES:
        return True
    named = next((p.name for p in call.reading.parameters if p.key == key), "")
    usual = (*usual_values(key), *(noun.found.subject.statuses if noun.found is not None else ()))
    is_usual = str(value).casefold() in {str(each).casefold() for each in usual}
    return is_usual or is_documented(value, call.tool, named)


def _alone(call: Call, noun: Noun, row: JsonObject) -> JsonObject:
    """The first entity found, where a search is declared to give one with what names it, and no list."""
    members = _members_of(call.tool.output_schema)
    own, key = row.get(noun.identity.name), noun.identity.key
    heads = ("", f"{noun.name}_", f"{noun.name.rpartition('_')[2]}_")
    ids = {name: own for name in members if key_of(name) in {f"{head}{key}" for head in heads}}
    is_list = any(isinstance(m, dict) and m.get("type") == "array" for m in members.values())
    return {**row, **ids} if ids and not is_list else {}


def _members_of(schema: JsonObject | None) -> JsonObject:
    members = (schema or {}).get("properties")
    return members if isinstance(members, dict) else {}


def _is_plain(value: JsonValue) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _sort_key(value: JsonValue) -> tuple[bool, float, str]:
    is_number = isinstance(value, int | float)
    return (not is_number, float(value) if is_number else 0.0, "" if is_number else str(value))
