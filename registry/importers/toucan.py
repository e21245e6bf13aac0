"""Server documents of the Toucan data set, crawled from a public registry of MCP servers.

A document has the tools that the server listed itself, where it answered, and what was read off its page:
there a tool has no schema but a list of parameters, which all say ``string`` whatever they are.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import DocumentFault, Provenance, ServerDocument
from registry.documents.texts import public_url
from registry.importers.formats import Format, Sample, tool_entry
from registry.importers.reading import read_lines

__all__ = ["FORMAT", "read"]

_SOURCE = "toucan"
_MAX_DIGITS = 18


class _Answer(BaseModel):
    url: str = ""
    tools: list[JsonValue] | None = None


class _Page(BaseModel):
    overview: str = ""
    author: str = ""
    license: str = ""
    repository_url: str = ""
    homepage: str = ""
    tools: list[JsonValue] | None = None


class _Metadata(BaseModel):
    server_id: int | None = None
    server_name: str = Field(min_length=1)
    usage_count: str | int | None = None
    remote_server_response: _Answer = _Answer()
    server_info_crawled: _Page = _Page()


class _Labels(BaseModel):
    primary_label: str | None = None
    secondary_labels: list[str] | None = None
    custom_label: str | None = None


class _Document(BaseModel):
    file: str | None = None
    labels: _Labels = _Labels()
    metadata: _Metadata


def read(path: Path) -> Iterator[ServerDocument | DocumentFault]:
    """Read a file of one document a line, packed by gzip or plain.

    Raises:
        ConfigError: The file cannot be opened.
    """
    lines: dict[str, int] = {}
    for line in read_lines(path, _Document):
        if isinstance(line, DocumentFault):
            yield line
            continue
        number, document = line
        of_server = document.metadata.server_id
        key = document.file or (None if of_server is None else str(of_server))
        if key is None:
            reason = "metadata.server_id: neither it nor 'file' is there to know the document by"
            yield DocumentFault(line=number, reason=reason)
        elif key in lines:
            reason = f"its key {key!r} is that of line {lines[key]}"
            yield DocumentFault(line=number, reason=reason)
        else:
            lines[key] = number
            yield _server(key, document)


def _server(key: str, document: _Document) -> ServerDocument:
    metadata = document.metadata
    page = metadata.server_info_crawled
    labels = (document.labels.primary_label, *(document.labels.secondary_labels or ()))
    listed = metadata.remote_server_response.tools
    # A page may show the whole tool or its parameters alone.
    crawled = [] if listed else [_with_schema(entry) for entry in page.tools or ()]
    return ServerDocument(
        source=_SOURCE,
        key=key,
        name=metadata.server_name,
        description=page.overview,
        labels=tuple(dict.fromkeys(filter(None, labels))),
        provenance=Provenance.CRAWLED if crawled else Provenance.LIVE,
        tools=tuple(tool_entry(e, schema_member="input_schema") for e in listed or crawled),
        origin=_origin(document),
    )


def _with_schema(entry: JsonValue) -> JsonValue:
    if not isinstance(entry, dict) or "input_schema" in entry:
        return entry
    parameters = entry.get("parameters")
    schema = _parameters_schema(parameters if isinstance(parameters, list) else [])
    return {**entry, "input_schema": parameters if schema is None else schema}


def _parameters_schema(parameters: Sequence[JsonValue]) -> JsonObject | None:
    """Make a schema of texts; None where a parameter has no name."""
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for parameter in parameters:
        name = parameter.get("name") if isinstance(parameter, dict) else None
        if not isinstance(parameter, dict) or not isinstance(name, str):
            return None
        properties[name] = {"type": "string"}
        if parameter.get("required") is True:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def _origin(document: _Document) -> JsonObject:
    metadata = document.metadata
    page = metadata.server_info_crawled
    found: dict[str, JsonValue] = {
        "url": public_url(metadata.remote_server_response.url),
        "homepage": public_url(page.homepage),
        "repository": public_url(page.repository_url),
        "author": page.author or None,
        "license": page.license if page.license != "Not specified" else None,
        "topic": document.labels.custom_label,
        "uses": _count(metadata.usage_count),
    }
    return {name: value for name, value in found.items() if value is not None}


def _count(text: str | int | None) -> int | None:
    """Read a number with or without commas; None for words such as ``Not available``."""
    digits = str(text).replace(",", "")
    is_count = digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS
    return int(digits) if is_count else None


def _recognises(sample: Sample) -> bool:
    value = sample.value
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and "server_name" in metadata


FORMAT = Format(
    name=_SOURCE,
    summary="server documents of the Toucan data set, one JSON object a line",
    recognises=_recognises,
    read=read,
)
