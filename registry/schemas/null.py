"""Letting null pass where OpenAPI 3.0 says ``nullable``."""

from typing import Any

from registry.schemas.constraints import NUMBERS, SIZES
from registry.schemas.dialects import ANNOTATIONS

__all__ = ["with_null"]

_INDIFFERENT = (
    ANNOTATIONS
    | NUMBERS
    | SIZES
    | {"enum", "format", "items", "pattern", "properties", "required", "type"}
)
"""Keywords that null passes, whatever they say, or that are mended so that it does."""


def with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Let null pass too."""
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
