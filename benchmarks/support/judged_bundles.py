"""Bundles before the acceptance: where they come from, what is expected of them, and what was found."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio

from astra_mcp.environments.acceptance import Verdict, verdict_of_faults, verify_bundle
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError, SandboxError
from astra_mcp.sandbox import Sandbox, SandboxLimits, open_sandbox

from bundle_corpus import KINDS
from process_accounts import cpu_seconds

__all__ = ["Found", "Subject", "corpus_subjects", "folder_subjects", "judge", "write_bundles"]

_FILES = ("environment.json", "tools.py", "server.json")


@dataclass(frozen=True, slots=True)
class Subject:
    """A bundle to judge."""

    kind: str
    is_verified: bool
    """What is expected."""
    checks: tuple[str, ...] = ()
    """Checks of which one at least should refuse it; any, where none is stated."""
    variant: int = 0
    mended: bool = False
    path: str | None = None
    """Its folder; None for one of the corpus."""

    @property
    def row(self) -> str:
        """The kind, as the table names it."""
        return f"{self.kind} (mended)" if self.mended else self.kind

    def bundle(self) -> Bundle:
        """Make or load it.

        Raises:
            BundleError: A folder does not load.
        """
        if self.path is not None:
            return load_bundle(Path(self.path))
        return KINDS[self.kind].bundle(self.variant, mended=self.mended)


@dataclass(frozen=True, slots=True)
class Found:
    """What the acceptance said of a bundle."""

    subject: Subject
    name: str
    failed: tuple[tuple[str, str], ...]
    """Checks that failed, with their evidence."""
    cpu_seconds: float
    calls: int | None

    @property
    def is_verified(self) -> bool:
        """True where nothing failed."""
        return not self.failed

    @property
    def is_for_stated(self) -> bool:
        """Tell whether it was refused, and a stated check among those that failed."""
        stated = self.subject.checks
        return bool(self.failed) and (not stated or any(c in stated for c, _ in self.failed))

    @property
    def is_expected(self) -> bool:
        """Tell whether it was judged as it should be."""
        return self.is_verified if self.subject.is_verified else self.is_for_stated


def corpus_subjects(variants: int, pattern: str) -> list[Subject]:
    """Bundles of the corpus, each cheat followed by its honest twin."""
    made: list[Subject] = []
    for kind in KINDS.values():
        for variant in range(variants if fnmatchcase(kind.name, pattern) else 0):
            if kind.checks:
                made.append(Subject(kind.name, False, kind.checks, variant))
            made.append(Subject(kind.name, True, (), variant, bool(kind.checks)))
    return made


def folder_subjects(folder: Path, pattern: str, *, is_verified: bool) -> list[Subject]:
    """Bundles in a folder: those that its ``index.json`` lists, or all of its folders.

    An entry of the index has ``name`` and ``kind``, and may say ``expected`` (``verified`` or ``refused``)
    and ``checks``.
    """
    index = folder / "index.json"
    if index.is_file():
        entries = cast("list[dict[str, Any]]", json.loads(index.read_text(encoding="utf-8")))
    else:
        names = sorted(p.name for p in folder.iterdir() if (p / _FILES[0]).is_file())
        entries = [{"name": name} for name in names]
    made = (_listed(folder, entry, is_verified=is_verified) for entry in entries)
    return [subject for subject in made if fnmatchcase(subject.kind, pattern)]


def _listed(folder: Path, entry: dict[str, Any], *, is_verified: bool) -> Subject:
    expected = entry.get("expected")
    return Subject(
        kind=entry.get("kind", entry["name"]),
        is_verified=is_verified if expected is None else expected == "verified",
        checks=tuple(entry.get("checks", ())),
        path=str(folder / entry["name"]),
    )


def write_bundles(subjects: Sequence[Subject], folder: Path) -> None:
    """Write bundles and their ``index.json`` into a folder."""
    index: list[dict[str, Any]] = []
    for subject in subjects:
        bundle = subject.bundle()
        target = folder / bundle.name
        target.mkdir(parents=True)
        document = bundle.document.model_dump_json(by_alias=True, exclude_none=True, indent=2)
        texts = (document, bundle.code, json.dumps(bundle.server, ensure_ascii=False, indent=2))
        for file, text in zip(_FILES, texts, strict=True):
            (target / file).write_text(text, encoding="utf-8")
        expected = "verified" if subject.is_verified else "refused"
        entry = {"name": bundle.name, "kind": subject.row, "expected": expected}
        index.append(entry | ({"checks": [*subject.checks]} if subject.checks else {}))
    text = json.dumps(index, ensure_ascii=False, indent=1)
    (folder / "index.json").write_text(text + "\n", encoding="utf-8")


def judge(subjects: Sequence[Subject]) -> list[Found]:
    """Judge bundles one after another, in a sandbox of their own."""
    return anyio.run(partial(_judged, subjects), backend_options={"use_uvloop": True})


async def _judged(subjects: Sequence[Subject]) -> list[Found]:
    async with open_sandbox(SandboxLimits()) as sandbox:
        return [await _found(subject, sandbox) for subject in subjects]


async def _found(subject: Subject, sandbox: Sandbox) -> Found:
    began = cpu_seconds(os.getpid(), with_children=True)
    failed: Iterator[tuple[str, str]] = iter(())
    name, calls = subject.row, None
    try:
        verdict = await _verdict(subject, sandbox)
    except SandboxError as error:
        failed = iter([("sandbox", str(error))])
    else:
        failed = ((f.check.value, f.detail) for f in verdict.failed_checks)
        name, calls = verdict.name, verdict.spent.calls if verdict.spent else None
    spent = max(0.0, cpu_seconds(os.getpid(), with_children=True) - began)
    return Found(subject, name, tuple(failed), round(spent, 3), calls)


async def _verdict(subject: Subject, sandbox: Sandbox) -> Verdict:
    try:
        bundle = subject.bundle()
    except BundleError as error:
        return verdict_of_faults(Path(subject.path or subject.kind).name, error.faults)
    return await verify_bundle(bundle, sandbox)
