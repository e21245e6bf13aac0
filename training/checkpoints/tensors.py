"""Tensors on their way to files and back: copies in host memory, shards of safetensors, one file of state."""

import json
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub import split_torch_state_dict_into_shards
from safetensors import SafetensorError
from safetensors.torch import (
    load_file,  # pyright: ignore[reportUnknownVariableType]
    save_file,  # pyright: ignore[reportUnknownVariableType]
)
from torch import Tensor

from training.checkpoints.disk import CheckpointError
from training.checkpoints.manifest import Manifest
from training.checkpoints.placement import Part

__all__ = [
    "INDEX",
    "HostMemory",
    "Weights",
    "load_state",
    "load_weights",
    "save_state",
    "shards",
    "size_of",
]

INDEX = "model.safetensors.index.json"
_SUFFIX = ".safetensors"
_OF_THE_SYSTEM = re.compile(r"\(os error (\d+)\)")
"""How safetensors tells what the system refused."""
_PLAIN = (type(None), bool, float, complex, torch.dtype, torch.Size)
"""What a state may hold besides tensors, strings, integers, lists, tuples and mappings."""
_MAX_BITS = 2_000
"""Of an integer: torch does not load those of more than 255 bytes."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Tensors in host memory, each once."""

    tensors: Mapping[str, Tensor]
    shared: Mapping[str, str]
    """Names of tensors that are the same as another one, by whose name they stand in ``tensors``."""


