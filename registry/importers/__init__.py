"""One small module for each format that documents come in; each turns a file into a stream of documents.

An importer knows its format alone: neither the database nor the filters. To add one: a module with a
``FORMAT``, and its line in :data:`FORMATS`. Only :mod:`registry` and the composition root import it.
"""

from collections.abc import Sequence
from pathlib import Path

from registry.importers import astra_servers, functions, openapi, server_json, toucan
from registry.importers.detection import detect_among, format_among
from registry.importers.formats import Format

__all__ = ["FORMATS", "detect", "format_named"]

FORMATS: Sequence[Format] = (
    toucan.FORMAT,
    astra_servers.FORMAT,
    openapi.FORMAT,
    server_json.FORMAT,
    functions.FORMAT,
)
"""All formats of files, those first that are recognised by the most telling marks."""


def format_named(name: str) -> Format:
    """The format of a name.

    Raises:
        ConfigError: There is none; names all.
    """
    return format_among(FORMATS, name)


def detect(path: Path) -> Format:
    """The format that a file is in.

    Raises:
        ConfigError: It cannot be read, or is in none of the formats.
    """
    return detect_among(FORMATS, path)
