"""Which checkpoints a run's folder holds, and which of them are whole."""

import logging
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from astra_mcp.errors import ConfigError
from training.checkpoints.disk import CheckpointError
from training.checkpoints.folders import StepFolders
from training.checkpoints.manifest import Manifest, fault_of_files, read_manifest

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["STATE_FILE", "Checkpoint", "CheckpointStore"]

STATE_FILE = "state.pt"

_logger = logging.getLogger(__name__)

_Stamp = tuple[str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is kept of one step."""

    step: int
    weights: Path
    """A folder that ``from_pretrained`` reads."""
    state: Path | None
    """A folder with what a resume needs beside the weights; None where the weights alone are kept."""


class CheckpointStore:
    """The checkpoints of one run, as ``weights/step-00000100`` and ``state/step-00000100`` below its folder.

    A folder is whole where its files are what its manifest says. A pair is complete where both folders are
    whole and the state names the very weights beside it. Reading takes no lock: another process may write.
    """

    def __init__(
        self, folder: Path | str, keep_states: int = 2, keep_weights: int | None = None
    ) -> None:
        """Name the folder, which need not exist.

        Args:
            folder: Of the run.
            keep_states: Of how many newest complete pairs a writer keeps the state.
            keep_weights: Of how many newest steps it keeps the weights, besides those of kept states; None
                keeps all.

        Raises:
            ConfigError: One of the numbers is below 1, or the folder is a file.
        """
        for option, value in (("keep_states", keep_states), ("keep_weights", keep_weights)):
            if value is not None and value < 1:
                raise ConfigError(f"{option} is {value}: keep at least 1")
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ConfigError(f"{self.folder} is no folder: name another one for the run")
        self.keep_states = keep_states
        self.keep_weights = keep_weights
        self.weights = StepFolders(self.folder / "weights")
        self.states = StepFolders(self.folder / "state")
        self._known: dict[Path, tuple[_Stamp, str | None]] = {}

    def newest(self) -> Checkpoint | None:
        """Find the newest complete pair, every byte of which is as it was written.

        Newer ones that are not are passed over with a warning that names the file.
        """
        for step in reversed(self.states.steps()):
            fault = self._fault_of_pair(step, by_size_alone=False)
            if fault is None:
                return Checkpoint(step, self.weights.final(step), self.states.final(step))
            if not self.states.final(step).exists():
                continue  # its writer removed it in the meantime
            _logger.warning("the checkpoint of step %d is not used: %s", step, fault)
        return None

    def all(self, *, by_size_alone: bool = False) -> tuple[Checkpoint, ...]:
        """List every step whose weights are whole, ascending; damaged ones are named by a warning.

        Args:
            by_size_alone: Do not read the files, and so miss bytes that changed in place.
        """
        found: list[Checkpoint] = []
        for step in self.weights.steps():
            fault = self._fault(self.weights, step, by_size_alone=by_size_alone)
            if fault is not None and not self.weights.final(step).exists():
                continue  # its writer removed it in the meantime
            if fault is not None:
                _logger.warning("the weights of step %d are not used: %s", step, fault)
                continue
            is_pair = step in self.states.steps() and not self._fault_of_pair(
                step, by_size_alone=by_size_alone
            )
            state = self.states.final(step) if is_pair else None
            found.append(Checkpoint(step, self.weights.final(step), state))
        return tuple(found)

    def load_state(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Load what was given as state, its tensors in host memory.

        Raises:
            CheckpointError: It is damaged, or gone by now.
            ConfigError: The checkpoint has none, or torch is not installed.
        """
        if checkpoint.state is None:
            raise ConfigError(
                f"{checkpoint.weights} has no state beside it: resume from a newer step"
            )
        self._whole(self.states, checkpoint.step)
        return _tensors().load_state(checkpoint.state / STATE_FILE)

    def load_weights(self, checkpoint: Checkpoint) -> "dict[str, Tensor]":
        """Load the tensors by all the names under which they were given, shared ones too.

        Raises:
            CheckpointError: They are damaged, or gone by now.
            ConfigError: torch is not installed.
        """
        manifest = self._whole(self.weights, checkpoint.step)
        return _tensors().load_weights(checkpoint.weights, manifest)

    def complete_pairs(self) -> tuple[int, ...]:
        """Steps of pairs that are complete by their sizes and not known as damaged, newest first."""
        steps = reversed(self.states.steps())
        return tuple(s for s in steps if self._fault_of_pair(s, by_size_alone=True) is None)

    def whole_weights(self) -> tuple[int, ...]:
        """Steps whose weights are whole by the same measure, newest first."""
        steps = reversed(self.weights.steps())
        return tuple(s for s in steps if self._fault(self.weights, s, by_size_alone=True) is None)

    def _fault_of_pair(self, step: int, *, by_size_alone: bool) -> str | None:
        try:
            state = self._whole(self.states, step, by_size_alone=by_size_alone)
            weights = self._whole(self.weights, step, by_size_alone=by_size_alone)
        except CheckpointError as error:
            return str(error)
        if state.weights != weights.digest:
            return f"{self.states.final(step)} belongs to other weights of step {step}"
        return None

    def _fault(self, folders: StepFolders, step: int, *, by_size_alone: bool) -> str | None:
        try:
            self._whole(folders, step, by_size_alone=by_size_alone)
        except CheckpointError as error:
            return str(error)
        return None

    def _whole(self, folders: StepFolders, step: int, *, by_size_alone: bool = False) -> Manifest:
        """Read a manifest and compare its files; a store reads a file once, unless it changed since."""
        folder = folders.final(step)
        manifest = read_manifest(folder, step)
        fault = fault_of_files(folder, manifest, by_size_alone=True)
        if fault is None:
            stamp = _stamp(folder, manifest)
            known, fault = self._known.get(folder, (None, None))
            if known != stamp:
                fault = None
                if not by_size_alone:
                    fault = fault_of_files(folder, manifest, by_size_alone=False)
                    self._known[folder] = stamp, fault
        if fault is not None:
            raise CheckpointError(fault)
        return manifest


def _stamp(folder: Path, manifest: Manifest) -> _Stamp:
    """What changes when a file is written anew."""
    try:
        stats = [(folder / name).stat() for name in sorted(manifest.files)]
    except OSError as error:
        raise CheckpointError(f"{error.filename} cannot be read: {error.strerror}") from None
    return manifest.digest, tuple((s.st_mtime_ns, s.st_ctime_ns) for s in stats)


def _tensors() -> ModuleType:
    """What needs torch, which reading a list does not."""
    try:
        from training.checkpoints import tensors  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(f"loading needs torch ({error}): install astra-mcp[train]") from error
    return tensors
