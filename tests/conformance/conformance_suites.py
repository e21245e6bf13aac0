"""MCP's conformance suites as npm has them: which ones are run, and what one run found.

Knows the suites' command line and the files that they write; knows nothing of what is tested.
"""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installed_programs import node_path, npm_folder

SUITE_SECONDS = 180
_PROGRAM = Path("node_modules/@modelcontextprotocol/conformance/dist/index.js")
_UNSCORED = re.compile(
    r"^\s+[✓✗] (\S+) \((?:extension|pending|added-after-release)\)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One run of one version."""

    name: str
    version: str
    """Of the npm package."""
    choice: tuple[str, ...]
    """Options that choose the scenarios."""
    reference: int
    """Checks that the SDK's own example server passes; the fixture passes no fewer."""


SUITES = (
    Suite(name="0.1.16 active", version="0.1.16", choice=("--suite", "active"), reference=40),
    Suite(
        name="alpha.12 2025-11-25",
        version="0.2.0-alpha.12",
        choice=("--requirements", "2025-11-25"),
        reference=84,
    ),
    Suite(
        name="alpha.12 2026-07-28",
        version="0.2.0-alpha.12",
        choice=("--requirements", "2026-07-28"),
        reference=168,
    ),
)


@dataclass(frozen=True, slots=True, order=True)
class Check:
    """One check of one scenario; a scenario may make the same check several times."""

    scenario: str
    id: str
    name: str
    nth: int

    def __str__(self) -> str:
        again = f" #{self.nth + 1}" if self.nth else ""
        return f"{self.scenario}:{self.id} ({self.name}{again})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run found."""

    passed: frozenset[Check]
    failed: frozenset[Check]
    """A warning is a failure of something that the specification recommends."""
    unscored: frozenset[str]
    """Scenarios that do not count for the revision."""
    exit_code: int
    said: dict[Check, str]
    """Why checks failed."""

    @property
    def failed_scored(self) -> frozenset[Check]:
        """Those failures that count."""
        return frozenset(c for c in self.failed if c.scenario not in self.unscored)


def run_suite(suite: Suite, url: str, folder: Path) -> Outcome:
    """Run a suite against a server, and keep what it wrote in a folder.

    Args:
        suite: What to run.
        url: Where the server listens, on this machine.
        folder: Made anew.
    """
    return run_program(suite.version, ["server", "--url", url, *suite.choice], folder)


def run_program(version: str, arguments: Sequence[str | Path], folder: Path) -> Outcome:
    """Run a version of the suites with these arguments, and read what it found.

    Args:
        version: Of the npm package; installed where it is not yet.
        arguments: All but the folder for the results.
        folder: Made anew, for the results.
    """
    package = npm_folder(f"conformance-{version}", f"@modelcontextprotocol/conformance@{version}")
    folder.mkdir(parents=True)
    done = subprocess.run(
        [node_path(), package / _PROGRAM, *arguments, "--output-dir", folder],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SUITE_SECONDS,
        check=False,
    )
    (folder / "said.txt").write_text(done.stdout + done.stderr)
    return read_outcome(folder, done.stdout, done.returncode)


def read_outcome(folder: Path, said: str, exit_code: int) -> Outcome:
    """Read what a suite wrote."""
    passed: set[Check] = set()
    failed: dict[Check, str] = {}
    for check, written in _checks(folder):
        match written["status"]:
            case "SUCCESS":
                passed.add(check)
            case "FAILURE" | "WARNING":
                failed[check] = str(written.get("errorMessage", ""))
            case _:
                pass  # for information, or left out
    return Outcome(
        passed=frozenset(passed),
        failed=frozenset(failed),
        unscored=frozenset(_UNSCORED.findall(said)),
        exit_code=exit_code,
        said=failed,
    )


def _checks(folder: Path) -> Iterator[tuple[Check, dict[str, Any]]]:
    for file in sorted(folder.glob("**/checks.json")):
        scenario = re.sub(r"-\d{4}-\d{2}-\d{2}T[\d-]+Z$", "", file.parent.name).removeprefix(
            "server-"
        )
        seen: Counter[tuple[str, str]] = Counter()
        for written in json.loads(file.read_text()):
            key = (written["id"], written["name"])
            yield Check(scenario, *key, seen[key]), written
            seen[key] += 1
