"""Runs tests against mutants in a copy of the checkout, with a copy of its environment.

The copy has links to the files of installed packages and its own path to the product, so that processes which
tests start run the mutant too. A test that fails is asked whether it passes without the mutation before
the mutant counts as killed.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mutants import Mutant
from source_graph import PACKAGES, SourceGraph, read_sources

__all__ = ["Copy", "Fate", "Trials", "copied", "tests_about"]

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)
_MAX_FALSE_ALARMS = 5
_END_SECONDS = 20.0
_FIRST = 4
"""So many files are tried in one process before the others."""


class Fate(NamedTuple):
    """What became of a mutant."""

    name: str
    module: str
    line: int
    change: str
    fate: str
    """``killed``, ``survived`` or ``undecided`` (its time was over)."""
    by: str
    """The test that killed it, or how far the tests came."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a checkout."""

    root: Path

    def run(self, command: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run a command of the copy's environment; None as the exit code where its time was over."""
        with subprocess.Popen(
            [str(self.root / ".venv" / "bin" / "python"), "-P", "-m", *command],
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=max(1.0, seconds))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                try:
                    output, _ = process.communicate(timeout=_END_SECONDS)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    output, _ = process.communicate()
                return None, output
            return process.returncode, output

    @contextlib.contextmanager
    def mutated(self, path: Path, text: str) -> Generator[None]:
        """Replace a module while the block runs."""
        target = self.root / path
        original = target.read_text(encoding="utf-8")
        try:
            _write(target, text)
            yield
        finally:
            _write(target, original)


@contextlib.contextmanager
def copied(checkout: Path) -> Generator[Copy]:
    """Copy a checkout that has an environment; the copy goes with the block."""
    with tempfile.TemporaryDirectory(prefix="astra-mcp-mutants-") as folder:
        root = Path(folder)
        root.chmod(0o755)  # tests of an ordinary user read it too
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
            cwd=checkout,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split("\0")
        for name in filter(None, listed):
            if (checkout / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(checkout / name, root / name)
        _git(root, "init", "-q")
        _git(root, "add", "-A")  # tests list the files of the checkout
        _copy_environment(checkout, root)
        yield Copy(root)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)  # noqa: S607


def _copy_environment(checkout: Path, root: Path) -> None:
    """Link what is installed, and let the copy's own programs and paths name the copy."""
    old, new = str(checkout), str(root)
    shutil.copytree(checkout / ".venv", root / ".venv", symlinks=True, copy_function=_link)
    named = [*(root / ".venv" / "bin").iterdir(), root / ".venv" / "pyvenv.cfg"]
    named += [*root.glob(".venv/lib/*/site-packages/*.pth")]
    for path in named:
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if old.encode() in data:
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(data.replace(old.encode(), new.encode()))
            path.chmod(mode)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _write(path: Path, text: str) -> None:
    """Write a module, and drop what Python compiled of it: its time and size may be the same."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


# --- which tests ----------------------------------------------------------------------------------


def tests_about(graph: SourceGraph, root: Path, module: str) -> list[str]:
    """Which test files concern a module: those that import it, and then those of its folder's tests.

    Files whose names share a word with the module come first, then those that import the lowest modules: they
    are quick, and near to what they test.

    Args:
        graph: Of the product.
        root: Of the checkout.
        module: By its dotted name.
    """
    readers = read_sources(root, ["tests"]).sources
    package = module.rpartition(".")[0]
    passed_on = package if module in graph.imports.get(package, ()) else module
    direct = {
        name: {one for pair in reader.imported for one in _names(*pair)}
        for name, reader in readers.items()
    }
    helpers = {
        name.rpartition(".")[2]: names for name, names in direct.items() if ".test_" not in name
    }
    imported = {
        name: names.union(*(helpers.get(one.rpartition(".")[2], ()) for one in names))
        for name, names in direct.items()
    }
    levels = graph.levels()

    words = {word for word in re.split(r"[._]", module) if word not in PACKAGES}

    def distance(name: str) -> tuple[bool, int, str]:
        is_named_alike = not words.isdisjoint(name.rpartition(".")[2].split("_"))
        height = max((levels.get(one, 0) for one in imported[name]), default=0)
        return not is_named_alike, height or len(levels), name

    importing = [name for name, names in imported.items() if {module, passed_on} & names]
    near = [
        name
        for folder in _test_folders(root, module)
        for name in sorted(readers, key=distance)
        if name.startswith(f"{folder}.")
    ]
    paths = [
        Path(*name.split(".")).with_suffix(".py") for name in sorted(importing, key=distance) + near
    ]
    return list(dict.fromkeys(str(path) for path in paths if path.name.startswith("test_")))


def _names(module: str, name: str | None) -> list[str]:
    return [module] if name is None else [module, f"{module}.{name}"]


def _test_folders(root: Path, module: str) -> list[str]:
    """The folders of tests named after a module's folders, the innermost first."""
    parts = module.split(".")
    paths = [
        Path("tests", *parts[begin:end]) for end in range(len(parts), 0, -1) for begin in (0, 1)
    ]
    return [
        ".".join(path.parts) for path in paths if path.name != "tests" and (root / path).is_dir()
    ]


# --- trials ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Trials:
    """Tries mutants in one copy."""

    copy: Copy
    graph: SourceGraph
    seconds: float
    """For each round of the tests that concern a mutant."""
    whole_seconds: float = 0.0
    """For all tests, where those pass; 0 leaves them out."""
    processes: int = 2
    _shaky: list[str] = field(default_factory=list[str])
    """Tests that fail without any mutation."""

    def try_mutant(self, mutant: Mutant) -> Fate:
        """Run tests until one fails because of the mutant, all have passed or the time is over."""
        begun = time.monotonic()
        path = self.graph.sources[mutant.module].path.relative_to(self.graph.root)
        files = tests_about(self.graph, self.copy.root, mutant.module)
        rounds = [(files[:_FIRST], self.seconds), (files[_FIRST:], self.seconds)]
        if self.whole_seconds:
            rounds.append((["tests"], self.whole_seconds))
        fate, by = "survived", "no test concerns it"
        for chosen, seconds in rounds:
            if chosen:
                fate, by = self._try(path, mutant.text, chosen, seconds)
            if fate == "killed":
                break
        change = f"{mutant.before} -> {mutant.after}"
        took = round(time.monotonic() - begun, 1)
        return Fate(mutant.name, mutant.module, mutant.line, change, fate, by, took)

    def _try(self, path: Path, text: str, files: Sequence[str], seconds: float) -> tuple[str, str]:
        end = time.monotonic() + seconds
        for _ in range(_MAX_FALSE_ALARMS):
            with self.copy.mutated(path, text):
                status, output = self._tests(files, end - time.monotonic())
            if status is None:
                return "undecided", f"after {seconds:.0f} s of {len(files)} files"
            if status in (0, 5):
                return "survived", ""
            failed = _FAILED.search(output)
            if failed is None:
                return "killed", f"exit code {status}: {output.strip()[-200:]}"
            test = failed.group(1)
            if self._tests([test], self.seconds)[0] in (0, 5):
                return "killed", test
            self._shaky.append(test)  # it fails anyway; the others decide
        return "undecided", f"tests fail without it: {', '.join(self._shaky)}"

    def _tests(self, files: Sequence[str], seconds: float) -> tuple[int | None, str]:
        many = ["-n", str(self.processes), "--dist", "worksteal"]
        if len(files) <= _FIRST and files != ["tests"]:
            many = []
        skipped = [f"--deselect={test}" for test in self._shaky]
        options = ["-x", "-q", "-rfE", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
        return self.copy.run(["pytest", *options, *many, *skipped, *files], seconds)
