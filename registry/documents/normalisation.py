"""Making one ToolSpec of every tool document, compatible with OpenAI function calling (ASTRA sec. 2.1.1)."""

from hashlib import sha256
from typing import NamedTuple

from astra_mcp.types import JsonObject, JsonValue, ToolSpec, canonical_json, json_fault
from registry.documents.sources import Rejection, ToolDocument, ToolReason
from registry.documents.texts import clean_text, safe_name
from registry.schemas.argument_schemas import normalise_arguments, normalise_result
from registry.schemas.faults import NotConvertibleError

__all__ = ["NormalTool", "normalise_tool", "tool_hash"]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_ICON_TEXTS = ("src", "mimeType", "theme")


class NormalTool(NamedTuple):
    """A tool that every consumer can read."""

    spec: ToolSpec
    notes: tuple[str, ...]
    """What was changed in its meaning, for people; each names the field."""


def tool_hash(spec: ToolSpec) -> str:
    """Identify a version of a tool: 64 hex digits of SHA-256 over its canonical JSON."""
    return sha256(canonical_json(spec.model_dump())).hexdigest()


def normalise_tool(document: ToolDocument) -> NormalTool | Rejection:
    """Write a tool anew: a name that providers take, clean texts, and one schema of its arguments.

    A schema of results that cannot be mapped is left out and noted: the tool can be called without it.

    Returns:
        The tool, or why it cannot be converted, naming the field.
    """
    if not document.name.strip():
        detail = "name: the entry is no object with a name"
        return Rejection(ToolReason.NOT_CONVERTIBLE, detail)
    try:
        input_schema, notes = normalise_arguments(document.input_schema, "input_schema")
    except NotConvertibleError as error:
        return Rejection(ToolReason.NOT_CONVERTIBLE, str(error))
    name = safe_name(document.name, fallback="tool")
    if name != document.name:
        notes = (f"name: {document.name[:80]!r} written as {name!r}", *notes)
    output_schema, output_notes = _output_schema(document)
    extra, extra_notes = _clean_extra(document.extra)
    spec = ToolSpec(
        name=name,
        description=clean_text(document.description or ""),
        input_schema=input_schema,
        output_schema=output_schema,
        extra=extra,
    )
    return NormalTool(spec, (*notes, *output_notes, *extra_notes))


def _output_schema(document: ToolDocument) -> tuple[JsonObject | None, tuple[str, ...]]:
    if document.output_schema is None:
        return None, ()
    try:
        return normalise_result(document.output_schema, "output_schema")
    except NotConvertibleError as error:
        return None, (f"output_schema: left out: {error}",)


def _clean_extra(extra: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """Keep ``title``, ``annotations``, ``icons`` and ``_meta`` as far as they are what MCP says.

    Returns:
        What is left, and a note for each member that was left out although it said something.
    """
    readers = {"title": _title, "annotations": _annotations, "icons": _icons, "_meta": _meta}
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
        elif name == "annotations" and (unknown := _unknown_annotations(value)):
            shown = ", ".join(repr(name[:60]) for name in unknown[:8])
            notes.append(f"annotations: members that MCP does not define left out: {shown}")
    return kept, tuple(notes)


def _unknown_annotations(value: JsonValue) -> list[str]:
    members = value.items() if isinstance(value, dict) else ()
    return [n for n, said in members if n not in ("title", *_HINTS) and said is not None]


def _title(value: JsonValue) -> JsonValue:
    return clean_text(value) if isinstance(value, str) else None


def _annotations(value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return None
    title = _title(value.get("title"))
    hints = {name: value[name] for name in _HINTS if isinstance(value.get(name), bool)}
    return {"title": title, **hints} if title else hints


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
