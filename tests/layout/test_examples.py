"""The examples run as their pages say."""

import os
import subprocess
import sys
from pathlib import Path

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


def test_the_example_of_one_episode_earns_the_whole_reward(tmp_path: Path) -> None:
    with served_home(tmp_path / "home") as cli:
        done = run_example("one_episode.py", cli.home)
        wrong = run_example("one_episode.py", cli.home, "nope")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert "no environment is named 'nope'" in wrong.stderr
    assert done.returncode == 0, done.stderr
    assert "recall=1.0" in done.stdout


def test_the_example_says_what_to_do_where_no_gateway_runs(tmp_path: Path) -> None:
    done = run_example("one_episode.py", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "no gateway runs: start one with `astra-mcp serve`\n"


def test_the_example_of_an_own_server_earns_the_whole_reward(tmp_path: Path) -> None:
    done = run_example("own_server.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "recall=1.0" in done.stdout
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    example = (ROOT / "examples" / "own_server.py").read_text(encoding="utf-8")
    assert example.partition("async def main")[2].partition("\n\n\n")[0] in page
    tested = (ROOT / "examples" / "test_own_agent.py").read_text(encoding="utf-8")
    assert tested.partition("class LastWordAgent")[2].strip() in page
