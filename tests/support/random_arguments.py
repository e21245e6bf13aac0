"""Arguments that a schema is likely to take, drawn from a seed without the code that is tested."""

from random import Random
from typing import Any, cast

_MAX_DEPTH = 6
_TEXTS = {
    "date": "2024-02-29",
    "date-time": "2024-02-29T12:00:00Z",
    "email": "someone@example.org",
    "uri": "https://example.org/path",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}


class RandomArguments:
    """Draws arguments of one schema, in whatever dialect it is."""

    def __init__(self, schema: dict[str, Any], *, seed: int) -> None:
        self._root = schema
        self._random = Random(seed)  # noqa: S311

    def arguments(self) -> dict[str, Any]:
        """An object of all that is required and some of the rest."""
        drawn = self._value(self._root, 0)
        return cast("dict[str, Any]", drawn) if isinstance(drawn, dict) else {}

    def _value(self, found: Any, depth: int) -> Any:
        if not isinstance(found, dict) or depth > _MAX_DEPTH:
            return None
        schema = cast("dict[str, Any]", found)
        if "$ref" in schema:
            return self._value(self._named(schema["$ref"]), depth + 1)
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema and "properties" not in schema:
                return self._value(self._random.choice(schema[keyword]), depth + 1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._random.choice(schema["enum"])
        return self._typed(schema, depth)

    def _named(self, reference: str) -> Any:
        found: Any = self._root
        for step in reference.removeprefix("#").split("/")[1:]:
            found = found[int(step) if isinstance(found, list) else step]
        return found

    def _typed(self, schema: dict[str, Any], depth: int) -> Any:
        kind: Any = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = self._random.choice(cast("list[str]", kind))
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "integer" | "number":
                low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
                return self._random.choice((low, low + 1, schema.get("maximum", low)))
            case "boolean":
                return self._random.random() < 0.5
            case "null":
                return None
            case _:
                return _TEXTS.get(
                    schema.get("format", ""), "x" * max(3, schema.get("minLength", 0))
                )

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required: list[str] = schema.get("required") or []
        properties: dict[str, Any] = schema.get("properties") or {}
        return {
            name: self._value(member, depth + 1)
            for name, member in properties.items()
            if name in required or self._random.random() < 0.5
        }

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        items: Any = schema.get("items", {})
        if isinstance(items, list):
            return [self._value(item, depth + 1) for item in cast("list[Any]", items)]
        least: int = schema.get("minItems", 0)
        return [self._value(items, depth + 1) for _ in range(least + self._random.randrange(2))]
