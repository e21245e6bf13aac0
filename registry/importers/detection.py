"""The formats of files, and finding that of a file from what stands in it."""

import difflib
from codecs import BOM_UTF8
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import orjson

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonValue
from registry.importers import astra_servers, functions, server_json, toucan
from registry.importers.formats import Format, Sample
from registry.importers.openapi import document as openapi
from registry.importers.reading import PACKING_FAULTS, open_documents

__all__ = ["FORMATS", "detect", "format_named"]

FORMATS: Sequence[Format] = (
    toucan.FORMAT,
    astra_servers.FORMAT,
    openapi.FORMAT,
    server_json.FORMAT,
    functions.FORMAT,
)
"""All formats of files, those first that are recognised by the most telling marks."""

_TEXT_BYTES = 64 * 2**10
_PART_BYTES = 1024
"""Of a packed file that ends too early, no more than the last part is lost."""
_MAX_PARTS = 64 * 2**10
"""64 MiB are read to see what a file is; a larger one is known by its first lines."""
_MAX_LINES = 100
"""So many lines may be damaged before the first that is not."""


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        ConfigError: There is none; names all.
    """
    known = {each.name: each for each in FORMATS}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise ConfigError(f"no format is named {name!r}; {hint}there are {', '.join(known)}")
    return known[name]


def detect(path: Path) -> Format:
    """The first format that recognises a file, or that is read by the folder.

    Raises:
        ConfigError: It cannot be read, or no format recognises it.
    """
    if path.is_dir():
        found = next((each for each in FORMATS if each.reads_folders), None)
    else:
        sample = _sample(path)
        found = next((each for each in FORMATS if each.recognises(sample)), None)
    if found is None:
        known = ", ".join(each.name for each in FORMATS)
        raise ConfigError(f"{path}: in no format that is known; name one with --format ({known})")
    return found


def _sample(path: Path) -> Sample:
    content = _beginning(path).removeprefix(BOM_UTF8)
    return Sample(
        name=path.name.lower().removesuffix(".gz"),
        text=content[:_TEXT_BYTES].decode(errors="replace"),
        value=_value(content),
    )


def _beginning(path: Path) -> bytes:
    """Read what can be read; damage further on is for the importer to report."""
    parts: list[bytes] = []
    with open_documents(path) as file:
        try:
            while len(parts) < _MAX_PARTS and (part := file.read(_PART_BYTES)):
                parts.append(part)
        except PACKING_FAULTS:
            pass
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    return b"".join(parts)


def _value(content: bytes) -> JsonValue:
    if (whole := _parsed(content)) is not None:
        return whole
    lines = map(_parsed, islice(content.splitlines(), _MAX_LINES))
    return next((value for value in lines if isinstance(value, dict)), None)


def _parsed(text: bytes) -> JsonValue:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
