"""Files of the official MCP registry: ``server.json``, folders of them, and pages of ``/v0.1/servers``."""

from itertools import islice
from pathlib import Path
from typing import Final

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import DocumentFault, DocumentStream, ServerDocument
from registry.importers.formats import Format, Sample
from registry.importers.reading import read_whole
from registry.published.server_json import SOURCE, parse_server

__all__ = ["FORMAT", "read", "read_listing"]

MAX_FILES: Final = 100_000
"""Of one folder."""
_FILE: Final = "server.json"
_OFFICIAL: Final = "io.modelcontextprotocol.registry/official"
_SCHEMA_END: Final = "/server.schema.json"


def read(path: Path) -> DocumentStream:
    """Read a file, or every ``server.json`` below a folder.

    Raises:
        ConfigError: A file cannot be opened, or the folder has none, or too many.
    """
    if not path.is_dir():
        yield from read_whole(path, read_listing)
        return
    files = sorted(islice(path.rglob(_FILE), MAX_FILES + 1))
    if len(files) > MAX_FILES:
        msg = f"{path}: more than {MAX_FILES:,} files: import folders of it one after the other"
        raise ConfigError(msg)
    if not files:
        raise ConfigError(f"{path}: no {_FILE} in it: name a folder that has some, or a file")
    for number, file in enumerate(files, 1):
        for document in read_whole(file, read_listing, entry=number):
            if isinstance(document, DocumentFault):
                reason = f"{file.relative_to(path)}: {document.reason}"
                yield DocumentFault(line=number, reason=reason)
            else:
                yield document


def read_listing(value: JsonValue, *, first: int = 1) -> DocumentStream:
    """Read the servers of a page.

    Args:
        value: The page; a list of documents, or a single one, will do too.
        first: Number of its first entry.

    Yields:
        The servers. A fault for each entry that is none, was deleted, or is an older version of another one.
    """
    listed = value.get("servers") if isinstance(value, dict) else None
    entries: list[JsonValue] = (
        listed if isinstance(listed, list) else value if isinstance(value, list) else [value]
    )
    for number, entry in enumerate(entries, first):
        try:
            yield _read_entry(entry)
        except ConfigError as error:
            yield DocumentFault(line=number, reason=str(error))


def _read_entry(entry: JsonValue) -> ServerDocument:
    if not isinstance(entry, dict):
        raise ConfigError("must be an object")
    server = entry.get("server", entry)
    if not isinstance(server, dict):
        raise ConfigError("server: must be an object")
    if passed_over := _why_passed_over(entry):
        raise ConfigError(f"{server.get('name')} {server.get('version')}: {passed_over}")
    return parse_server(server)


def _why_passed_over(entry: JsonObject) -> str | None:
    meta = entry.get("_meta")
    official = meta.get(_OFFICIAL) if isinstance(meta, dict) else None
    if not isinstance(official, dict):
        return None
    if official.get("status") == "deleted":
        return "deleted by its publisher"
    return "an older version of a server" if official.get("isLatest") is False else None


def _recognises(sample: Sample) -> bool:
    value = sample.value
    if not isinstance(value, dict):
        return False
    if str(value.get("$schema")).endswith(_SCHEMA_END):
        return True
    listed = value.get("servers")
    if isinstance(listed, list):
        return any(isinstance(entry, dict) and _is_entry(entry) for entry in listed)
    return sample.name == _FILE and "name" in value


def _is_entry(entry: JsonObject) -> bool:
    server = entry.get("server", entry)
    return isinstance(server, dict) and {"name", "version"} <= server.keys()


FORMAT = Format(
    name=SOURCE,
    summary="a server.json, a folder of them, or a saved page of /v0.1/servers",
    recognises=_recognises,
    reads_folders=True,
    read=read,
)
