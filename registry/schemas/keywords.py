"""The keywords of one schema, each written anew as JSON Schema 2020-12.

A field may be called ``properties``, ``type`` or ``$ref``: what a key means is told by where it stands,
never by its name alone.
"""

from collections.abc import Callable, Collection, ItemsView
from typing import Any

from astra_mcp.types import JsonObject, JsonValue, json_fault
from registry.documents.texts import clean_text
from registry.schemas.constraints import NUMBERS, SIZES, mend, usable_pattern
from registry.schemas.dialects import SILENT, Dialect, is_known
from registry.schemas.faults import NotConvertibleError, Notes, json_type

__all__ = ["Keywords", "Schema"]

Schema = dict[str, Any]

_TEXTS = frozenset({"contentEncoding", "contentMediaType", "format", "pattern"})
_FLAGS = frozenset({"deprecated", "readOnly", "uniqueItems", "writeOnly"})
_PLAIN = NUMBERS | SIZES | {"type", "enum", "const", "default"}
_ELSEWHERE = frozenset(
    {"additionalItems", "else", "maxContains", "minContains", "nullable", "optional", "then"}
)
"""Keywords that are read with another one, or with the schema around."""


class Keywords:
    """Writes the keywords of any schema of one document."""

    def __init__(
        self, schema: Callable[[JsonValue, str], Schema | bool], dialect: Dialect, notes: Notes
    ) -> None:
        """Prepare for a document.

        Args:
            schema: Translates a schema below, given its place.
            dialect: Of the whole document.
            notes: Where changes are written down.
        """
        self._schema = schema
        self._dialect = dialect
        self._notes = notes
        self._unknown: dict[str, None] = {}
        self._writers: dict[str, Callable[[Schema, JsonObject, str, str], None]] = {
            "additionalProperties": self._rest,
            "allOf": self._alternatives,
            "anyOf": self._alternatives,
            "contains": self._contains,
            "dependencies": self._dependent,
            "dependentRequired": self._dependent,
            "dependentSchemas": self._dependent,
            "if": self._exact,
            "items": self._items,
            "not": self._exact,
            "oneOf": self._alternatives,
            "patternProperties": self._pattern_properties,
            "prefixItems": self._prefix_items,
            "properties": self._properties,
            "propertyNames": self._below,
            "required": self._required,
            "unevaluatedItems": self._rest,
            "unevaluatedProperties": self._rest,
        }

    def unknown(self, *, besides: Collection[str]) -> tuple[str, ...]:
        """Keywords that were left out because JSON Schema has no such."""
        return tuple(name for name in self._unknown if name not in besides)

    def written(self, node: JsonObject, place: str) -> Schema:
        """Translate the keywords of one schema that are no reference.

        Raises:
            NotConvertibleError: One of them cannot be mapped.
        """
        schema: Schema = {}
        num_widened = self._notes.num_widened
        for keyword in node:
            if keyword in SILENT or keyword in _ELSEWHERE:
                continue
            if is_known(keyword, self._dialect):
                self._writers.get(keyword, self._value)(schema, node, keyword, place)
            else:
                self._notes.changed(f"{place}.{keyword}", "left out, its dialect ignores it")
        self._read_optional(schema, node, place)
        if self._notes.num_widened > num_widened:
            self.drop_unevaluated(schema, place)
        mend(schema, place, self._notes)
        return schema

    def drop_unevaluated(self, schema: Schema, place: str) -> None:
        """Drop what depends on all that others looked at, where they look at less now."""
        for keyword in ("unevaluatedItems", "unevaluatedProperties"):
            if keyword in schema:
                del schema[keyword]
                fault = "left out, what it leaves over cannot be said exactly"
                self._notes.widened(f"{place}.{keyword}", fault)

    def _object(self, node: JsonValue, place: str) -> Schema:
        """Translate where some providers take objects alone."""
        schema = self._schema(node, place)
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        return schema

    def _value(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        """Read a keyword that holds no schema."""
        value = node[keyword]
        if keyword in _PLAIN:
            schema[keyword] = value
        elif keyword in ("title", "description"):
            if isinstance(value, str) and (text := clean_text(value)):
                schema[keyword] = text
        elif keyword in _TEXTS or keyword in _FLAGS:
            if isinstance(value, str if keyword in _TEXTS else bool):
                schema[keyword] = value
            elif value is not None:
                self._notes.widened(f"{place}.{keyword}", f"left out, it is {json_type(value)}")
        elif keyword in ("example", "examples"):
            if json_fault(value) is None:
                schema["examples"] = value if isinstance(value, list) else [value]
        else:
            self._unknown.setdefault(keyword)

    def _properties(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        within = f"{place}.{keyword}"
        properties: Schema = {}
        schema[keyword] = properties
        for name, member in _members({} if node[keyword] is None else node[keyword], within):
            if "\0" in name:
                raise NotConvertibleError(within, "a name holds a NUL character")
            of_member = f"{within}.{name}"
            if isinstance(member, str):
                self._notes.changed(of_member, "text read as the name of its type")
                properties[name] = self._object({"type": member}, of_member)
            else:
                properties[name] = self._object(member, of_member)
            if isinstance(member, dict) and member.get("required") is True:
                self._require(schema, name)

    def _required(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        """Read a list of names; the boolean of draft-03 is read with the schema around."""
        within = f"{place}.{keyword}"
        value = node[keyword]
        if isinstance(value, str):
            self._notes.changed(within, "text read as a list of one name")
            value = [value]
        if isinstance(value, list):
            for name in value:
                if isinstance(name, str):
                    self._require(schema, name)
                else:
                    self._notes.widened(within, f"{json_type(name)} in it left out")
        elif value is not None and not isinstance(value, bool):
            self._notes.widened(within, f"left out, it is {json_type(value)}")

    @staticmethod
    def _require(schema: Schema, name: str) -> None:
        required: list[str] = schema.setdefault("required", [])
        if name not in required:
            required.append(name)

    def _read_optional(self, schema: Schema, node: JsonObject, place: str) -> None:
        """Take properties that say ``optional: true`` out of the required ones."""
        properties = node.get("properties")
        members = properties.items() if isinstance(properties, dict) else ()
        optional = {n for n, m in members if isinstance(m, dict) and m.get("optional") is True}
        required: list[str] = schema.get("required", [])
        if optional.intersection(required):
            schema["required"] = [name for name in required if name not in optional]
            names = ", ".join(sorted(optional.intersection(required)))
            self._notes.widened(f"{place}.required", f"{names} left out, marked as optional")
        if not schema.get("required", True):
            del schema["required"]

    def _items(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        """Translate ``items``; a list of them is ``prefixItems`` since 2020-12."""
        within = f"{place}.{keyword}"
        value = node[keyword]
        if not isinstance(value, list):
            if value is not None:
                items = self._schema(value, within)
                schema["items"] = {} if items is True else items
            return
        if value:
            schema["prefixItems"] = self._list(value, within)
        if node.get("additionalItems") is not None:
            schema["items"] = self._schema(node["additionalItems"], f"{place}.additionalItems")

    def _rest(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        within = f"{place}.{keyword}"
        value = node[keyword]
        if isinstance(value, dict | bool):
            schema[keyword] = self._schema(value, within)
        elif value is not None:
            self._notes.widened(within, f"left out, it is {json_type(value)}")

    def _pattern_properties(
        self, schema: Schema, node: JsonObject, keyword: str, place: str
    ) -> None:
        within = f"{place}.{keyword}"
        members = {p: self._object(m, f"{within}.{p}") for p, m in _members(node[keyword], within)}
        for pattern in [pattern for pattern in members if not usable_pattern(pattern)]:
            del members[pattern]
            self._notes.widened(within, f"{pattern[:60]!r} left out, it cannot be checked")
        if members:
            schema["patternProperties"] = members

    def _dependent(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        """Translate what one property asks of others; ``dependencies`` held both forms until draft-07."""
        within = f"{place}.{keyword}"
        for name, needed in _members(node[keyword], within):
            if isinstance(needed, str | list):
                names = [needed] if isinstance(needed, str) else needed
                texts = list(dict.fromkeys(n for n in names if isinstance(n, str)))
                schema.setdefault("dependentRequired", {})[name] = texts
            else:
                written = self._object(needed, f"{within}.{name}")
                schema.setdefault("dependentSchemas", {})[name] = written

    def _contains(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        within = f"{place}.{keyword}"
        num_widened = self._notes.num_widened
        schema["contains"] = self._object(node[keyword], within)
        for limit in ("minContains", "maxContains"):
            if limit in node and is_known(limit, self._dialect):
                schema[limit] = node[limit]
        if "maxContains" in schema and self._notes.num_widened > num_widened:
            del schema["maxContains"]
            self._notes.widened(within, "maxContains left out, more values are counted now")

    def _exact(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        """Translate what is negated: it must not let more values pass, or the whole would let fewer."""
        num_widened = self._notes.num_widened
        condition = self._object(node[keyword], f"{place}.{keyword}")
        if self._notes.num_widened > num_widened:
            self._notes.widened(f"{place}.{keyword}", "left out, it cannot be said exactly")
            return
        schema[keyword] = condition
        if keyword == "if":
            for branch in ("then", "else"):
                if branch in node:
                    self._below(schema, node, branch, place)

    def _alternatives(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        within = f"{place}.{keyword}"
        value = node[keyword]
        if value == [] or value is None:
            self._notes.widened(within, "left out, it is empty")
            return
        num_widened = self._notes.num_widened
        branches = self._list(value, within)
        if keyword == "oneOf" and self._notes.num_widened > num_widened:
            self._notes.widened(within, "read as anyOf, several may match now")
            keyword = "anyOf"
        if keyword == "allOf":
            schema.setdefault(keyword, []).extend(branches)
        elif keyword in schema:
            schema.setdefault("allOf", []).append({keyword: branches})
        else:
            schema[keyword] = branches

    def _prefix_items(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        schema[keyword] = self._list(node[keyword], f"{place}.{keyword}")

    def _below(self, schema: Schema, node: JsonObject, keyword: str, place: str) -> None:
        schema[keyword] = self._object(node[keyword], f"{place}.{keyword}")

    def _list(self, value: JsonValue, within: str) -> list[Schema]:
        if not isinstance(value, list):
            raise NotConvertibleError(within, f"must be a list, and is {json_type(value)}")
        return [self._object(part, f"{within}[{n}]") for n, part in enumerate(value)]


def _members(value: JsonValue, within: str) -> ItemsView[str, JsonValue]:
    if not isinstance(value, dict):
        raise NotConvertibleError(within, f"must be an object, and is {json_type(value)}")
    return value.items()
