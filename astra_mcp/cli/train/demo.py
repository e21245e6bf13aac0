"""``astra-mcp train demo``: from nothing to a model that learnt, by the commands that anybody may give.

The folder has its own ``astra.toml`` and home, so that nothing else is touched and each command can be given
again there. What a command left whole is not made again.
"""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from astra_mcp.errors import ConfigError
from astra_mcp.report.console import ExitCode, out, say
from astra_mcp.report.shown import json_text

__all__ = ["Demo", "run_demo"]

_FOLDERS = ["worlds", "practice", "held_out"]
_ASTRA = f"""\
home = "home"
environments = {json_text(_FOLDERS)}
"""
_SFT = """\
model = "tiny"
out = "sft"
seed = {seed}

[[data]]
file = "oracle.jsonl"

[training]
epochs = 1000
max_steps = {sft_steps}
batch_size = 64
micro_batch_size = 16
learning_rate = 6e-3
betas = [0.9, 0.98]
weight_decay = 0.01

[checkpoints]
every = {every_sft}

[validation]
environments = {held_out}
every = {every_sft}
"""
_GRPO = """\
model = "sft/weights/step-{sft_steps:08d}"
out = "grpo"
seed = {seed}

[[data]]
environments = {practice}
questions = "all"

[training]
steps = {steps}
groups = 8
group_size = 8
mini_batches = 2
learning_rate = 3e-4

[limits]
turns = 6
turn_tokens = 32
context_tokens = 384

[checkpoints]
every = 10

[validation]
environments = {held_out}
samples = 4
"""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What is made, and how long it is trained on."""

    folder: Path
    seed: int = 0
    """Of worlds, weights and order."""
    worlds: int = 96
    """Environments to imitate in; half as many others are to earn in."""
    held_out: int = 24
    """Environments to be judged by; their worlds and questions are others."""
    sft_steps: int = 250
    """So few that something is left to learn."""
    steps: int = 30
    """Of GRPO."""


def run_demo(demo: Demo) -> None:
    """Give the commands one after the other, each with its words; ends as the first one that fails.

    Raises:
        ConfigError: The folder holds something else, or a demo with other settings; or cannot be written.
    """
    _claim(demo)
    _run(demo, _synth("worlds", demo.worlds, demo.seed))
    # Another seed gives other worlds; those of neighbouring demos are none of them.
    _run(demo, _synth("practice", max(demo.worlds // 2, 1), demo.seed + 2**33))
    _run(demo, _synth("held_out", demo.held_out, demo.seed + 2**32))
    names = {place: _names(demo, place) for place in _FOLDERS}
    playing = ["--agent", "oracle", "--questions", "all", "--out", "oracle.jsonl"]
    if (demo.folder / "oracle.jsonl").exists():
        playing.append("--resume")
    shown = " ".join(("rollout", "$(ls worlds)", *playing))
    _run(demo, ("rollout", *names["worlds"], *playing), shown)
    for name, text in _configs(demo, names).items():
        _write(demo.folder / name, text)
    _run(demo, ("train", "sft", "--config", "sft.toml"))
    _run(demo, ("train", "rl", "--config", "grpo.toml"))
    runs = [str(demo.folder / name) for name in ("sft", "grpo")]
    page = f"{demo.folder.name}.html"
    command = shlex.join(["astra-mcp", "train", "report", *runs, "--out", page])
    out.print(f"draw its curves: {command}")
    out.print(f"look at it in a browser: cd {shlex.quote(str(demo.folder))} && astra-mcp serve")


def _claim(demo: Demo) -> None:
    """Make the folder, or take one that such a demo was begun in."""
    begun, text = demo.folder / "demo.json", json_text(_settings(demo))
    try:
        demo.folder.mkdir(parents=True, exist_ok=True)
        if begun.exists():
            if begun.read_text(encoding="utf-8") != text:
                raise ConfigError(
                    f"{demo.folder} holds a demo with other options: name another folder with --out"
                )
        elif any(demo.folder.iterdir()):
            raise ConfigError(f"{demo.folder} is no demo: name a new folder with --out")
    except OSError as error:
        raise ConfigError(f"{demo.folder} cannot be used: {error.strerror}") from None
    _write(demo.folder / "astra.toml", _ASTRA)
    _write(begun, text)


def _settings(demo: Demo) -> Mapping[str, int]:
    names = ("seed", "worlds", "held_out", "sft_steps", "steps")
    return {name: getattr(demo, name) for name in names}


def _configs(demo: Demo, names: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """Write down both runs as anybody would."""
    listed = {place: json_text(list(found)) for place, found in names.items()}
    every = max(demo.sft_steps // 5, 1)
    values = {**_settings(demo), **listed, "every_sft": every}
    return {"sft.toml": _SFT.format(**values), "grpo.toml": _GRPO.format(**values)}


def _synth(folder: str, count: int, seed: int) -> Sequence[str]:
    options = "--families micro --sub-tasks 1-2 --questions 8 --language en --no-acceptance"
    numbers = ("--count", str(count), "--seed", str(seed))
    return ("synth", "environments", *options.split(), *numbers, "--out", folder)


def _names(demo: Demo, folder: str) -> Sequence[str]:
    return sorted(place.name for place in (demo.folder / folder).iterdir() if place.is_dir())


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None


def _run(demo: Demo, arguments: Sequence[str], shown: str | None = None) -> None:
    """Run one command of this program in the folder, and wait for it, also where the user stops it."""
    say.print(f"$ astra-mcp {shown or shlex.join(arguments)}", style="bold")
    command = [sys.executable, "-P", "-m", "astra_mcp", *arguments]
    # What the environment says is stronger than astra.toml.
    own = {"HOME": "home", "ENVIRONMENTS": json_text(_FOLDERS)}
    told = {**os.environ, **{f"ASTRA_MCP_{name}": value for name, value in own.items()}}
    with (
        _ending_on_request(),
        subprocess.Popen(command, cwd=demo.folder, env=told) as process,  # noqa: S603 - this program
    ):
        try:
            code = process.wait()
        except KeyboardInterrupt:
            code = process.wait()  # it heard of it too, and saves what it has
        finally:
            process.terminate()
    if code == ExitCode.STOPPED:
        say.print("stopped: the same command goes on")
    if code != ExitCode.DONE:
        raise typer.Exit(code if code > 0 else ExitCode.FAILED)


@contextmanager
def _ending_on_request() -> Generator[None]:
    """Take the end that somebody asks for as an exception, so that no command stays behind."""

    def end(number: int, _frame: object) -> None:
        raise typer.Exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