class HostMemory:
    """Copies that a background thread may read while training goes on.

    Their memory is used again for the next copies, which takes a fifth of the time that new memory does.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}
        self._used: dict[str, Tensor] = {}

    def copy(
        self, weights: Mapping[str, Tensor], state: Mapping[str, Any] | None
    ) -> tuple[Weights, dict[str, Any] | None]:
        """Copy both; what was copied before is no longer valid.

        Raises:
            TypeError: Something cannot be stored, or not be loaded again without running code; the message
                names its place.
        """
        self._used = {}
        copied = self._copy_weights(weights)
        content = None if state is None else self._copy_mapping(state, "state")
        self._kept = self._used
        return copied, content

    def _copy_weights(self, weights: Mapping[str, Tensor]) -> Weights:
        tensors: dict[str, Tensor] = {}
        shared: dict[str, str] = {}
        first: dict[Hashable, str] = {}
        for name, tensor in weights.items():
            place = f"weights[{name!r}]"
            _check_tensor(tensor, place)
            same = first.setdefault(_identity(tensor), name) if tensor.numel() else name
            if same == name:
                tensors[name] = self._copy_tensor(tensor, place)
            else:
                shared[name] = same
        return Weights(tensors, shared)

    def _copy(self, value: Any, place: str) -> Any:
        """Copy a part of a state; equal strings become one object, so that equal states are equal files."""
        kind = cast("type[Any]", type(value))
        if isinstance(value, Tensor):
            _check_tensor(value, place)
            return self._copy_tensor(value, place)
        if kind is str:
            return sys.intern(value)
        if kind is int and value.bit_length() <= _MAX_BITS:
            return value
        if kind in _PLAIN:
            return value
        if kind in (list, tuple):
            items = cast("Sequence[Any]", value)
            copied = [self._copy(item, f"{place}[{n}]") for n, item in enumerate(items)]
            return copied if kind is list else tuple(copied)
        if isinstance(value, Mapping):
            return self._copy_mapping(cast("Mapping[Any, Any]", value), place)
        raise TypeError(
            f"{place} is {_article(value)}, which a resume could not load: give it as tensors,"
            " numbers, strings, lists and mappings"
        )

    def _copy_mapping(self, value: Mapping[Any, Any], place: str) -> dict[Any, Any]:
        return {
            self._copy(key, f"a key of {place}"): self._copy(item, f"{place}[{key!r}]")
            for key, item in value.items()
        }

    def _copy_tensor(self, tensor: Tensor, place: str) -> Tensor:
        kept = self._kept.get(place)
        if kept is None or kept.shape != tensor.shape or kept.dtype != tensor.dtype:
            with torch.inference_mode(mode=False):  # else it could not be copied into again
                kept = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        self._used[place] = kept
        return kept.copy_(tensor.detach())


def _check_tensor(tensor: Tensor, place: str) -> None:
    kind = cast("type[Any]", type(tensor))
    if kind not in (Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        raise TypeError(
            f"{place} is {_article(tensor)} ({tensor.layout}): gather it, or make it dense,"
            " before it is saved"
        )
    if tensor.is_meta or tensor.is_quantized:
        raise TypeError(
            f"{place} has no numbers of its own ({tensor.device}, {tensor.dtype}): load it first"
        )


def shards(weights: Weights, shard_bytes: int) -> Iterator[Part]:
    """Split weights as ``save_pretrained`` does: one file, or numbered ones with an index.

    Args:
        weights: In host memory.
        shard_bytes: What a file holds at most, unless one tensor alone is larger.
    """
    tensors = dict(weights.tensors)
    split = split_torch_state_dict_into_shards(
        tensors, filename_pattern=f"model{{suffix}}{_SUFFIX}", max_shard_size=shard_bytes
    )
    for name, names in split.filename_to_tensors.items():
        yield Part(name, _safetensors({tensor: tensors[tensor] for tensor in names}))
    if split.is_sharded:
        index = {"metadata": split.metadata, "weight_map": split.tensor_to_filename}
        text = json.dumps(index, indent=2, sort_keys=True) + "\n"
        yield Part.of_bytes(INDEX, text.encode())


def _safetensors(tensors: dict[str, Tensor]) -> Callable[[Path], object]:
    def fill(path: Path) -> None:
        try:
            # Without this metadata, transformers does not take the file for one of torch.
            save_file(tensors, path, metadata={"format": "pt"})
        except SafetensorError as error:
            if match := _OF_THE_SYSTEM.search(str(error)):
                raise OSError(int(match[1]), os.strerror(int(match[1]))) from error
            raise

    return fill


def save_state(state: Mapping[str, Any]) -> Callable[[Path], object]:
    """Have a copied state written, so that it loads without running code."""

    def fill(path: Path) -> None:
        with path.open("xb") as file:
            try:
                torch.save(dict(state), file)
            except RuntimeError as error:
                # Of a file that refuses a write, torch says only that its place is unexpected.
                if isinstance(error.__context__, OSError):
                    raise error.__context__ from None
                raise

    return fill


def load_state(path: Path) -> dict[str, Any]:
    """Read a file of :func:`save_state`.

    Raises:
        CheckpointError: It holds something else.
    """
    try:
        loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch has no error of its own for it
        raise CheckpointError(f"{path} holds more than tensors and plain values") from error
    if not isinstance(loaded, dict):
        raise CheckpointError(f"{path} holds no mapping")
    return cast("dict[str, Any]", loaded)


def load_weights(folder: Path, manifest: Manifest) -> dict[str, Tensor]:
    """Read all files of weights of a folder, shared tensors by each of their names."""
    tensors: dict[str, Tensor] = {}
    for name in sorted(manifest.files):
        if name.endswith(_SUFFIX):
            tensors |= load_file(folder / name)
    return tensors | {name: tensors[same] for name, same in manifest.shared.items()}


def size_of(content: object) -> int:
    """Bytes of all tensors in a copied state or in weights."""
    match content:
        case Tensor():
            return content.numel() * content.element_size()
        case Weights():
            return size_of(content.tensors)
        case Mapping():
            return sum(size_of(value) for value in cast("Mapping[Any, Any]", content).values())
        case list() | tuple():
            return sum(size_of(value) for value in cast("Sequence[Any]", content))
        case _:
            return 0


def _identity(tensor: Tensor) -> Hashable:
    """Equal for two names of the same numbers in memory."""
    storage = tensor.untyped_storage().data_ptr()
    place = tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
    return str(tensor.device), storage, place, tensor.dtype


def _article(value: object) -> str:
    return f"a {type(value).__module__}.{type(value).__qualname__}"
