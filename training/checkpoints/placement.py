"""How a folder comes to its name: as a whole, when every byte of it is on the disk."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from training.checkpoints.disk import CheckpointError, Disk
from training.checkpoints.folders import Leftover, StepFolders
from training.checkpoints.manifest import MANIFEST, FileEntry, Manifest, read_manifest

__all__ = ["Part", "Placement"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a folder, and what writes it."""

    name: str
    fill: Callable[[Path], object]

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Self:
        """A file whose content is at hand."""
        return cls(name, partial(_write_bytes, content))


class Placement:
    """Puts folders of one kind, weights or state, at their places."""

    def __init__(self, folders: StepFolders, disk: Disk) -> None:
        self._folders = folders
        self._disk = disk

    def place(self, manifest: Manifest, parts: Sequence[Part]) -> Manifest:
        """Write a folder under a name where nobody looks, and give it its own when it is on the disk.

        Args:
            manifest: Whose files are still to be named.
            parts: Its files.

        Returns:
            The manifest that was written, with sizes and checksums.

        Raises:
            OSError: The disk refuses; what was at the place before is there.
        """
        draft = self._folders.unfinished(manifest.step, Leftover.DRAFT)
        self._discard(draft)
        try:
            self._disk.make_folder(draft)
            for part in parts:
                self._disk.write(draft / part.name, part.fill)
            entries = {part.name: FileEntry.of(draft / part.name) for part in parts}
            manifest = manifest.model_copy(update={"files": entries})
            of_manifest = Part.of_bytes(MANIFEST, manifest.as_file())
            self._disk.write(draft / of_manifest.name, of_manifest.fill)
            self._disk.settle(draft)
            self._publish(draft, manifest)
        except BaseException:
            self._discard(draft)
            raise
        return manifest

    def _publish(self, draft: Path, manifest: Manifest) -> None:
        final = self._folders.final(manifest.step)
        replaced = self._folders.unfinished(manifest.step, Leftover.REPLACED)
        if final.exists():
            self._warn_of_others(final, manifest)
            self._discard(replaced)
            self._disk.move(final, replaced)
        try:
            self._disk.move(draft, final)
        except OSError:
            if replaced.exists():
                self._disk.move(replaced, final)
            raise
        self._disk.settle(self._folders.root)
        self._discard(replaced)

    def _warn_of_others(self, final: Path, manifest: Manifest) -> None:
        try:
            is_same = read_manifest(final, manifest.step).digest == manifest.digest
        except CheckpointError as error:
            _logger.warning("%s is replaced: %s", final, error)
            return
        if not is_same:
            _logger.warning("%s is replaced by others of the same step", final)

    def _discard(self, folder: Path) -> None:
        """Remove an unfinished folder; one that stays is removed when the run is next opened."""
        try:
            if folder.exists():
                self._disk.remove_tree(folder)
        except OSError as error:
            _logger.warning("%s is left behind: %s", error.filename or folder, error.strerror)


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)
