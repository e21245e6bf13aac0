"""Names of types: those of JSON Schema, and those of programming languages that stand in their place."""

import re

from astra_mcp.types import JsonValue
from registry.schemas.faults import NotConvertibleError, json_type

__all__ = ["JSON_TYPES", "read_types"]

JSON_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")

_ALIASES = {
    "string": "str text char character date datetime date-time time timestamp uri url email uuid guid "
    "file path filepath binary bytes byte[] geopoint credentials password token regex literal",
    "number": "float double decimal numeric num real float32 float64",
    "integer": "int long short bigint int32 int64 int8 int16 uint uint8 uint32 uint64 byte",
    "boolean": "bool",
    "array": "list tuple set sequence arraylist vector frozenset iterable collection",
    "object": "dict dictionary map hashmap hashtable mapping json struct record",
    "null": "none nonetype nil void undefined",
}
_ANY = frozenset({"any", "unknown", "mixed", "enum", "union", "variant", ""})
"""Names that say nothing of the type."""
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in (name, *aliases.split())}
_PARAMETERS = re.compile(r"[\[<(].*", re.DOTALL)
_OPTIONAL = re.compile(r"(?:typing\.)?optional\s*[\[<](.*)[\]>]", re.IGNORECASE | re.DOTALL)


def read_types(value: JsonValue, place: str) -> tuple[str, ...]:
    """Read the value of ``type``.

    ``list[str]`` is an array of anything, ``Optional[int]`` and ``int | None`` an integer or null.

    Returns:
        Names of JSON Schema, each once; empty where every type is meant.

    Raises:
        NotConvertibleError: It names none that is known.
    """
    if value is None:
        return ()
    names = value if isinstance(value, list) else [value]
    types: dict[str, None] = {}
    for name in names:
        if not isinstance(name, str):
            raise NotConvertibleError(place, f"must name a type, and is {json_type(name)}")
        found = _read_name(name, place)
        if not found:
            return ()
        types.update(dict.fromkeys(found))
    if "number" in types:
        types.pop("integer", None)
        if len(types) == len(JSON_TYPES) - 1:
            return ()
    return tuple(types)


def _read_name(name: str, place: str) -> tuple[str, ...]:
    if name in JSON_TYPES:
        return (name,)
    optional = _OPTIONAL.fullmatch(name.strip())
    if optional:
        inner = _read_name(optional[1], place)
        return (*inner, "null") if inner else ()
    found: list[str] = []
    for part in _PARAMETERS.sub("", name).split("|") if "[" in name else name.split("|"):
        word = _PARAMETERS.sub("", part).partition(",")[0].strip().casefold()
        word = word.removeprefix("typing.")
        if word in _ANY:
            return ()
        if word not in _NAMES:
            raise NotConvertibleError(place, f"{name[:60]!r} is no type that is known")
        found.append(_NAMES[word])
    return tuple(found)
