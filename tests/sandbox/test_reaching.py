"""Native code of a tool reaches nothing beyond its process, and stops nobody else's start.

Two hosts are really attacked (``reach_host.py``): one that is root, whose tools run as nobody, and one that
is an ordinary user, as whom its tools run too. ``reaching.py`` says by what.
"""

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.sandbox.runtime import Runtime

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
TABLE: dict[str, Any] = runpy.run_path(str(HERE / "reaching.py"))["TABLE"]
ORDINARY_USER = 54321
MADE = {name: reach for name, reach in TABLE.items() if reach.number is not None}
"""Those that the architecture of this machine has."""

Reached = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def reached(request: pytest.FixtureRequest) -> Reached:
    """Gives what a host of some user saw; each host runs once."""
    runs: dict[str, dict[str, Any]] = {}

    def run(user: str) -> dict[str, Any]:
        if user == "root" and os.getuid() != 0:
            pytest.skip("the tests were not started as root")
        if user not in runs:
            becomes = ORDINARY_USER if user == "ordinary" and os.getuid() == 0 else None
            runtime = request.getfixturevalue("open_runtime") if becomes else Runtime.default()
            options = {"uid": becomes, "python": runtime.python, "launcher": runtime.launcher}
            path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests" / "support")])
            finished = subprocess.run(
                [sys.executable, str(HERE / "reach_host.py"), json.dumps(options)],
                env={**os.environ, "PYTHONPATH": path},
                cwd="/",
                capture_output=True,
                text=True,
                timeout=110,
                check=False,
            )
            assert finished.returncode == 0, finished.stderr
            runs[user] = json.loads(finished.stdout)
        return runs[user]

    return run


each_user = pytest.mark.parametrize(
    "user", ["root", pytest.param("ordinary", marks=pytest.mark.volume)], scope="module"
)


def test_there_are_more_than_a_hundred_kinds() -> None:
    assert len({(reach.x86_64, reach.arguments) for reach in TABLE.values()}) == len(TABLE) > 100


@each_user
@pytest.mark.parametrize("place", ["loading", "session"])
def test_every_call_is_refused_as_it_must_be(user: str, place: str, reached: Reached) -> None:
    found = reached(user)["attempts"][place]
    assert found == {name: reach.refused_with for name, reach in MADE.items()}


@each_user
def test_the_others_are_as_they_were_and_new_ones_start(user: str, reached: Reached) -> None:
    run = reached(user)
    assert run["sibling"] == 2
    assert run["server"]
    assert run["next"]
    assert run["starts"] == [1, 1]
    assert (run["uid"] == 0) == (user == "root")
    assert run["tool_uid"] != 0
