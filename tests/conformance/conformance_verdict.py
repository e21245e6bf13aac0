"""Whether the gateway hides nothing of a server: its legs are held against the same server served bare.

Knows outcomes and expectations; knows nothing of how they came about.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance_suites import Check, Outcome, Suite

MOST_EXPECTED = 5
NEVER_EXPECTED = (
    "server-initialize", "server-session", "server-stateless", "ping",
    "tools-", "input-required-", "json-schema-",
    "dns-rebinding", "http-",
)  # fmt: skip
"""Scenarios of lifecycle, tools and security begin so; nothing of them may fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A check that fails behind the gateway for a reason that stands."""

    suite: str
    check: str
    """``scenario:id``."""
    reason: str

    def covers(self, suite: Suite, check: Check) -> bool:
        """True for the check that it names."""
        return self.suite == suite.name and self.check == f"{check.scenario}:{check.id}"


def read_expectations(file: Path) -> tuple[Expectation, ...]:
    """Read the expected failures."""
    return tuple(Expectation(**row) for row in json.loads(file.read_text()))


def check_expectations(expected: Sequence[Expectation], suites: Sequence[Suite]) -> list[str]:
    """Say which expectations may not stand."""
    names = {suite.name for suite in suites}
    faults = [f"{e.check}: there is no suite {e.suite!r}" for e in expected if e.suite not in names]
    faults += [f"{e.check}: an expected failure needs a reason" for e in expected if not e.reason]
    faults += [
        f"{e.check}: lifecycle, tools and security may not be expected to fail"
        for e in expected
        if e.check.startswith(NEVER_EXPECTED)
    ]
    if len(expected) > MOST_EXPECTED:
        faults.append(f"{len(expected)} failures are expected; at most {MOST_EXPECTED} may be")
    return faults


def faults_of_bare(suite: Suite, bare: Outcome) -> list[str]:
    """Say what the fixture itself falls short of."""
    faults = [f"{check} fails: {bare.said[check]}" for check in sorted(bare.failed_scored)]
    if len(bare.passed) < suite.reference:
        faults.append(f"{len(bare.passed)} checks pass, of {suite.reference} at least")
    if bare.exit_code != 0:
        faults.append(f"the suite ended with exit code {bare.exit_code}")
    return faults


def faults_behind_gateway(
    suite: Suite, bare: Outcome, behind: Outcome, expected: Sequence[Expectation]
) -> list[str]:
    """Say where a server behind the gateway does not answer as it does bare.

    An expected failure that passes is a fault too, since nobody would notice when it fails again.
    """
    lost = (bare.passed - behind.passed) | (behind.failed - bare.failed)
    faults = [
        f"{check}: {behind.said.get(check, 'not reached')}"
        for check in sorted(lost)
        if not any(e.covers(suite, check) for e in expected)
    ]
    faults += [
        f"{e.check}: expected to fail, but passes: take it off the list"
        for e in expected
        if e.suite == suite.name and not any(e.covers(suite, check) for check in lost)
    ]
    if behind.exit_code != 0 and not faults:
        faults.append(f"the suite ended with exit code {behind.exit_code}")
    return faults


def missing_calls(received: Mapping[str, int], recorded: Mapping[str, int]) -> list[str]:
    """Say which calls of tools reached the server and are in no record."""
    return [
        f"{tool}: the server was called {count} times, and {recorded.get(tool, 0)} are recorded"
        for tool, count in sorted(received.items())
        if recorded.get(tool, 0) < count
    ]
