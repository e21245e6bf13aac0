"""What a command costs before it works, and what a gateway costs that nobody uses.

    python -P benchmarks/startup.py [--json FILE] [--rounds N] [--install]

Each figure of a command is the processor time, in user and kernel mode, of its process and its children: the
median of the rounds, after one that is not counted. A rollout plays one episode against a gateway that runs,
so its figure holds the few calls of that episode too. The idle gateway serves the bundled environments; its
time is that of 20 s which begin 25 s after its start. With ``--install`` the base install is made in a new
virtual environment, and weighed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from circumstances import conditions  # noqa: E402
from completions_process import command as completions_command  # noqa: E402
from completions_process import variables  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402

PROGRAM = (str(Path(sys.executable).with_name("astra-mcp")),)
ENVIRONMENT = "loan-overpayment"
SETTLE_SECONDS = 25.0
IDLE_SECONDS = 20.0
MODEL = "scripted"

_ALONE = {
    "version": (("--version",), 0),
    "help": (("--help",), 0),
    "typo": (("episodez",), 2),
    "connect": (("connect", "claude-code", "--json"), 0),
    "episodes_list": (("episodes", "list"), 0),
    "registry_list": (("registry", "list"), 0),
}
"""Command lines that need nothing that runs, and their exit codes."""
_TAB = {"_ASTRA_MCP_COMPLETE": "complete_bash", "COMP_WORDS": "astra-mcp e", "COMP_CWORD": "1"}


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    circumstances = conditions(rounds=options.rounds, seed=0, environment=ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as home:
        os.environ["ASTRA_MCP_HOME"] = home
        figures = _measure(options.rounds)
    if options.install:
        figures["base_install_mb"] = _install()
    for name, value in figures.items():
        print(f"{name}: {value}")
    figures["conditions"] = circumstances.finished()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _measure(rounds: int) -> dict[str, Any]:
    with _started([*PROGRAM, "serve", "--port", "0", "--json"]) as (gateway, _):
        figures: dict[str, Any] = {"idle_gateway_cpu_ms_per_second": _idle(gateway.pid)}
        for name, (line, code) in _ALONE.items():
            figures[f"{name}_cpu_seconds"] = _median(line, rounds, code)
        figures["tab_cpu_seconds"] = _median((), rounds, 0, _TAB)
        play = ("rollout", ENVIRONMENT, "--json", "--agent")
        figures["rollout_oracle_cpu_seconds"] = _median((*play, "oracle"), rounds, 0)
        with _started(completions_command("--policy", "silent_model:answer")) as (_, model):
            by_model = (*play, MODEL, "--base-url", model["base_url"])
            figures["rollout_model_cpu_seconds"] = _median(by_model, rounds, 0)
    return figures


def _idle(pid: int) -> float:
    time.sleep(SETTLE_SECONDS)
    before = cpu_seconds(pid, with_children=True)
    time.sleep(IDLE_SECONDS)
    return round((cpu_seconds(pid, with_children=True) - before) / IDLE_SECONDS * 1e3, 2)


def _median(
    line: tuple[str, ...], rounds: int, code: int, more: Mapping[str, str] | None = None
) -> float:
    taken: list[float] = []
    for _ in range(rounds + 1):
        before = os.times()
        done = subprocess.run(
            [*PROGRAM, *line], env={**os.environ, **(more or {})}, capture_output=True, check=False
        )
        after = os.times()
        if done.returncode != code:
            raise RuntimeError(f"{line} ended with {done.returncode}: {done.stderr.decode()}")
        taken.append(
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )
    return round(statistics.median(taken[1:]), 3)


@contextmanager
def _started(line: list[str]) -> Generator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """Run a program that says in one line of JSON that it serves."""
    process = subprocess.Popen(line, stdout=subprocess.PIPE, env=variables())
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        yield process, json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def _install() -> float:
    """Weigh the packages of a base install, without pip, in millions of bytes."""
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = f"{folder}/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(_HERE.parent)], check=True)
        subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip"], check=True)
        files = (f for f in Path(folder).rglob("*") if f.is_file() and not f.is_symlink())
        return round(sum(f.stat().st_blocks * 512 for f in files) / 1e6, 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--install", action="store_true", help="also weigh a base install")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
