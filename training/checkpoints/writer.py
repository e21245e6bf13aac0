"""Saves of one run: copied at once, written in the background, never half there."""

import logging
import os
import re
import time
from collections.abc import Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from astra_mcp.errors import ConfigError
from training.checkpoints.disk import CheckpointError, Disk
from training.checkpoints.lock import RunLock
from training.checkpoints.manifest import MANIFEST, Manifest
from training.checkpoints.placement import Part, Placement
from training.checkpoints.retention import Retention
from training.checkpoints.store import STATE_FILE, CheckpointStore

if TYPE_CHECKING:
    from torch import Tensor

    from training.checkpoints.tensors import Weights

__all__ = ["CheckpointWriter", "OnFailure", "Usage"]

_logger = logging.getLogger(__name__)
_SHARD_BYTES = 5_000_000_000
_PATIENCE_SECONDS = 3600.0
_OURS = re.compile(r"model.*\.safetensors(\.index\.json)?|" + re.escape(MANIFEST))


class OnFailure(StrEnum):
    """What follows where the disk refuses a save."""

    RAISE = "raise"
    """The next call raises; training may catch it and go on."""
    WARN = "warn"
    """A warning, a count, and training goes on."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What saving came to so far."""

    saves: int = 0
    """Those that are on the disk."""
    failed_saves: int = 0
    alarms: int = 0
    """Files and folders beside weights that were found beyond the newest states."""
    bytes_written: int = 0
    blocked_seconds: float = 0.0
    """Wall time that the thread that trains spent in the writer."""
    background_seconds: float = 0.0
    """Wall time of the background thread."""


