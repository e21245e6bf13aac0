"""The examples run as their pages say."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def served_home(tmp_path: Path) -> Iterator[Path]:
    """A home whose gateway runs."""
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "astra_mcp", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        env={**os.environ, "ASTRA_MCP_HOME": str(tmp_path)},
    )
    try:
        assert server.stdout is not None
        json.loads(server.stdout.readline())
        yield tmp_path
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)


def run_example(name: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "ASTRA_MCP_HOME": str(home)},
    )


def test_the_example_of_one_episode_earns_the_whole_reward(served_home: Path) -> None:
    done = run_example("one_episode.py", served_home)
    assert done.returncode == 0, done.stderr
    assert "recall=1.0" in done.stdout


def test_the_example_says_what_to_do_where_no_gateway_runs(tmp_path: Path) -> None:
    done = run_example("one_episode.py", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "no gateway runs: start one with `astra-mcp serve`\n"
