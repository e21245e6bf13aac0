"""A folder of bundles, looked at again and again: only what has changed since is read.

Of a few bundles each look loads the changed ones completely and keeps them. Of many it reads what lists need,
and an index under the home remembers it; such a bundle is loaded by whoever uses it first.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from astra_mcp.concurrency import Pace
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle, read_bundle
from astra_mcp.errors import BundleError, BundleFault, ConfigError
from registry.bundles.digest import BundleDigest
from registry.bundles.index import IndexRow, Stamp, index_file, read_index, write_index

__all__ = ["FEW", "MARK", "BundleFolder", "FoundBundle", "bundle_folders"]

MARK = "environment.json"
"""A folder that holds this file is a bundle."""
FEW = 64
"""A folder with no more bundles than that has all of them loaded completely at the start."""
_FILES = (MARK, "tools.py", "server.json")
_SETTLED_NS = 1_000_000_000
"""A file that changed later than that before it was read may change again within one tick of its clock."""


class FoundBundle(NamedTuple):
    """A bundle as it was last seen."""

    folder: Path
    digest: BundleDigest | None
    """None where there are faults."""
    faults: tuple[BundleFault, ...]
    is_few: bool
    """Whether its folder held few when it was read, so that it was loaded completely."""
    bundle: Bundle | None
    """Where it was loaded completely, and has no faults."""

    @property
    def name(self) -> str:
        """The environment's, which is the folder's."""
        return self.folder.name if self.digest is None else self.digest.name


class BundleFolder:
    """The bundles at one path: the bundle that it is itself, or those in its direct sub-folders."""

    def __init__(self, place: Path, home: Path) -> None:
        """Know of nothing yet.

        Args:
            place: A bundle, or a folder of bundles.
            home: Keeps the index.
        """
        self.place = place.resolve()
        self._file = index_file(home, self.place)
        self._rows: dict[str, IndexRow] | None = None
        self._loaded: dict[str, Bundle | None] = {}
        """Those that were loaded completely."""

    def scan(
        self, hear: Callable[[int, int], None] | None = None, *, settled: bool = False
    ) -> dict[str, FoundBundle | None]:
        """Look again, and read what is other than before.

        Args:
            hear: Told how many of how many bundles were read.
            settled: Leave what changed a moment ago for the next time: somebody is writing it.

        Returns:
            What has changed, by name; None for what is gone. The first time everything.

        Raises:
            ConfigError: There is no such folder.
        """
        stamps: dict[str, Stamp] = {}
        pace = Pace()
        for name, stamp in _stamps(self.place):
            stamps[name] = stamp
            if settled:  # a gateway that works meanwhile looks
                pace.keep()
        is_few = len(stamps) <= FEW
        is_first = self._rows is None
        before = self._known(is_few=is_few)
        changed = [n for n, stamp in stamps.items() if n not in before or before[n].stamp != stamp]
        rows = {name: row for name, row in before.items() if name in stamps}
        now = time.time_ns()
        for done, name in enumerate(changed, 1):
            stamp = stamps[name]
            is_old = max(stamp[1::2]) < now - _SETTLED_NS
            if settled and not is_old:
                continue
            rows[name] = self._read(name, stamp if is_old else (), is_few=is_few)
            if hear is not None:
                hear(done, len(changed))
        self._rows = rows
        if not is_few and rows != before:
            write_index(self._file, self.place, rows.items())
        named = stamps if is_first else before.keys() | rows.keys()
        return {
            name: self._found(name, rows[name]) if name in rows else None
            for name in named
            if is_first or _differ(before.get(name), rows.get(name))
        }

    def _known(self, *, is_few: bool) -> dict[str, IndexRow]:
        if self._rows is not None:
            return self._rows
        return {} if is_few else read_index(self._file, self.place)

    def _read(self, name: str, stamp: Stamp, *, is_few: bool) -> IndexRow:
        self._loaded.pop(name, None)
        folder = self._folder(name)
        if is_few:
            self._loaded[name] = None
        try:
            bundle = load_bundle(folder) if is_few else read_bundle(folder)
        except BundleError as error:
            return IndexRow(stamp, None, error.faults)
        if is_few:
            self._loaded[name] = bundle
        return IndexRow(stamp, BundleDigest.of(bundle))

    def _found(self, name: str, row: IndexRow) -> FoundBundle:
        is_few, bundle = name in self._loaded, self._loaded.get(name)
        return FoundBundle(self._folder(name), row.digest, row.faults, is_few, bundle)

    def _folder(self, name: str) -> Path:
        is_itself = name == self.place.name and (self.place / MARK).is_file()
        return self.place if is_itself else self.place / name


def bundle_folders(place: Path) -> Iterator[Path]:
    """Find the bundle folders at a path: itself, or its direct sub-folders, in no order.

    Raises:
        ConfigError: There is no such folder.
    """
    if not place.is_dir():
        raise ConfigError(f"{place} is no folder: name a bundle folder or a folder of bundles")
    is_itself = (place / MARK).is_file()
    yield from (place,) if is_itself else (place / name for name, _ in _stamps(place))


def _stamps(place: Path) -> Iterator[tuple[str, Stamp]]:
    """Take the stamps of the bundles at a path, by name; of ten thousand, so no more than it needs.

    Raises:
        ConfigError: There is no such folder.
    """
    own = _stamp(str(place))
    if own[0] >= 0:
        yield place.name, own
        return
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                stamp = _stamp(entry.path)
                if stamp[0] >= 0:
                    yield entry.name, stamp
    except OSError as error:
        raise ConfigError(f"{place} cannot be read: {error.strerror}") from error


def _stamp(folder: str) -> Stamp:
    """Take size and time of the last change of each file; a missing one has neither."""
    stamp: list[int] = []
    for name in _FILES:
        try:
            found = os.stat(f"{folder}/{name}")
        except OSError:
            stamp += (-1, -1)
        else:
            stamp += (found.st_size, found.st_mtime_ns)
    return tuple(stamp)


def _differ(before: IndexRow | None, now: IndexRow | None) -> bool:
    """Whether a bundle is another one, or another one than a faulty one; when it was read says nothing."""
    if before is None or now is None:
        return before is not now
    return before[1:] != now[1:]
