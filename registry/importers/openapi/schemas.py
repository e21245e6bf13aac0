"""The schemas of an OpenAPI document, as they stand in a request or in a response.

What JSON Schema cannot say is turned into what it can: members that only the server or only the client
writes are left out on the other side, a discriminator becomes a constant in each alternative, a schema
that others inherit from stands for any of them, and bytes are a text in Base64. Named schemas become
``$defs``. The rest stays as found, in the dialect of the document.
"""

from collections import deque
from typing import Final, Literal

from astra_mcp.types import JsonObject, JsonValue
from registry.importers.openapi.inheritance import (
    Inheritance,
    discriminator_of,
    is_pinned,
    mapping_of,
)
from registry.importers.openapi.references import (
    PartError,
    References,
    definition_name,
    free_name,
)

__all__ = ["Schemas", "definition_of"]

MAX_VALUES: Final = 50_000
"""JSON values that the schema of one tool may have, with all that it refers to."""
MAX_ALL_VALUES: Final = 5_000_000
"""Of all tools of a document in one direction: each carries what it refers to."""

_OWN_SUFFIX: Final = ".own"
_DEFINITIONS: Final = "#/$defs/"
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLES: Final = frozenset(
    {"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_LEFT_OUT: Final = frozenset(
    {"$anchor", "$defs", "$id", "$schema", "definitions", "discriminator", "externalDocs", "xml"}
    | {"readOnly", "writeOnly"}
)
_BASE64: Final[JsonObject] = {"type": "string", "contentEncoding": "base64"}


Mark = Literal["readOnly", "writeOnly"]


class Schemas:
    """Translates schemas; each named one once."""

    def __init__(self, document: JsonObject, references: References, hiding: Mark) -> None:
        """Translate for one way that a value goes.

        Args:
            document: The whole.
            references: Those of the document.
            hiding: Members so marked do not go this way: ``readOnly`` ones not to the server, ``writeOnly``
                ones not from it.
        """
        self._references = references
        self._hiding = hiding
        self._inheritance = Inheritance(document, references)
        self._names: dict[tuple[str, bool], str] = {}
        self._sources: dict[str, tuple[str, bool, str]] = {}
        self._translated: dict[str, JsonValue] = {}
        self._all_values = 0
        self._measured: dict[str, tuple[int, tuple[str, ...]]] = {}

    def translate(self, schema: JsonValue, place: str) -> JsonValue:
        """Turn a schema into one whose references name ``$defs``.

        Args:
            schema: As found.
            place: Where it stands, for messages.

        Raises:
            PartError: It is no schema, or refers to what is not there; names the place.
        """
        return self._translate(schema, place, is_ancestor=False, hidden=frozenset())

    def definition(self, name: str) -> JsonValue:
        """Return the named schema that a reference in a translated one means.

        Raises:
            PartError: It cannot be translated.
        """
        if name not in self._translated:
            reference, is_ancestor, place = self._sources[name]
            self._translated[name] = self._define(reference, place, is_ancestor=is_ancestor)
        return self._translated[name]

    def with_definitions(self, schema: JsonObject, place: str) -> JsonObject:
        """Add all the ``$defs`` that a translated schema reaches.

        Raises:
            PartError: One of them cannot be translated, or they are too much.
        """
        size, names = _measure(schema)
        pending = deque(names)
        found: dict[str, JsonValue] = {}
        while pending:
            name = pending.popleft()
            if name in found:
                continue
            found[name] = self.definition(name)
            if name not in self._measured:
                self._measured[name] = _measure(found[name])
            size += self._measured[name][0]
            pending += self._measured[name][1]
            if size > MAX_VALUES:
                raise PartError(place, f"has more than {MAX_VALUES:,} values with all it refers to")
        self._all_values += size
        if self._all_values > MAX_ALL_VALUES:
            raise PartError(place, f"the document has more than {MAX_ALL_VALUES:,} values this way")
        return {**schema, "$defs": found} if found else schema

    def _name(self, reference: str, place: str, *, is_ancestor: bool) -> str:
        """Name what a reference means; an ancestor is meant by itself, without its heirs."""
        self._references.find(reference, place)
        is_ancestor = is_ancestor and self._inheritance.stands_for_heirs(reference, place)
        key = reference, is_ancestor
        if key not in self._names:
            base = definition_name(reference) + (_OWN_SUFFIX if is_ancestor else "")
            name = self._names[key] = free_name(base, self._sources)
            self._sources[name] = reference, is_ancestor, place
        return self._names[key]

    def _refer(self, reference: str, place: str, *, is_ancestor: bool) -> JsonObject:
        return {"$ref": _DEFINITIONS + self._name(reference, place, is_ancestor=is_ancestor)}

    def _define(self, reference: str, place: str, *, is_ancestor: bool) -> JsonValue:
        schema = self._references.find(reference, place)
        if not is_ancestor and self._inheritance.stands_for_heirs(reference, place):
            return self._alternatives(reference, place)
        return self._translate(schema, reference, is_ancestor=False, hidden=frozenset())

    def _translate(
        self, schema: JsonValue, place: str, *, is_ancestor: bool, hidden: frozenset[str]
    ) -> JsonValue:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise PartError(place, "must be an object")
        if "$ref" not in schema:
            return self._members(schema, place, hidden)
        reference = schema["$ref"]
        if not isinstance(reference, str):
            raise PartError(f"{place}.$ref", "must be a text")
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        named = self._refer(reference, place, is_ancestor=is_ancestor)
        return {**self._members(beside, place, hidden), **named}

    def _members(self, schema: JsonObject, place: str, hidden: frozenset[str]) -> JsonObject:
        hidden |= self._hidden(schema)
        result: JsonObject = {}
        for keyword, value in schema.items():
            inner = f"{place}.{keyword}"
            if keyword in _LEFT_OUT:
                continue
            if keyword in _MAPS and isinstance(value, dict):
                left_out = hidden if keyword == "properties" else frozenset[str]()
                result[keyword] = {
                    name: self.translate(part, f"{inner}.{name}")
                    for name, part in value.items()
                    if name not in left_out
                }
            elif keyword in _LISTS and isinstance(value, list):
                is_union = keyword == "allOf"
                beside = hidden if is_union else frozenset[str]()
                result[keyword] = [
                    self._translate(part, f"{inner}[{i}]", is_ancestor=is_union, hidden=beside)
                    for i, part in enumerate(value)
                ]
            elif keyword in _SINGLES and isinstance(value, dict):
                result[keyword] = self.translate(value, inner)
            elif keyword == "required" and isinstance(value, list):
                result[keyword] = [n for n in value if not (isinstance(n, str) and n in hidden)]
            else:
                result[keyword] = value
        self._pin_branches(schema, result, place)
        return _with_texts_for_bytes(result)

    def _hidden(self, schema: JsonObject) -> frozenset[str]:
        """Name the members that do not go this way, inherited ones included."""
        names: set[str] = set()
        seen: set[str] = set()
        pending: list[JsonValue] = [schema]
        while pending:
            part = pending.pop()
            if not isinstance(part, dict):
                continue
            reference, branches = part.get("$ref"), part.get("allOf")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                pending.append(self._look(reference))
            properties = part.get("properties")
            if isinstance(properties, dict):
                names |= {name for name, member in properties.items() if self._is_hidden(member)}
            pending += branches if isinstance(branches, list) else []
        return frozenset(names)

    def _is_hidden(self, part: JsonValue) -> bool:
        seen: set[str] = set()
        while isinstance(part, dict):
            if part.get(self._hiding) is True:
                return True
            reference = part.get("$ref")
            if not isinstance(reference, str) or reference in seen:
                return False
            seen.add(reference)
            part = self._look(reference)
        return False

    def _look(self, reference: str) -> JsonValue:
        """Find a part; what cannot be found is reported where it is translated."""
        try:
            return self._references.find(reference, "")
        except PartError:
            return None

    def _alternatives(self, reference: str, place: str) -> JsonValue:
        schema = self._references.resolve(self._references.find(reference, place), place)
        texts = {name: schema[name] for name in ("title", "description") if name in schema}
        name = discriminator_of(schema)
        assert name is not None  # noqa: S101 - it would not stand for its heirs otherwise
        heirs = self._inheritance.named_heirs(reference, schema)
        where = f"{reference}.discriminator"
        return {**texts, "oneOf": [self._pinned(h, name, heirs[h], where) for h in heirs]}

    def _pin_branches(self, schema: JsonObject, result: JsonObject, place: str) -> None:
        """Say in each alternative which value of the discriminator chooses it."""
        name = discriminator_of(schema)
        mapping = mapping_of(schema)
        for keyword in ("oneOf", "anyOf"):
            branches, translated = schema.get(keyword), result.get(keyword)
            if name is None or not isinstance(branches, list) or not isinstance(translated, list):
                continue
            for i, branch in enumerate(branches):
                reference = branch.get("$ref") if isinstance(branch, dict) else None
                if isinstance(reference, str):
                    values = mapping.get(reference, [definition_name(reference)])
                    inner = f"{place}.{keyword}[{i}]"
                    translated[i] = self._pinned(reference, name, values, inner)

    def _pinned(self, reference: str, name: str, values: list[str], place: str) -> JsonObject:
        named = self._refer(reference, place, is_ancestor=True)
        if is_pinned(self._references.find(reference, place), name, values):
            return named
        chosen: JsonObject = {"const": values[0]} if len(values) == 1 else {"enum": [*values]}
        pin: JsonObject = {"type": "object", "properties": {name: chosen}, "required": [name]}
        return {"allOf": [named, pin]}


def definition_of(reference: JsonValue) -> str | None:
    """Name the definition that a reference of a translated schema means; None for another value."""
    if isinstance(reference, str) and reference.startswith(_DEFINITIONS):
        return reference.removeprefix(_DEFINITIONS)
    return None


def _with_texts_for_bytes(schema: JsonObject) -> JsonObject:
    """JSON carries bytes as a text only."""
    is_bytes = schema.get("format") in ("binary", "byte") or schema.get("type") == "file"
    is_raw = "contentMediaType" in schema and "contentEncoding" not in schema
    if not is_bytes and not (is_raw and schema.get("type", "string") == "string"):
        return schema
    return {**{k: v for k, v in schema.items() if k != "format"}, **_BASE64}


def _measure(schema: JsonValue) -> tuple[int, tuple[str, ...]]:
    """Count the values of a translated schema, and name the definitions that it refers to."""
    size, names, pending = 0, list[str](), [schema]
    while pending:
        part = pending.pop()
        size += 1
        if isinstance(part, dict):
            name = definition_of(part.get("$ref"))
            if name is not None:
                names.append(name)
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return size, tuple(names)
