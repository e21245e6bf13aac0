"""The further members of a tool's document, reduced to what MCP defines of them."""

from astra_mcp.types import JsonObject, JsonValue, json_fault
from registry.documents.texts import clean_text

__all__ = ["clean_extra"]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ICON_TEXTS = ("src", "mimeType", "theme")


def clean_extra(extra: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """Keep ``title``, ``annotations``, ``icons`` and ``_meta`` as far as they are what MCP says.

    Returns:
        What is left, and a note for each member that was left out although it said something.
    """
    readers = {
        "title": _title,
        "annotations": _annotations,
        "icons": _icons,
        "_meta": _meta,
    }
    kept: JsonObject = {}
    notes: list[str] = []
    for name, value in extra.items():
        if value is None:
            continue
        clean = readers[name](value) if name in readers else None
        if clean:
            kept[name] = clean
        if name not in readers or (clean is None and value):
            notes.append(f"{name[:60]}: left out, it is not what MCP defines")
        elif name == "annotations" and isinstance(value, dict):
            notes += _left_out(value)
    return kept, tuple(notes)


def _left_out(annotations: JsonObject) -> list[str]:
    known = {"title", *_HINTS}
    names = [name for name, value in annotations.items() if name not in known and value is not None]
    if not names:
        return []
    shown = ", ".join(repr(name[:60]) for name in names[:8])
    return [f"annotations: members that MCP does not define left out: {shown}"]


def _title(value: JsonValue) -> JsonValue:
    return clean_text(value) if isinstance(value, str) else None


def _annotations(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return None
    kept: JsonObject = {}
    title = _title(value.get("title"))
    if title:
        kept["title"] = title
    for name in _HINTS:
        if isinstance(value.get(name), bool):
            kept[name] = value[name]
    return kept


def _icons(value: JsonValue) -> JsonValue:
    if not isinstance(value, list):
        return None
    return [icon for entry in value if (icon := _icon(entry))]


def _icon(entry: JsonValue) -> JsonObject | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("src"), str):
        return None
    icon = {name: entry[name] for name in _ICON_TEXTS if isinstance(entry.get(name), str)}
    sizes = entry.get("sizes")
    if isinstance(sizes, list) and all(isinstance(size, str) for size in sizes):
        icon["sizes"] = sizes
    return None if json_fault(icon) else icon


def _meta(value: JsonValue) -> JsonValue:
    return value if isinstance(value, dict) and json_fault(value) is None else None
