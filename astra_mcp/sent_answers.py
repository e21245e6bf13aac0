"""Which answers does an agent send itself, in the arguments of a call?

A tool that repeats its arguments would find whatever it is sent. An answer is *sent* by a call where each of
its tokens stands in the call's free text: all values of all arguments together, in any order, and the names
that the tool's schema does not declare. What an agent can only choose is no free text: truth values, members
of an enumeration, and the arguments that the gold calls of a tool mark as modifying. Knows sub-tasks, schemas
and arguments; knows neither records nor the order of calls.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, cast

import anyio.lowlevel
import orjson

from astra_mcp.answers import Matching, match_answers, match_in_slices, tokenize
from astra_mcp.types import JobItem, JsonValue, ToolResult, ToolSpec

__all__ = [
    "NOTHING_SENT",
    "Sent",
    "free_texts",
    "modifying_names",
    "sent_by",
    "sent_in_slices",
    "shown_by",
]

_Schema = Mapping[str, Any]
_BETWEEN = " ; "
"""Stands between two values: no token goes on beyond it."""
_VALUES_AT_ONCE = 4096
_MAX_REFERENCES = 64
_MAX_REMEMBERED = 1024
"""Schemas, and places of one."""
_SCALAR = (str, int, float)


class Sent(NamedTuple):
    """What a call sends of answers."""

    ids: frozenset[int] = frozenset()
    """Of the sub-tasks whose answers it sends; all that were looked for where there is a refusal."""
    refusal: str | None = None
    """Why the arguments were not read to their end, such as a text that is made to be costly."""


NOTHING_SENT = Sent()


def sent_by(
    job: Sequence[JobItem], tool: ToolSpec, arguments: Mapping[str, JsonValue]
) -> frozenset[int]:
    """Find the sub-tasks whose answers a call sends itself.

    Args:
        job: The sub-tasks of an environment.
        tool: One of the environment's tools, under its own name.
        arguments: Those of the call; arguments too costly to read send every answer.
    """
    texts = free_texts(arguments, tool.input_schema, modifying_names(job, tool.name))
    return _sent(job, match_answers(_BETWEEN.join(texts), _looked_for(job))).ids


async def sent_in_slices(items: Sequence[JobItem], texts: Iterable[str]) -> Sent:
    """Find which of the answers stand in the free texts of one call, and let others have their turn."""
    read: list[str] = []
    for text in texts:
        read.append(text)
        if len(read) % _VALUES_AT_ONCE == 0:
            await anyio.lowlevel.checkpoint()
    return _sent(items, await match_in_slices(_BETWEEN.join(read), _looked_for(items)))


def shown_by(items: Sequence[JobItem], result: ToolResult) -> frozenset[int]:
    """Find the sub-tasks whose answers a result shows, whoever is its author and whatever solves them."""
    structured = "" if result.structured is None else orjson.dumps(result.structured).decode()
    found = match_answers(f"{result.text}\n{structured}", {i.answer for i in items}).found
    return frozenset(i.id for i in items if i.answer in found)


def modifying_names(job: Sequence[JobItem], tool: str) -> frozenset[str]:
    """Name the arguments that the gold calls of a tool mark as modifying."""
    return frozenset(name for item in job for name in item.modifying.get(tool, ()))


def free_texts(
    arguments: Mapping[str, JsonValue], schema: _Schema, modifying: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Read out the values and undeclared names that an agent may write as it likes.

    Args:
        arguments: Those of a call, at most 100 levels deep.
        schema: What the tool declares of them; empty for a tool that there is not.
        modifying: Arguments that are no free text, ``outer.inner`` for the members of an object.
    """
    declared = _declared_by(schema)
    return _Reading(declared, modifying).texts(dict(arguments), declared.place((schema,)), "")


def _looked_for(items: Sequence[JobItem]) -> frozenset[str]:
    return _with_tokens(tuple([i.answer for i in items]))


@lru_cache(maxsize=4096)
def _with_tokens(answers: tuple[str, ...]) -> frozenset[str]:
    """Each answer, and each of its tokens; a few tokens are others where they stand alone (``2h``)."""
    return frozenset(text for answer in answers for text in (answer, *_tokens(answer)))


