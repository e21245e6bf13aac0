"""The index of a folder of bundles: one file under the home, believed whole or not at all.

The first line says what the others are, and their hash: a file that is damaged, of another version or of
another folder says nothing, and whoever wanted to know reads the bundles. Written beside and put in place, so
that of two processes that write at once one wins. Knows rows; knows neither folders nor bundles.
"""

import logging
import secrets
from collections.abc import Iterable
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import orjson

from astra_mcp import __version__
from astra_mcp.errors import BundleFault
from registry.bundles.digest import BundleDigest

__all__ = ["IndexRow", "Stamp", "index_file", "read_index", "write_index"]

Stamp = tuple[int, ...]
"""Size and time of the last change of each file; empty where they are not to be relied on."""

_FORMAT = 1
_log = logging.getLogger("astra_mcp.registry")


class IndexRow(NamedTuple):
    """What was seen of one bundle."""

    stamp: Stamp
    digest: BundleDigest | None
    """None where there are faults."""
    faults: tuple[BundleFault, ...] = ()


def index_file(home: Path, place: Path) -> Path:
    """Name the index of a folder; folders do not share one, so that none waits for another."""
    return home / "bundles" / f"{sha256(str(place).encode()).hexdigest()[:16]}.index"


def read_index(file: Path, place: Path) -> dict[str, IndexRow]:
    """Read what is known of the bundles of a folder, by their names; empty where nothing can be believed."""
    try:
        head, _, body = file.read_bytes().partition(b"\n")
        if head != _head(place, body):
            _log.info("%s is not what this version wrote: the bundles are read again", file)
            return {}
        return dict(map(_parse, body.splitlines()))
    except FileNotFoundError:
        return {}
    except OSError as error:
        _log.warning("the index of %s cannot be read: %s", place, error)
        return {}


def write_index(file: Path, place: Path, rows: Iterable[tuple[str, IndexRow]]) -> None:
    """Write down what is known; one that cannot be written is logged: it saves time and nothing else."""
    # A name that is no text cannot be written down; it is no environment's anyway.
    body = b"".join(_render(name, row) for name, row in rows if name.isprintable())
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_bytes(_head(place, body) + b"\n" + body)
        draft.replace(file)
    except OSError as error:
        _log.warning("the index of %s cannot be written: %s", place, error)
        draft.unlink(missing_ok=True)


def _head(place: Path, body: bytes) -> bytes:
    return orjson.dumps(
        {
            "format": _FORMAT,
            "version": __version__,
            "fields": [field.name for field in fields(BundleDigest)],
            "folder": str(place),
            "sha256": sha256(body).hexdigest(),
        }
    )


def _render(name: str, row: IndexRow) -> bytes:
    digest = None if row.digest is None else row.digest.as_json()
    return orjson.dumps([name, row.stamp, digest, row.faults], default=str) + b"\n"


def _parse(line: bytes) -> tuple[str, IndexRow]:
    name, stamp, digest, faults = orjson.loads(line)
    known = None if digest is None else BundleDigest.from_json(digest)
    return name, IndexRow(tuple(stamp), known, tuple(map(BundleFault, faults)))