class CheckpointWriter:
    """Saves a run's checkpoints; a context manager, whose exit waits for the last one.

    One save is written while training goes on, and the next waits for its end, so that the copies of one save
    are in host memory at a time; they stay there for the next. Weights come first, then the state with their
    digest: a kill in between leaves weights that can be loaded, and no pair. Then old folders are removed.
    """

    def __init__(
        self,
        store: CheckpointStore,
        *,
        on_failure: OnFailure = OnFailure.RAISE,
        shard_bytes: int = _SHARD_BYTES,
        patience_seconds: float = _PATIENCE_SECONDS,
        disk: Disk | None = None,
    ) -> None:
        """Write nothing yet.

        Args:
            store: Whose folder is written, and which says what is kept.
            on_failure: What follows where the disk refuses.
            shard_bytes: What a file of weights holds at most.
            patience_seconds: After which a save that does not end is an error.
            disk: The steps; another one in tests.

        Raises:
            ConfigError: ``shard_bytes`` or ``patience_seconds`` is not above 0.
        """
        for option, value in (
            ("shard_bytes", shard_bytes),
            ("patience_seconds", patience_seconds),
        ):
            if not value > 0:
                raise ConfigError(f"{option} is {value}: it must be above 0")
        self._store = store
        self._on_failure = OnFailure(on_failure)
        self._shard_bytes = shard_bytes
        self._patience = patience_seconds
        disk = disk or Disk()
        self._weights = Placement(store.weights, disk)
        self._states = Placement(store.states, disk)
        self._retention = Retention(store, disk)
        self._stands = ""
        self._written = Usage()  # counted by the background thread alone
        self._blocked_seconds = 0.0
        self._floor: int | None = None
        self._lock: RunLock | None = None
        self._pending: Future[int | None] | None = None

    def __enter__(self) -> Self:
        """Take the folder, remove what killed saves left in it, and start the thread.

        Raises:
            ConfigError: Another process writes the folder, it cannot be written, or torch is missing.
        """
        try:
            from training.checkpoints.tensors import HostMemory  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ConfigError(f"saving needs torch ({error}): install astra-mcp[train]") from error
        try:
            for root in (self._store.weights.root, self._store.states.root):
                root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{error.filename} cannot be made: {error.strerror}") from None
        lock = RunLock(self._store.folder)
        try:
            self._retention.clean()
            newest = self._store.newest()
        except OSError as error:
            lock.release()
            raise ConfigError(
                f"{error.filename} is left of a killed save and cannot be removed: {error.strerror}"
            ) from None
        except BaseException:
            lock.release()
            raise
        self._floor = newest.step if newest else None
        self._memory = HostMemory()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
        self._lock = lock
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Wait for the last save, and let others write the folder.

        Raises:
            CheckpointError: The last save failed; not raised where the block itself raises, but warned of.
        """
        try:
            self.wait()
        except CheckpointError as failure:
            if error is None:
                raise
            _logger.warning("%s", failure)
        finally:
            self._thread.shutdown(wait=False)
            # While a save still goes on, the folder is not another's: the lock then ends with the process.
            if self._lock is not None and self._pending is None:
                self._lock.release()
                self._lock = None

    @property
    def usage(self) -> Usage:
        """What saving came to, without the save that is being written."""
        return replace(
            self._written,
            alarms=self._retention.alarms,
            blocked_seconds=self._blocked_seconds,
        )

    def save(
        self,
        step: int,
        weights: "Mapping[str, Tensor]",
        state: Mapping[str, Any] | None,
        files: Mapping[str, bytes],
    ) -> None:
        """Copy a checkpoint to host memory and return; a save that is still written is waited for.

        Args:
            step: Above that of every earlier save, and of the newest complete pair that was found.
            weights: By the names of ``state_dict``; two names of one tensor are stored once.
            state: What a resume needs beside them: tensors, numbers, strings, lists and mappings; None saves
                the weights alone, which nothing resumes from.
            files: What stands beside the weights, such as ``config.json`` and the tokenizer's.

        Raises:
            CheckpointError: The save before this one failed; this one is not begun.
            ConfigError: The step is not above the newest, or a file has a name that it may not have.
            TypeError: Something in weights or state cannot be stored; the message names its place.
        """
        with self._blocking():
            self._check(step, files)
            self._finish()
            copied, content = self._memory.copy(weights, state)
            self._pending = self._thread.submit(self._save, step, copied, content, dict(files))

    def wait(self) -> None:
        """Wait until the last save is on the disk.

        Raises:
            CheckpointError: It failed, or does not end.
        """
        with self._blocking():
            self._finish()

    def _check(self, step: int, files: Mapping[str, bytes]) -> None:
        if self._lock is None or not self._lock.is_held:
            raise RuntimeError(
                "the writer is not entered, or by the process that this one forked of"
            )
        if step < 0:
            raise ConfigError(f"step {step} is below 0")
        if self._floor is not None and step <= self._floor:
            raise ConfigError(
                f"step {step} is not above step {self._floor}, which {self._store.folder} holds:"
                " resume from it, or name another folder for the run"
            )
        for name in files:
            if not name or name.startswith(".") or set(name) & set("/\0") or _OURS.fullmatch(name):
                raise ConfigError(f"a file beside weights cannot be called {name!r}: rename it")

    def _finish(self) -> None:
        if self._pending is None:
            return
        try:
            saved = self._pending.result(self._patience)
        except TimeoutError:
            raise CheckpointError(
                f"a save into {self._store.folder} did not end within {self._patience:g} s: look at its disk"
            ) from None
        except BaseException:
            if self._pending.done():
                self._pending = None
            raise
        self._pending = None
        self._floor = self._floor if saved is None else saved

    @contextmanager
    def _blocking(self) -> Generator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._blocked_seconds += time.perf_counter() - started

    def _save(
        self,
        step: int,
        weights: "Weights",
        state: dict[str, Any] | None,
        files: Mapping[str, bytes],
    ) -> int | None:
        """Write, then remove what is old, in the background thread; returns the step if it is saved."""
        started = time.perf_counter()
        count = self._written
        try:
            written = self._write(step, weights, state, files)
            self._retention.prune()
        except OSError as error:
            from training.checkpoints.tensors import size_of  # noqa: PLC0415

            count = replace(count, failed_saves=count.failed_saves + 1)
            failure = self._failure(step, error, size_of([weights, state]))
            if self._on_failure is OnFailure.RAISE:
                raise failure from error
            _logger.warning("%s", failure)
            return None
        else:
            count = replace(
                count, saves=count.saves + 1, bytes_written=count.bytes_written + written
            )
            return step
        finally:
            spent = time.perf_counter() - started
            self._written = replace(count, background_seconds=count.background_seconds + spent)

    def _write(
        self,
        step: int,
        weights: "Weights",
        state: dict[str, Any] | None,
        files: Mapping[str, bytes],
    ) -> int:
        """Write weights and then the state that belongs to them; returns the bytes of both."""
        from training.checkpoints.tensors import save_state, shards  # noqa: PLC0415

        self._stands = "nothing of it is kept"
        parts = [
            *shards(weights, self._shard_bytes),
            *(Part.of_bytes(name, content) for name, content in files.items()),
        ]
        manifest = Manifest(step=step, files={}, shared=weights.shared)
        manifest = self._weights.place(manifest, parts)
        written = manifest.total_bytes
        if state is not None:
            self._stands = "its weights are kept, and no state"
            of_state = Manifest(step=step, files={}, weights=manifest.digest)
            part = Part(STATE_FILE, save_state(state))
            written += self._states.place(of_state, [part]).total_bytes
        self._stands = "but it is written"
        return written

    def _failure(self, step: int, error: OSError, needed: int) -> CheckpointError:
        folder = self._store.folder
        stats = os.statvfs(folder)
        return CheckpointError(
            f"the save of step {step} failed, {self._stands}: {error.filename or folder}:"
            f" {error.strerror}; it needs {needed} bytes, and {stats.f_bavail * stats.f_frsize} are"
            " free. Earlier checkpoints are whole: make room, save less often, or keep fewer"
        )
