"""Walking a schema along its grammar and writing it anew as JSON Schema 2020-12 without references.

References are replaced by what they name. A schema that contains itself is cut where it comes round
again; where a document of many references would grow beyond all bounds, it is cut after fewer of them.
"""

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.texts import clean_text
from registry.schemas.constraints import NUMBERS, SIZES, mend_default
from registry.schemas.dialects import ANNOTATIONS, SILENT, Dialect, dialect_of
from registry.schemas.faults import NotConvertibleError, Notes, json_type
from registry.schemas.keywords import Keywords, Schema
from registry.schemas.references import References
from registry.schemas.type_names import read_types

__all__ = ["translate"]

_MAX_DEPTH = 32
"""Schemas within schemas; the deepest seen in real documents has 7."""
_MAX_SCHEMAS = 4000
"""Schemas within one; more of them fill any model's context."""
_REFERENCE_DEPTHS = (_MAX_DEPTH, 4, 2, 1)
"""So many references within each other are followed; fewer where the schema grows too large."""
_INDIFFERENT = (
    ANNOTATIONS
    | NUMBERS
    | SIZES
    | {"enum", "format", "items", "pattern", "properties", "required", "type"}
)
"""Keywords that null passes, whatever they say, or that are mended so that it does."""


class _TooLargeError(NotConvertibleError):
    """The schema has too many parts, or too many levels of them."""


def translate(root: JsonObject, place: str, notes: Notes) -> Schema | bool:
    """Write a whole schema anew.

    Args:
        root: In any dialect; not changed.
        place: What to call it in notes and faults.
        notes: Where changes are written down.

    Raises:
        NotConvertibleError: A part cannot be mapped, or the schema is too large or too deep.
    """
    for depth in _REFERENCE_DEPTHS[:-1]:
        attempt = Notes()
        try:
            schema = _Translation(root, attempt, depth).translated(root, place)
        except _TooLargeError:
            continue
        notes.take_over(attempt)
        return schema
    return _Translation(root, notes, _REFERENCE_DEPTHS[-1]).translated(root, place)


