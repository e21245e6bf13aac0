"""Contents of checkpoints that say which save they are of, and disks that die, fill up or wait at a step."""

import errno
import os
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from training.checkpoints import Checkpoint, CheckpointStore
from training.checkpoints.disk import Disk

FILES = {"config.json": b"{}", "tokenizer.json": b'{"version": "1.0"}'}


def weights_of(step: int, run: int = 0) -> dict[str, Tensor]:
    """Two tensors of which every number says the save."""
    return {
        "embedding.weight": torch.full((8, 4), float(step)),
        "head.weight": torch.full((4,), float(run), dtype=torch.bfloat16),
    }


def state_of(step: int, run: int = 0) -> dict[str, Any]:
    """What an optimizer and a data position might look like."""
    return {
        "optimizer": {"state": {0: {"exp_avg": torch.full((8, 4), -float(step)), "step": step}}},
        "position": (run, [step, step + 1]),
    }


def is_saved(store: CheckpointStore, checkpoint: Checkpoint, run: int = 0) -> bool:
    """Whether a pair holds what was saved of its step."""
    weights = store.load_weights(checkpoint)
    state = store.load_state(checkpoint)
    expected = weights_of(checkpoint.step, run)
    return (
        list(map(str, weights.values())) == list(map(str, expected.values()))
        and weights.keys() == expected.keys()
        and str(state) == str(state_of(checkpoint.step, run))
    )


def names_in(store: CheckpointStore) -> list[str]:
    """All folders of steps, unfinished ones too."""
    roots = (store.weights.root, store.states.root)
    return sorted(f"{root.name}/{entry.name}" for root in roots for entry in root.iterdir())


@cache
def tiny_config(*, is_tied: bool) -> Qwen3Config:
    """Two layers of Qwen3."""
    return Qwen3Config(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        tie_word_embeddings=is_tied,
    )


def tiny_model(seed: int, *, is_tied: bool = True) -> Qwen3ForCausalLM:
    """A model of random weights."""
    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
    return Qwen3ForCausalLM(tiny_config(is_tied=is_tied))


def files_of(model: Qwen3ForCausalLM) -> dict[str, bytes]:
    """What from_pretrained needs beside the weights."""
    return {"config.json": model.config.to_json_string().encode()}


def loaded_model(folder: Path) -> Qwen3ForCausalLM:
    """What from_pretrained makes of a folder; whatever it misses or does not expect is a fault."""
    loaded: Any = Qwen3ForCausalLM
    model, faults = loaded.from_pretrained(folder, output_loading_info=True, local_files_only=True)
    assert not any(faults.values()), faults
    return model


def same_tensors(left: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> bool:
    """Whether every name has the same bits."""
    return left.keys() == right.keys() and all(torch.equal(left[n], right[n]) for n in left)


class Died(BaseException):
    """A process that has died does nothing more; stands for it inside of a living one."""


class QuickDisk(Disk):
    """Does not wait for the power to be allowed to fail: a kill loses nothing that was written."""

    def settle(self, path: Path) -> None:
        assert path.exists()


class _CountingDisk(QuickDisk):
    """Does something before one of its steps, or in the midst of a written file."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.steps = 0

    def happen(self, path: Path) -> None:
        """What happens there."""
        raise NotImplementedError

    def _step(self, path: Path) -> None:
        self.steps += 1
        if self.steps == self.at:
            self.happen(path)

    def make_folder(self, path: Path) -> None:
        self._step(path)
        super().make_folder(path)

    def write(self, path: Path, fill: Callable[[Path], object]) -> None:
        self._step(path)

        def torn(path: Path) -> None:
            fill(path)
            whole = path.read_bytes()
            for share in (0, 0.5, 1):
                path.write_bytes(whole[: int(len(whole) * share)])
                self._step(path)

        super().write(path, torn)

    def settle(self, path: Path) -> None:
        self._step(path)
        super().settle(path)

    def move(self, source: Path, target: Path) -> None:
        self._step(target)
        super().move(source, target)

    def remove_file(self, path: Path) -> None:
        self._step(path)
        super().remove_file(path)

    def remove_folder(self, path: Path) -> None:
        self._step(path)
        super().remove_folder(path)


class KillingDisk(_CountingDisk):
    """The process is killed there."""

    def happen(self, path: Path) -> None:
        os.kill(os.getpid(), 9)


class DyingDisk(_CountingDisk):
    """Whatever is done there or later raises :class:`Died`."""

    def happen(self, path: Path) -> None:
        self.at = self.steps + 1
        raise Died


class FullDisk(_CountingDisk):
    """One step is refused."""

    def happen(self, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


class WaitingDisk(QuickDisk):
    """Writes nothing before it is allowed to."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()

    def write(self, path: Path, fill: Callable[[Path], object]) -> None:
        self.has_begun.set()
        assert self.may_go_on.wait(30)
        super().write(path, fill)


def in_fork(work: Callable[[], None]) -> int:
    """Do something in a fork of this process.

    Returns:
        Its exit code, 1 where it raised, or the negative number of the signal that ended it.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