def _sent(items: Sequence[JobItem], matching: Matching) -> Sent:
    if matching.refusal is not None:
        return Sent(frozenset(i.id for i in items), matching.refusal)
    found = matching.found
    if not found:
        return NOTHING_SENT
    stand = (i.id for i in items if i.answer in found or found.issuperset(_tokens(i.answer)))
    return Sent(frozenset(stand))


@lru_cache(maxsize=4096)
def _tokens(answer: str) -> tuple[str, ...]:
    return tokenize(answer)


@dataclass(frozen=True, slots=True)
class _Place:
    """What a schema says of a value: its alternatives taken together."""

    named: frozenset[object] = frozenset()
    """Members of enumerations."""
    members: Mapping[str, list[_Schema]] = field(default_factory=dict[str, list[_Schema]])
    items: Sequence[_Schema] = ()

    @classmethod
    def of(cls, schemas: Iterable[object], root: _Schema) -> "_Place":
        """Read schemas of one value, any of which may hold."""
        named: set[object] = set()
        members: dict[str, list[_Schema]] = {}
        items: list[_Schema] = []
        for schema in _alternatives(schemas, root):
            constant = [schema["const"]] if "const" in schema else []
            enumerated = [*cast("Iterable[object]", schema.get("enum", ())), *constant]
            named |= {v for v in enumerated if isinstance(v, _SCALAR)}
            for name, member in cast("_Schema", schema.get("properties", {})).items():
                members.setdefault(name, []).append(member)
            if "items" in schema:
                items.append(schema["items"])
        return cls(frozenset(named), members, items)


class _Declared:
    """What one schema declares, each place of it read once."""

    def __init__(self, root: _Schema) -> None:
        self._root = root
        self._places: dict[tuple[int, ...], _Place] = {}
        """By which parts of the root hold there; it keeps them alive, so that none has another's identity."""

    def place(self, schemas: Sequence[object]) -> _Place:
        """Look up what parts of the root say of one value, any of which may hold."""
        key = tuple(map(id, schemas))
        found = self._places.get(key)
        if found is None:
            if len(self._places) >= _MAX_REMEMBERED:
                self._places.clear()
            found = self._places[key] = _Place.of(schemas, self._root)
        return found


def _declared_by(schema: _Schema) -> _Declared:
    """Look up what a tool's schema declares, which is one object for as long as the tool is shown."""
    found = _declared.get(id(schema))
    if found is None:
        if len(_declared) >= _MAX_REMEMBERED:
            _declared.clear()
        found = _declared[id(schema)] = _Declared(schema)
    return found


_declared: dict[int, _Declared] = {}
"""By the identity of the schema, which each keeps alive."""


@dataclass(frozen=True, slots=True)
class _Reading:
    declared: _Declared
    modifying: frozenset[str]

    def texts(self, value: JsonValue, place: _Place, path: str) -> Iterator[str]:
        """Read a value out; the path names it among the arguments, and is that of an array in its items."""
        if isinstance(value, dict):
            yield from self._of_object(value, place, path)
        elif isinstance(value, list):
            items = self.declared.place(place.items)
            for item in value:
                yield from self.texts(item, items, path)
        elif value is not None and not isinstance(value, bool) and value not in place.named:
            yield str(value)

    def _of_object(self, value: Mapping[str, JsonValue], place: _Place, path: str) -> Iterator[str]:
        for name, member in value.items():
            inner = f"{path}.{name}" if path else name
            if inner in self.modifying:
                continue
            declared = place.members.get(name)
            if declared is None:
                yield name
            yield from self.texts(member, self.declared.place(declared or ()), inner)


def _alternatives(schemas: Iterable[object], root: _Schema) -> Iterator[_Schema]:
    """Follow local references and what any of, one of or all of holds."""
    pending = list(schemas)
    for _ in range(_MAX_REFERENCES):
        if not pending:
            return
        schema = pending.pop()
        if not isinstance(schema, dict):
            continue
        known = cast("_Schema", schema)
        yield known
        for word in ("anyOf", "oneOf", "allOf"):
            pending += known.get(word, ())
        if "$ref" in known:
            pending.append(_referred(str(known["$ref"]), root))


def _referred(reference: str, root: _Schema) -> object:
    target: Any = root
    for step in reference.removeprefix("#/").split("/"):
        inner: _Schema = cast("_Schema", target) if isinstance(target, dict) else {}
        target = inner.get(step)
    return target