class _Translation:
    """One walk through one document."""

    def __init__(self, root: JsonObject, notes: Notes, max_references: int) -> None:
        self._dialect = dialect_of(root)
        self._references = References(root)
        self._notes = notes
        self._max_references = max_references
        self._num_references = 0
        self._num_schemas = 0
        self._around: list[tuple[JsonObject, str]] = []
        """The schemas around the one that is being written, with their places, outermost first."""
        self._keywords = Keywords(self._schema, self._dialect, notes)

    def translated(self, root: JsonObject, place: str) -> Schema | bool:
        """Translate the whole, and note what was left out all over it."""
        schema = self._schema(root, place)
        unknown = self._keywords.unknown(besides=self._references.containers)
        if unknown:
            names = ", ".join(repr(name[:60]) for name in unknown[:12])
            self._notes.changed(place, f"keywords outside JSON Schema left out: {names}")
        return schema

    def _schema(self, node: JsonValue, place: str) -> Schema | bool:
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            raise NotConvertibleError(place, f"must be a schema, and is {json_type(node)}")
        self._num_schemas += 1
        if self._num_schemas > _MAX_SCHEMAS:
            raise _TooLargeError(place, f"has more than {_MAX_SCHEMAS} parts")
        if len(self._around) >= _MAX_DEPTH:
            raise _TooLargeError(place, f"is nested more than {_MAX_DEPTH} levels deep")
        self._around.append((node, place))
        reference = self._reference(node, place)
        schema = (
            self._keywords.written(node, place)
            if reference is None
            else self._referred(node, reference, place)
        )
        self._around.pop()
        if isinstance(schema, bool):
            return schema
        if node.get("nullable") is True:
            self._notes.num_widened += 1
            schema = _with_null(schema)
        mend_default(schema, place, self._notes)
        return schema

    def _reference(self, node: JsonObject, place: str) -> str | None:
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword not in node:
                continue
            reference = node[keyword]
            if not isinstance(reference, str):
                raise NotConvertibleError(f"{place}.{keyword}", "must be text")
            if keyword != "$ref" and self._references.has_several_resources:
                fault = "depends on the way to it, which cannot be written down"
                raise NotConvertibleError(f"{place}.{keyword}", fault)
            return reference
        return None

    def _referred(self, node: JsonObject, reference: str, place: str) -> Schema | bool:
        target = self._references.find(reference, node, place)
        beside = self._beside_reference(node, place)
        annotations = self._keywords.written(
            {k: v for k, v in beside.items() if k in ANNOTATIONS}, place
        )
        outer = next((p for schema, p in self._around if schema is target), None)
        if isinstance(target, dict) and (
            outer is not None or self._num_references >= self._max_references
        ):
            return {**self._cut(target, reference, place, outer), **annotations}
        num_widened = self._notes.num_widened
        self._num_references += 1
        inlined = self._schema(target, place)
        self._num_references -= 1
        constraints = {k: v for k, v in beside.items() if k not in ANNOTATIONS}
        if not constraints:
            if isinstance(inlined, dict):
                return {**inlined, **annotations}
            return annotations if inlined else {"not": {}, **annotations}
        own = self._keywords.written(constraints, place)
        if self._notes.num_widened > num_widened:
            self._keywords.drop_unevaluated(own, place)
        return {**own, "allOf": [inlined, *own.get("allOf", ())], **annotations}

    def _beside_reference(self, node: JsonObject, place: str) -> JsonObject:
        """What stands beside a reference and counts; until draft-07 constraints do not."""
        silent = SILENT | {"$ref", "$dynamicRef", "$recursiveRef", "nullable", "optional"}
        if isinstance(node.get("required"), bool):
            silent |= {"required"}
        beside = {k: v for k, v in node.items() if k not in silent}
        ignored = [k for k in beside if k not in ANNOTATIONS]
        if ignored and self._dialect <= Dialect.DRAFT_7:
            names = ", ".join(map(repr, ignored))
            self._notes.changed(place, f"{names} beside $ref left out, as its dialect ignores it")
            return {k: v for k, v in beside.items() if k in ANNOTATIONS}
        return beside

    def _cut(self, target: JsonObject, reference: str, place: str, outer: str | None) -> Schema:
        """Stand in for a schema that is not written out: it says the type and what it would be.

        Args:
            target: What the reference names.
            reference: As it stands.
            place: Where it stands.
            outer: The place of the target, where it is around this one.
        """
        if outer is not None and "$ref" in target:
            raise NotConvertibleError(f"{place}.$ref", f"{reference[:80]!r} names itself alone")
        why = "the whole grows too large" if outer is None else "it contains itself"
        self._notes.widened(place, f"{reference[:80]!r} is not written out here, {why}")
        schema: Schema = {}
        types = read_types(target.get("type"), place)
        if types:
            schema["type"] = types[0] if len(types) == 1 else list(types)
        if "array" in types:
            schema["items"] = {}
        told = clean_text(str(target.get("description") or ""))
        form = "" if outer is None else f"(of the same form as {outer.partition('.')[2] or 'all'})"
        if told or form:
            schema["description"] = f"{told} {form}".strip()
        return _with_null(schema) if target.get("nullable") is True else schema


def _with_null(schema: Schema) -> Schema:
    """Let null pass too, as ``nullable`` of OpenAPI 3.0 says."""
    types: str | list[str] | None = schema.get("type")
    if types is None or not schema.keys() <= _INDIFFERENT:
        annotations = {k: v for k, v in schema.items() if k in ANNOTATIONS}
        rest = {k: v for k, v in schema.items() if k not in ANNOTATIONS}
        return {"anyOf": [rest, {"type": "null"}], **annotations} if rest else schema
    named = [types] if isinstance(types, str) else types
    schema["type"] = list(dict.fromkeys([*named, "null"]))
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema
