"""The formats of files, and finding that of a file from what stands in it."""

import difflib
from codecs import BOM_UTF8
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import orjson

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject, JsonValue
from registry.importers import (
    astra_servers,
    functions,
    livemcpbench,
    mcp_tools,
    server_json,
    toucan,
)
from registry.importers.formats import Format, Sample
from registry.importers.json_text import JsonError, parse_json
from registry.importers.openapi import document as openapi
from registry.importers.reading import (
    EMPTY,
    PACKING_FAULTS,
    encoding_fault,
    open_documents,
    packing_fault,
)

__all__ = ["FORMATS", "detect", "format_named"]

FORMATS: Sequence[Format] = (
    toucan.FORMAT,
    astra_servers.FORMAT,
    openapi.FORMAT,
    server_json.FORMAT,
    livemcpbench.FORMAT,
    mcp_tools.FORMAT,
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
_SHOWN_BYTES = 40
_SHOWN_MEMBERS = 8


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
        ConfigError: It cannot be read, or no format recognises it; says what was found instead.
    """
    if path.is_dir():
        found = next((each for each in FORMATS if each.reads_folders), None)
        content, fault = b"", None
    else:
        content, fault = _beginning(path)
        sample = _sample(path, content)
        found = next((each for each in FORMATS if each.recognises(sample)), None)
    if found is None:
        raise ConfigError(f"{path}: {fault or _description(content)}")
    return found


def _sample(path: Path, content: bytes) -> Sample:
    return Sample(
        name=path.name.lower().removesuffix(".gz"),
        text=content[:_TEXT_BYTES].decode(errors="replace"),
        value=_value(content),
    )


def _beginning(path: Path) -> tuple[bytes, str | None]:
    """Read what can be read, and say why no more of it can: damage further on is for the importer."""
    parts: list[bytes] = []
    fault = None
    with open_documents(path) as file:
        try:
            while len(parts) < _MAX_PARTS and (part := file.read(_PART_BYTES)):
                parts.append(part)
        except PACKING_FAULTS as error:
            fault = packing_fault(error)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    return b"".join(parts).removeprefix(BOM_UTF8), fault


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


def _description(content: bytes) -> str:
    """Say what a file is that no format recognises; a format can only be named where it can be read."""
    if not content.strip():
        return EMPTY
    if len(content) >= _MAX_PARTS * _PART_BYTES and _value(content) is None:
        mib = _MAX_PARTS * _PART_BYTES >> 20
        return f"larger than {mib} MiB, and none of its first lines is a document: split it"
    if (fault := encoding_fault(content)) is not None:
        return fault
    try:
        value = _value(content)
        return _unknown(_shape(parse_json(content.decode())[0] if value is None else value))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    except JsonError as error:
        begin = content[:_SHOWN_BYTES].decode(errors="replace")
        is_json = begin.lstrip().startswith(("{", "["))
        text = f"no JSON: a text that begins with {begin!r}"
        return f"not JSON: {error}" if is_json else _unknown(text)


def _unknown(what: str) -> str:
    known = ", ".join(each.name for each in FORMATS)
    return f"{what}: in no format that is known; name one with --format ({known})"


def _shape(value: JsonValue) -> str:
    """Describe a value by the members that a reader looks for."""
    if isinstance(value, dict):
        return f"an object with {_members(value)}"
    if not isinstance(value, list):
        return "a single text or number"
    first = next((entry for entry in value if isinstance(entry, dict)), None)
    if first is None:
        return "a list of no objects" if value else "an empty list"
    return f"a list of {len(value)}, the first object with {_members(first)}"


def _members(value: JsonObject) -> str:
    names = [repr(name[:_SHOWN_BYTES]) for name in islice(value, _SHOWN_MEMBERS)]
    more = f" and {len(value) - len(names)} more" if len(value) > len(names) else ""
    return f"the members {', '.join(names)}{more}" if names else "no members"
