"""Making one ToolSpec of every tool document, compatible with OpenAI function calling (ASTRA sec. 2.1.1)."""

from dataclasses import dataclass
from hashlib import sha256

from astra_mcp.types import JsonObject, ToolSpec, canonical_json
from registry.documents.annotations import clean_extra
from registry.documents.naming import safe_name
from registry.documents.sources import Rejection, ToolDocument, ToolReason
from registry.documents.texts import clean_text
from registry.schemas import NotConvertibleError, normalise_arguments, normalise_result

__all__ = ["NormalTool", "normalise_tool", "tool_hash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalTool:
    """A tool that every consumer can read."""

    spec: ToolSpec
    original_name: str
    """As its source has it."""
    hash: str
    """See :func:`tool_hash`."""
    notes: tuple[str, ...] = ()
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
        return _not_convertible("name: the entry is no object with a name")
    try:
        arguments = normalise_arguments(document.input_schema, "input_schema")
    except NotConvertibleError as error:
        return _not_convertible(str(error))
    name = safe_name(document.name, fallback="tool")
    output_schema, output_notes = _output_schema(document)
    extra, extra_notes = clean_extra(document.extra)
    spec = ToolSpec(
        name=name,
        description=clean_text(document.description or ""),
        input_schema=arguments.schema,
        output_schema=output_schema,
        extra=extra,
    )
    renamed = (
        () if name == document.name else (f"name: {document.name[:80]!r} written as {name!r}",)
    )
    return NormalTool(
        spec=spec,
        original_name=document.name,
        hash=tool_hash(spec),
        notes=(*renamed, *arguments.notes, *output_notes, *extra_notes),
    )


def _output_schema(document: ToolDocument) -> tuple[JsonObject | None, tuple[str, ...]]:
    if document.output_schema is None:
        return None, ()
    try:
        result = normalise_result(document.output_schema, "output_schema")
    except NotConvertibleError as error:
        return None, (f"output_schema: left out: {error}",)
    return result.schema, result.notes


def _not_convertible(detail: str) -> Rejection:
    return Rejection(ToolReason.NOT_CONVERTIBLE, detail)
