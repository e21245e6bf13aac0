"""A schema without references and alternatives: which of them count for a value is decided here."""

from functools import reduce
from typing import Any, Final, cast

from astra_mcp.types import JsonValue
from astra_mcp.values.merging import Schema, merged
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import UnmetError, takes

__all__ = ["NOTHING", "Alternatives", "as_schema"]

NOTHING: Final = object()
"""Nothing is told of a value, not even that it is null."""
_DEPTH_OF_FEW: Final = 4
"""Below it the lightest alternative is taken, which ends a recursion."""
_MAX_STEPS: Final = 60


class Alternatives:
    """Chooses for the schemas under one root."""

    def __init__(self, root: Schema, attempt: int) -> None:
        """Prepare.

        Args:
            root: Where local references begin.
            attempt: Another one chooses other alternatives.
        """
        self._root = root
        self._attempt = attempt

    def flat(self, schema: object, rng: RandomStream, told: object, depth: int) -> Schema:
        """Follow references, and choose between alternatives, until plain keywords are left.

        Args:
            schema: Any.
            rng: Decide the choices.
            told: What is known of the value; alternatives of its kind are preferred.
            depth: How deep the value lies.

        Raises:
            UnmetError: A reference leads nowhere or has no end, or nothing is allowed.
        """
        flat = as_schema(schema)
        for step in range(_MAX_STEPS):
            if "$ref" in flat or "$dynamicRef" in flat:
                flat = self._followed(flat)
            elif "allOf" in flat:
                flat = _all_of(flat)
            elif "anyOf" in flat:
                flat = self._branch(flat, "anyOf", rng.at("anyOf", step), told, depth)
            elif "oneOf" in flat:
                flat = self._branch(flat, "oneOf", rng.at("oneOf", step), told, depth)
            elif "if" in flat:
                flat = self._condition(flat)
            else:
                return flat
        raise UnmetError("references without an end")

    def _followed(self, schema: Schema) -> Schema:
        keyword = "$ref" if "$ref" in schema else "$dynamicRef"
        rest = {name: value for name, value in schema.items() if name != keyword}
        return merged(rest, as_schema(self._target(schema[keyword])))

    def _target(self, reference: Any) -> object:
        """The schema that a local reference names."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise UnmetError(f"the reference {reference!r} leads elsewhere")
        if not reference.startswith("#/"):
            return self._root if reference == "#" else _anchored(self._root, reference[1:])
        found: Any = self._root
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~").replace("%25", "%")
            if isinstance(found, dict) and name in found:
                found = cast("dict[str, Any]", found)[name]
            elif (
                isinstance(found, list)
                and name.isdigit()
                and int(name) < len(cast("list[Any]", found))
            ):
                found = cast("list[Any]", found)[int(name)]
            else:
                raise UnmetError(f"the reference {reference!r} leads nowhere")
        return found

    def _branch(
        self, schema: Schema, keyword: str, rng: RandomStream, told: object, depth: int
    ) -> Schema:
        """Choose one alternative; another one at another attempt."""
        rest = {name: value for name, value in schema.items() if name != keyword}
        branches = [branch for branch in schema[keyword] if branch is not False]
        fitting = [branch for branch in branches if self._may_be(branch, told)] or branches
        if depth > _DEPTH_OF_FEW:
            fitting = sorted(fitting, key=_weight)[:1]
        if not fitting:
            raise UnmetError(f"no alternative of {keyword} is allowed")
        chosen = fitting[(rng.below(len(fitting)) + self._attempt) % len(fitting)]
        return merged(rest, as_schema(chosen))

    def _may_be(self, branch: Any, told: object) -> bool:
        """Say whether an alternative is not null, and of the kind of what is told."""
        if not isinstance(branch, dict):
            return True
        schema = cast("dict[str, Any]", branch)
        try:
            schema = self._followed(schema) if "$ref" in schema else schema
        except UnmetError:
            return False
        kinds = schema.get("type")
        if kinds is None or isinstance(kinds, list):
            return True
        if isinstance(told, list):
            return kinds == "array"
        if isinstance(told, dict):
            return kinds in ("object", "array")
        return takes(schema, cast("JsonValue", told)) if told is not NOTHING else kinds != "null"

    def _condition(self, schema: Schema) -> Schema:
        """Meet the condition and what follows from it; at odd attempts what follows otherwise."""
        rest = {k: v for k, v in schema.items() if k not in ("if", "then", "else")}
        if self._attempt % 2:
            return merged(rest, as_schema(schema.get("else", True)))
        met = merged(rest, as_schema(schema["if"])) if schema["if"] is not False else rest
        return merged(met, as_schema(schema.get("then", True)))


def as_schema(schema: object) -> Schema:
    """A schema as an object of keywords.

    Raises:
        UnmetError: It allows nothing.
    """
    if schema is False:
        raise UnmetError("nothing is allowed here")
    return cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}


def _all_of(schema: Schema) -> Schema:
    rest: Schema = {name: value for name, value in schema.items() if name != "allOf"}
    return reduce(merged, map(as_schema, schema["allOf"]), rest)


def _anchored(schema: object, name: str) -> object:
    """The schema under a root that has an anchor."""
    pending: list[object] = [schema]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            fields = cast("dict[str, Any]", found)
            if name in (fields.get("$anchor"), fields.get("$dynamicAnchor")):
                return fields
            pending.extend(fields.values())
        elif isinstance(found, list):
            pending.extend(cast("list[object]", found))
    raise UnmetError(f"there is no anchor {name!r}")


def _weight(branch: Any) -> int:
    """How much a schema may unfold; the lightest ones end a recursion."""
    if not isinstance(branch, dict):
        return 0
    schema = cast("dict[str, Any]", branch)
    if "$ref" in schema or "required" in schema:
        return 3
    return 2 if {"properties", "items", "anyOf", "oneOf", "allOf"} & set(schema) else 1
