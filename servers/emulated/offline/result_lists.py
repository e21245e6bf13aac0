"""Lists and searches: which entities a call is shown, and which come to exist because it asks for them.

What a call is told, before it takes the form of an output schema, is an :class:`Answer` for all verbs.
"""

from dataclasses import dataclass, field
from typing import Final, cast

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.finding import Row
from astra_mcp.values.vocabulary import LISTED, meaning_of
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
        asked = {name: value for name, value in call.arguments.items() if name != searched}
        wanted = list(filters_of(call.reading, asked))
        scope = self._scope(call, collection.noun, wanted)
        is_new = any(parent.is_made for parent in parents)
        if scope and not is_new:
            self._store.populate(collection, scope, _SCOPED, lambda _, __: dict(scope))
        found = self._fitting(collection, wanted, query)
        if not found and query and not is_new and not self._was_there(collection, query):
            self._find_some(collection, query, scope)
            found = self._fitting(collection, wanted, query)
        found = self._sorted(call, collection, found)
        rows = [self._store.shown(collection, entity) for entity in page.part(found)]
        answer = listed(collection.noun, rows, page.describe(len(found)))
        alone = _alone(call, collection.noun, rows[0]) if rows else {}
        return Answer(answer.shown, {**answer.more, **page.synonyms(len(found)), **alone})

    def all_that_fit(self, call: Call, collection: Collection) -> list[Entity]:
        """Every entity that the arguments do not exclude."""
        return self._fitting(collection, list(filters_of(call.reading, call.arguments)), "")

    def _fitting(self, collection: Collection, wanted: list[Filter], query: str) -> list[Entity]:
        return [
            entity
            for entity in collection.newest_first()
            if all(e.passes([*member_of(self._store, collection, entity, e.key)]) for e in wanted)
            and (not query or words_match(query, self._store.shown(collection, entity)))
        ]

    def _scope(self, call: Call, noun: Noun, wanted: list[Filter]) -> JsonObject:
        """The arguments without which there is no list, and all filters where the server only shows."""
        same = {each.key for each in wanted if not each.sign}
        fields = (p for p in call.fields() if p.key in same and (p.is_required or not noun.is_kept))
        scope = {noun.name_of(p.key, p.name): call.arguments[p.name] for p in fields}
        return {name: value for name, value in scope.items() if _is_plain(value)}

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
        order = self._store.wording.titles(titles)

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
