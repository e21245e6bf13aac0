"""Reading one entry of a list of tools; nothing that stands in such a list is lost."""

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import ToolDocument

__all__ = ["tool_entry"]

_EXTRA = ("title", "annotations", "icons", "_meta")


def tool_entry(
    entry: JsonValue, *, schema_member: str, output_member: str = "output_schema"
) -> ToolDocument:
    """Read an entry.

    What is no object, or has no name, becomes a document without a name that carries the entry as it is
    in place of a schema: normalisation rejects it with that as the reason.

    Args:
        entry: As found.
        schema_member: What the format calls the schema of the arguments.
        output_member: What it calls that of the result.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return ToolDocument(name="", description=None, input_schema=entry)
    description = entry.get("description")
    return ToolDocument(
        name=str(entry["name"]),
        description=description if isinstance(description, str) else None,
        input_schema=entry.get(schema_member),
        output_schema=entry.get(output_member),
        extra=_extra(entry),
    )


def _extra(entry: JsonObject) -> JsonObject:
    return {name: entry[name] for name in _EXTRA if entry.get(name) is not None}
