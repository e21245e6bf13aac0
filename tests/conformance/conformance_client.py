"""The suites' other half: mock servers for clients, here for the gateway's own side towards its servers.

The scenarios of OAuth are left out, since the gateway signs in nowhere: it sends the headers of an entry.
"""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from conformance_suites import Outcome, run_program

VERSION = "0.2.0-alpha.12"
CLIENT_SCENARIOS: Mapping[str, tuple[str, ...]] = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}
"""By revision."""
_CLIENT = Path(__file__).with_name("upstream_client.py")


def run_client(scenario: str, revision: str, folder: Path) -> Outcome:
    """Run one scenario.

    Args:
        scenario: One of ``CLIENT_SCENARIOS``.
        revision: Which the mock server speaks.
        folder: Made anew, for the results.
    """
    command = shlex.join([sys.executable, "-P", str(_CLIENT)])
    arguments = ["client", "--command", command, "--scenario", scenario]
    return run_program(VERSION, [*arguments, "--spec-version", revision], folder)


def faults_of_client(outcome: Outcome) -> list[str]:
    """Say what the client did wrong."""
    faults = [f"{check}: {outcome.said[check]}" for check in sorted(outcome.failed)]
    if not outcome.passed:
        faults.append("no check passes")
    if outcome.exit_code != 0 and not faults:
        faults.append(f"the scenario ended with exit code {outcome.exit_code}")
    return faults
