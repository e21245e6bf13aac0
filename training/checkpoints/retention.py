"""Which folders a run keeps, and the alarm where more than weights stays beyond the newest states."""

import logging
from collections.abc import Iterator
from pathlib import Path

from training.checkpoints.disk import CheckpointError, Disk
from training.checkpoints.folders import Leftover, StepFolders
from training.checkpoints.manifest import MANIFEST, read_manifest
from training.checkpoints.store import CheckpointStore

__all__ = ["Retention"]

_logger = logging.getLogger(__name__)


class Retention:
    """Removes what a store does not keep, and counts what cannot be removed or never belonged there.

    The states of the newest complete pairs stay, and their weights with them. A folder gets a name that
    nobody looks for before the first of its files goes, and the state of a step goes before its weights.
    """

    def __init__(self, store: CheckpointStore, disk: Disk) -> None:
        self._store = store
        self._disk = disk
        self._alarmed: set[Path] = set()
        self._seen: dict[Path, int] = {}

    @property
    def alarms(self) -> int:
        """How many files or folders beside weights were found beyond the newest states."""
        return len(self._alarmed)

    def clean(self) -> None:
        """Remove what killed saves and prunings left; only the process that holds the lock may.

        A folder that was to be replaced comes back where its successor did not come.

        Raises:
            OSError: Something cannot be removed.
        """
        for folders in (self._store.weights, self._store.states):
            for step, kind in folders.leftovers():
                leftover = folders.unfinished(step, kind)
                if kind is Leftover.REPLACED and not folders.final(step).exists():
                    self._disk.move(leftover, folders.final(step))
                    self._disk.settle(folders.root)
                else:
                    self._disk.remove_tree(leftover)

    def prune(self) -> None:
        """Remove what is not kept; what cannot be removed is an alarm, and tried again later."""
        pairs = self._store.complete_pairs()[: self._store.keep_states]
        if pairs:
            for step in self._store.states.steps():
                if step < pairs[0] and step not in pairs:
                    self._remove(self._store.states, step)
        if self._store.keep_weights is not None:
            whole = self._store.whole_weights()[: self._store.keep_weights]
            for step in self._store.weights.steps():
                if whole and step < whole[0] and step not in whole and step not in pairs:
                    self._remove(self._store.weights, step)
        self._look_for_more_than_weights(pairs)

    def _remove(self, folders: StepFolders, step: int) -> None:
        removed = folders.unfinished(step, Leftover.REMOVED)
        try:
            if removed.exists():  # an earlier removal that did not come to its end
                self._disk.remove_tree(removed)
            self._disk.move(folders.final(step), removed)
            self._disk.settle(folders.root)
            self._disk.remove_tree(removed)
        except OSError as error:
            left = removed if removed.exists() else folders.final(step)
            self._alarm(left, f"{error.filename or left} cannot be removed: {error.strerror}")

    def _look_for_more_than_weights(self, pairs: tuple[int, ...]) -> None:
        for step in self._store.weights.steps():
            if step not in pairs:
                for path in self._strangers(step):
                    self._alarm(path, "it is no file of the weights that were saved")

    def _strangers(self, step: int) -> Iterator[Path]:
        """Files among the weights that no save put there; a folder that did not change is not read."""
        folder = self._store.weights.final(step)
        try:
            changed = folder.stat().st_mtime_ns
            if self._seen.get(folder) == changed:
                return
            self._seen[folder] = changed
            known = {MANIFEST, *read_manifest(folder, step).files}
            names = sorted(entry.name for entry in folder.iterdir())
        except (CheckpointError, FileNotFoundError):
            return  # damaged or taken away by somebody: whoever reads it is told
        yield from (folder / name for name in names if name not in known)

    def _alarm(self, path: Path, reason: str) -> None:
        if path in self._alarmed:
            return
        self._alarmed.add(path)
        _logger.warning(
            "more than weights is kept beyond the newest %d states: %s (%s)",
            self._store.keep_states,
            path,
            reason,
        )
