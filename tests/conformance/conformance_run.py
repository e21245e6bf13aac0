"""Runs MCP's conformance suites against the fixture, bare and behind the gateway, and judges.

``make conformance`` starts it; ``ARGS="--json FILE"`` also writes the results. Ends with 1 where the gateway
answers otherwise than the server behind it, or where a call is in no record.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from conformance_client import CLIENT_SCENARIOS, faults_of_client, run_client
from conformance_legs import LEGS, LegStartError, called, recorded
from conformance_suites import SUITES, Outcome, run_suite
from conformance_verdict import (
    Expectation,
    check_expectations,
    faults_behind_gateway,
    faults_of_bare,
    missing_calls,
    read_expectations,
)

EXPECTED_FAILURES = Path(__file__).with_name("expected_failures.json")
BARE = next(iter(LEGS))


@dataclass(frozen=True, slots=True, kw_only=True)
class LegResult:
    """What all suites found on one leg."""

    outcomes: Mapping[str, Outcome]
    """By the suites' names."""
    received: Counter[str]
    """Calls of tools that reached the fixture."""
    recorded: Counter[str]
    """Calls of tools in the gateway's records; none on the bare leg."""


def run_leg(name: str, folder: Path) -> LegResult:
    """Run all suites on one leg.

    Args:
        name: One of ``LEGS``.
        folder: Made anew; keeps what the suites and the servers wrote.
    """
    with LEGS[name](folder) as leg:
        outcomes = {
            suite.name: run_suite(suite, leg.url, folder / "suites" / str(number))
            for number, suite in enumerate(SUITES)
        }
    return LegResult(outcomes=outcomes, received=called(leg), recorded=recorded(leg))


def faults_of(
    legs: Mapping[str, LegResult], expected: Sequence[Expectation]
) -> dict[str, list[str]]:
    """Judge the legs that were run, the bare one among them.

    Returns:
        For each leg and suite what is at fault, in words; nothing where nothing is.
    """
    faults = {"expected failures": check_expectations(expected, SUITES)}
    for name, leg in legs.items():
        for suite in SUITES:
            bare, outcome = legs[BARE].outcomes[suite.name], leg.outcomes[suite.name]
            faults[f"{name}, {suite.name}"] = (
                faults_of_bare(suite, bare)
                if name == BARE
                else faults_behind_gateway(suite, bare, outcome, expected)
            )
        if name != BARE:
            lost = missing_calls(leg.received, leg.recorded)
            faults[f"{name}, record"] = lost if leg.received else ["no call reached the server"]
    return {where: found for where, found in faults.items() if found}


def run_clients(folder: Path) -> dict[str, Outcome]:
    """Run the scenarios for clients against the gateway's own side towards its servers.

    Returns:
        What each of them found, by revision and scenario.
    """
    return {
        f"{revision} {scenario}": run_client(scenario, revision, folder / revision / scenario)
        for revision, scenarios in CLIENT_SCENARIOS.items()
        for scenario in scenarios
    }


def _figures(legs: Mapping[str, LegResult]) -> dict[str, Any]:
    return {
        name: {
            "calls_received": leg.received.total(),
            "calls_recorded": leg.recorded.total(),
            "suites": {
                suite: {
                    "passed": len(found.passed),
                    "failed_scored": len(found.failed_scored),
                    "failed_unscored": len(found.failed) - len(found.failed_scored),
                    "exit_code": found.exit_code,
                    "failed": sorted(str(check) for check in found.failed),
                }
                for suite, found in leg.outcomes.items()
            },
        }
        for name, leg in legs.items()
    }


def _client_figures(clients: Mapping[str, Outcome]) -> dict[str, Any]:
    return {
        name: {"passed": len(found.passed), "failed": sorted(str(check) for check in found.failed)}
        for name, found in clients.items()
    }


def _conditions(seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(seconds, 1),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("astra-mcp", "mcp", "uvicorn")},
        "suites": {suite.name: suite.version for suite in SUITES},
    }


def _table(legs: Mapping[str, LegResult], clients: Mapping[str, Outcome]) -> str:
    head = f"{'leg':12} {'suite':22} {'passed':>6} {'failed':>6} {'unscored failures':>18}"
    rows = [
        f"{name:12} {suite:22} {len(o.passed):6} {len(o.failed_scored):6} "
        f"{len(o.failed) - len(o.failed_scored):18}"
        for name, leg in legs.items()
        for suite, o in leg.outcomes.items()
    ]
    for revision in CLIENT_SCENARIOS if clients else ():
        found = [o for name, o in clients.items() if name.startswith(revision)]
        passed, failed = sum(len(o.passed) for o in found), sum(len(o.failed) for o in found)
        rows.append(f"{'client':12} {'alpha.12 ' + revision:22} {passed:6} {failed:6} {0:18}")
    calls = [
        f"{name:12} {leg.received.total()} calls of tools received, {leg.recorded.total()} recorded"
        for name, leg in legs.items()
        if name != BARE
    ]
    return "\n".join([head, *rows, *calls])


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--leg", choices=list(LEGS)[1:], help="this one alone, beside the bare one")
    parser.add_argument("--keep", type=Path, help="keep what suites and servers write here")
    given = parser.parse_args()
    names = [name for name in LEGS if given.leg in (None, name) or name == BARE]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        place = given.keep or Path(temporary)
        try:
            legs = {name: run_leg(name, place / name.replace(" ", "-")) for name in names}
            clients = run_clients(place / "client") if given.leg is None else {}
        except (LegStartError, pytest.skip.Exception) as error:
            sys.stderr.write(f"{error}\n")
            return 1
    faults = faults_of(legs, read_expectations(EXPECTED_FAILURES))
    wrong = {f"client, {name}": faults_of_client(found) for name, found in clients.items()}
    faults |= {where: found for where, found in wrong.items() if found}
    sys.stdout.write(_table(legs, clients) + "\n")
    for where, found in faults.items():
        sys.stdout.write(f"\n{where}:\n" + "".join(f"  {fault}\n" for fault in found))
    if given.json:
        results = {
            "conditions": _conditions(time.monotonic() - began),
            "legs": _figures(legs),
            "client": _client_figures(clients),
            "faults": faults,
        }
        given.json.write_text(json.dumps(results, indent=2) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(_main())
