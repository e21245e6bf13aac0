"""The manifest of a folder: its files with their sizes and checksums, so that a torn one is noticed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from training.checkpoints.disk import CheckpointError

__all__ = ["MANIFEST", "FileEntry", "Manifest", "fault_of_files", "read_manifest"]

MANIFEST = "manifest.json"
"""Its name, in each folder of a step."""

_STRICT = ConfigDict(frozen=True, strict=True, extra="forbid")


class FileEntry(BaseModel):
    """One file."""

    model_config = _STRICT

    bytes: NonNegativeInt
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a file."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(bytes=file.tell(), sha256=digest)


class Manifest(BaseModel):
    """What stands in one folder."""

    model_config = _STRICT

    step: NonNegativeInt
    files: Mapping[str, FileEntry]
    shared: Mapping[str, str] = {}
    """Of weights: names of tensors that are the same as another one, by whose name they are stored."""
    weights: str | None = None
    """Of a state: the digest of the manifest of the weights that it belongs to."""

    @property
    def total_bytes(self) -> int:
        """Of the folder, its manifest included."""
        return sum(entry.bytes for entry in self.files.values()) + len(self.as_file())

    @property
    def digest(self) -> str:
        """One value for all that the manifest says; equal contents have equal ones."""
        return hashlib.sha256(_canonical(self.model_dump(mode="json"))).hexdigest()

    def as_file(self) -> bytes:
        """The file, which says its own digest."""
        content = {"manifest": self.model_dump(mode="json"), "sha256": self.digest}
        return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


def read_manifest(folder: Path, step: int) -> Manifest:
    """Read the manifest of a folder of a step.

    Raises:
        CheckpointError: It is missing, damaged, or of another step; the message names it.
    """
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        manifest = Manifest.model_validate(content["manifest"])
        is_whole = manifest.digest == content["sha256"]
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from None
    except (KeyError, RecursionError, TypeError, ValidationError, ValueError):
        raise CheckpointError(f"{path} is damaged: it is no manifest") from None
    if not is_whole:
        raise CheckpointError(f"{path} is damaged: its checksum is another one")
    if manifest.step != step:
        raise CheckpointError(f"{path} is of step {manifest.step}, and its folder of step {step}")
    return manifest


def fault_of_files(folder: Path, manifest: Manifest, *, by_size_alone: bool) -> str | None:
    """Compare a folder with its manifest.

    Returns:
        What is wrong with the first file that is not as it was written, or None.
    """
    faults = (
        _fault_of_file(folder / name, entry, by_size_alone=by_size_alone)
        for name, entry in sorted(manifest.files.items())
    )
    return next((fault for fault in faults if fault is not None), None)


def _fault_of_file(path: Path, entry: FileEntry, *, by_size_alone: bool) -> str | None:
    """Compare a file with what the manifest says of it."""
    try:
        size = path.stat().st_size
        if size != entry.bytes:
            return f"{path} is torn: it has {size} bytes of {entry.bytes}"
        if not by_size_alone and FileEntry.of(path) != entry:
            return f"{path} is damaged: its checksum is another one"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return None


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
