"""The examples run as their pages say."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import served_home

ROOT = Path(__file__).parents[2]


def run_example(name: str, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", str(ROOT / "examples" / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "ASTRA_MCP_HOME": str(home)},
    )


def said_at_the_end(name: str, home: Path, *arguments: str) -> str:
    """Run an example that fails, in this process; gives what it exits with, which is printed."""
    file = str(ROOT / "examples" / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTRA_MCP_HOME", str(home))
        patch.setattr(sys, "argv", [file, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(file, run_name="__main__")
    assert isinstance(ended.value.code, str)
    return ended.value.code


def test_the_example_of_one_episode_earns_the_whole_reward(tmp_path: Path) -> None:
    with served_home(tmp_path / "home") as cli:
        done = run_example("one_episode.py", cli.home)
        wrong = said_at_the_end("one_episode.py", cli.home, "nope")
    assert "no environment is named 'nope'" in wrong
    assert "\n" not in wrong
    assert done.returncode == 0, done.stderr
    assert "recall=1.0" in done.stdout


def test_the_example_says_what_to_do_where_no_gateway_runs(tmp_path: Path) -> None:
    said = said_at_the_end("one_episode.py", tmp_path)
    assert said == "no gateway runs: start one with `astra-mcp serve`"


def test_the_example_of_an_own_server_earns_the_whole_reward(tmp_path: Path) -> None:
    done = run_example("own_server.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "recall=1.0" in done.stdout
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    example = (ROOT / "examples" / "own_server.py").read_text(encoding="utf-8")
    assert example.partition("async def main")[2].partition("\n\n\n")[0] in page
    tested = (ROOT / "examples" / "test_own_agent.py").read_text(encoding="utf-8")
    assert tested.partition("class LastWordAgent")[2].strip() in page
