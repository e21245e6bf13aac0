"""Hostile tool code has no effect outside of its own process, with and without the import guard.

Each configuration is host processes that are really attacked (``attack_host.py``); as root they also run as
an ordinary user, without any user namespace. What exhausts a limit takes seconds; its process is another.
"""

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.sandbox.runtime import Runtime

from tiers import AT_THE_GATE

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
_DEFINED: dict[str, Any] = runpy.run_path(str(HERE / "attempts.py"))
ATTEMPTS: dict[str, Any] = _DEFINED["ATTEMPTS"]
ORDINARY_USER = 54321
CONFIGURATIONS = {
    "root-kernel-alone": ("root", False),
    "root-guarded": ("root", True),
    "ordinary-user-kernel-alone": ("ordinary user", False),
    "ordinary-user-guarded": ("ordinary user", True),
}
"""Who runs the host, and whether the import guard is on."""
EXHAUSTING: frozenset[str] = _DEFINED["EXHAUSTING"]
EXHAUSTED_AT_ONCE = "root-kernel-alone"
"""The other configurations end these attempts by the same limits."""
QUICK = ("root-kernel-alone", "ordinary-user-guarded")
"""Between them every layer and every user."""
REFUSED_IMPORT = "ImportError: module '[a-z_.]+' is not available to tools"
Run = dict[str, Any]


Attack = Callable[[str, str], Run]


@pytest.fixture(scope="session")
def attack(world: Path, request: pytest.FixtureRequest) -> Attack:
    """Gives what happened to the host of a configuration that made an attempt; each host runs once."""
    runs: dict[tuple[str, bool], Run] = {}

    def run(configuration: str, name: str) -> Run:
        user, guard = CONFIGURATIONS[configuration]
        if user == "root" and os.getuid() != 0:
            pytest.skip("the tests were not started as root")
        key = (configuration, name in EXHAUSTING)
        if key not in runs:
            names = [one for one in ATTEMPTS if (one in EXHAUSTING) == key[1]]
            ordinary = user == "ordinary user" and os.getuid() == 0
            runtime = request.getfixturevalue("open_runtime") if ordinary else Runtime.default()
            uid = ORDINARY_USER if ordinary else None
            runs[key] = _attack(uid, runtime, world, {"guard": guard, "attempts": names})
        return runs[key]

    return run


def _attack(uid: int | None, runtime: Runtime, world: Path, chosen: Mapping[str, Any]) -> Run:
    options = {
        "uid": uid,
        "python": runtime.python,
        "launcher": runtime.launcher,
        "folder": str(world),
        **chosen,
    }
    finished = subprocess.run(
        [sys.executable, str(HERE / "attack_host.py"), json.dumps(options)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def _tier(configuration: str) -> Any:
    return () if configuration in QUICK else AT_THE_GATE


# The scope brings the tests of a configuration together: they share hosts that each process runs anew.
each_configuration = pytest.mark.parametrize(
    "configuration", [pytest.param(c, marks=_tier(c)) for c in CONFIGURATIONS], scope="module"
)
one_configuration_at_once = pytest.mark.parametrize(
    "configuration",
    [
        pytest.param(c, marks=() if c == EXHAUSTED_AT_ONCE else pytest.mark.volume)
        for c in CONFIGURATIONS
    ],
    scope="module",
)


def test_the_table_has_the_46_attempts() -> None:
    assert len(_DEFINED["TABLE"]) == 46


@each_configuration
def test_tool_code_never_runs_as_root(attack: Attack, configuration: str) -> None:
    user, _ = CONFIGURATIONS[configuration]
    run = attack(configuration, "tcp_socket")
    assert run["report"]["uid"] == (65534 if user == "root" else run["uid"])
    assert user == "root" or run["uid"] != 0
    assert run["report"]["backend"] == "zygote"


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if name not in EXHAUSTING])
@each_configuration
def test_an_attempt_ends_as_it_must(configuration: str, name: str, attack: Attack) -> None:
    check_end(attack, configuration, name)


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if name in EXHAUSTING])
@one_configuration_at_once
def test_an_attempt_that_exhausts_a_limit_ends_as_it_must(
    configuration: str, name: str, attack: Attack
) -> None:
    check_end(attack, configuration, name)


def check_end(attack: Attack, configuration: str, name: str) -> None:
    """Hold what came of an attempt against what must."""
    result = attack(configuration, name)["attempts"][name]
    attempt, (_, guard) = ATTEMPTS[name], CONFIGURATIONS[configuration]
    assert result["effects"] == []
    assert result["next"], "the next session did not answer correctly"
    assert result["sibling"], "another session was disturbed"
    assert result["server"], "the fork server did not survive"
    refused_early = guard and re.match("ImportError|ModuleNotFoundError", result["outcome"])
    assert result["as_expected"] or refused_early, result["outcome"]
    if attempt.alive is not None and not refused_early:
        assert result["alive"] == attempt.alive


@each_configuration
def test_with_the_guard_an_import_is_refused_in_clear_words(
    attack: Attack, configuration: str
) -> None:
    run = attack(configuration, "tcp_socket")
    refused = re.match(REFUSED_IMPORT, run["attempts"]["tcp_socket"]["outcome"])
    assert bool(refused) == CONFIGURATIONS[configuration][1]
