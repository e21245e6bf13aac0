"""What is made of a server document before it is stored: its tools with a verdict each, and its own.

Pure: values in, values out. Knows neither the database nor other servers, so that whether a server
repeats another one is judged where it is stored.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from hashlib import sha256
from itertools import count

from astra_mcp.text.language import language_of
from astra_mcp.types import JsonValue, ToolSpec, canonical_json, json_fault
from registry.documents.crawled import CleanedTool, clean_page
from registry.documents.filters import reject_tool
from registry.documents.labels import domain_of
from registry.documents.normalisation import normalise_tool, tool_hash
from registry.documents.prepared import PreparedServer, PreparedTool, with_verdicts
from registry.documents.search_words import search_words
from registry.documents.sources import (
    MIN_TOOLS,
    Provenance,
    Rejection,
    ServerDocument,
    ToolDocument,
    ToolReason,
)
from registry.documents.texts import (
    clean_text,
    distinct_name,
    is_safe_name,
    safe_name,
    storable_text,
)

__all__ = ["prepare_server"]

_UNREAD = Rejection(
    ToolReason.UNREAD_PARAMETERS, "parameters: its page shows its own name in place of them"
)


def prepare_server(document: ServerDocument, min_tools: int = MIN_TOOLS) -> PreparedServer:
    """Normalise the tools of a document, judge each of them, and then the server by what is left.

    Args:
        document: As its importer found it.
        min_tools: So many tools are to be left for a server to be kept; ASTRA sec. 2.1.1 asks for three.
    """
    document = _storable(document)
    tools = _cleaned(document)
    texts = [tool.document.description for tool in tools]
    descriptions = [text for text in texts if text]
    prepared = PreparedServer(
        document=document,
        document_hash=_document_hash(document),
        name=safe_name(document.name, fallback="server"),
        tools=_distinct([_prepare_tool(tool) for tool in tools]),
        tools_hash=None,
        domain=domain_of(document.labels),
        # What is written in the document's own words, the most telling first.
        language=language_of([document.description, *descriptions, document.name]),
        min_tools=min_tools,
    )
    return with_verdicts(prepared, prepared.tools)


def _cleaned(document: ServerDocument) -> tuple[CleanedTool, ...]:
    if document.provenance is Provenance.CRAWLED:
        return clean_page(document)
    return tuple(CleanedTool(tool) for tool in document.tools)


def _prepare_tool(cleaned: CleanedTool) -> PreparedTool:
    document = cleaned.document
    normal = normalise_tool(document)
    if isinstance(normal, Rejection):
        return PreparedTool(
            document=_writable(document), spec=None, hash=None, words="", rejection=normal
        )
    return PreparedTool(
        document=document,
        spec=normal.spec,
        hash=tool_hash(normal.spec),
        words=search_words(normal.spec),
        notes=(*cleaned.notes, *normal.notes),
        rejection=_UNREAD if cleaned.is_unread else reject_tool(normal.spec, document.name),
    )


def _distinct(tools: Sequence[PreparedTool]) -> tuple[PreparedTool, ...]:
    """Reject what repeats the name of a kept tool, and rename what only came to look like it."""
    taken = {name: name for tool in tools if is_safe_name(name := tool.document.name)}
    seen: set[str] = set()
    distinct: list[PreparedTool] = []
    for tool in tools:
        original = tool.document.name
        if tool.rejection is not None or tool.spec is None:
            distinct.append(tool)
        elif original in seen:
            detail = f"name: another tool of the server is named {original[:80]!r}"
            distinct.append(replace(tool, rejection=Rejection(ToolReason.DUPLICATE, detail)))
        else:
            seen.add(original)
            is_free = taken.setdefault(tool.spec.name, original) == original
            distinct.append(tool if is_free else _renamed(tool, tool.spec, taken))
    return tuple(distinct)


def _renamed(tool: PreparedTool, spec: ToolSpec, taken: dict[str, str]) -> PreparedTool:
    original = tool.document.name
    names = (distinct_name(spec.name, f"{original}{' ' * number}") for number in count())
    renamed = spec.renamed(next(name for name in names if name not in taken))
    taken[renamed.name] = original
    note = f"name: {spec.name!r} is taken, written as {renamed.name!r}"
    return replace(
        tool,
        spec=renamed,
        hash=tool_hash(renamed),
        words=search_words(renamed),
        notes=(*tool.notes, note),
    )


def _storable(document: ServerDocument) -> ServerDocument:
    """Replace what no database can hold in the texts that are stored as they are.

    A fact of the origin that cannot be written down everywhere is left out.
    """
    return replace(
        document,
        key=storable_text(document.key),
        name=clean_text(document.name) or document.source,
        description=clean_text(document.description),
        version=None if document.version is None else storable_text(document.version),
        labels=tuple(storable_text(label) for label in document.labels),
        tools=tuple(replace(tool, name=storable_text(tool.name)) for tool in document.tools),
        origin={
            storable_text(name): storable_text(value) if isinstance(value, str) else value
            for name, value in document.origin.items()
            if isinstance(value, str) or json_fault(value) is None
        },
    )


def _writable(document: ToolDocument) -> ToolDocument:
    """Leave out what cannot be written as JSON, such as a schema nested too deeply."""
    return replace(
        document,
        description=None if document.description is None else storable_text(document.description),
        input_schema=_json_or_none(document.input_schema),
        output_schema=_json_or_none(document.output_schema),
        extra={} if json_fault(document.extra) else document.extra,
    )


def _json_or_none(value: JsonValue) -> JsonValue:
    return None if json_fault(value) else value


def _document_hash(document: ServerDocument) -> str:
    """Hash all that an import reads; parts that cannot be written count as left out."""
    digest = sha256(_content(replace(document, tools=())))
    for tool in document.tools:
        digest.update(_content(tool))
    return digest.hexdigest()


def _content(part: ServerDocument | ToolDocument) -> bytes:
    """Write a part as canonical JSON, with its length before it."""
    try:
        content = canonical_json(part)
    except TypeError:
        names = [field.name for field in fields(part)]
        content = canonical_json({name: _json_or_none(getattr(part, name)) for name in names})
    return len(content).to_bytes(8, "big") + content
