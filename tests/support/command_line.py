"""The command line in a home of its own: in this process, or as a program where the process is the point.

A command that is run here costs no start, which is most of its time. Where signals, standard streams, an
event loop of the caller or two commands at once matter, it has to be a program.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from astra_mcp.cli.main import app
from gateway.api.client import GatewayClient
from gateway.edge.keys import read_control_key

from completions_server import CompletionsServer

SECONDS = 100.0
FOREIGN = ("OPENAI_", "ASTRA_MCP_")
"""Variables of the shell that start with these would change what a command does."""


class Run(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def told(self) -> dict[str, Any]:
        """The one JSON object that it printed."""
        assert self.stdout.count("\n") == 1, self
        return json.loads(self.stdout)


def command(*arguments: str) -> list[str]:
    """The command line of a program."""
    return [sys.executable, "-P", "-m", "astra_mcp", *arguments]


def variables(home: Path, **more: str) -> dict[str, str]:
    """The shell's variables, of which only these tell the product something."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    return {**kept, "ASTRA_MCP_HOME": str(home), "COLUMNS": "200", **more}


@dataclass(frozen=True)
class Cli:
    """Runs commands in one home."""

    home: Path
    more: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of every command."""

    @property
    def folder(self) -> Path:
        """Where commands run: the closest folder above the home."""
        return next(folder for folder in self.home.parents if folder.is_dir())

    def run(self, *arguments: str, **more: str) -> Run:
        """Run a command to its end in this process, which must be in its main thread.

        An error that a user would see as a traceback is raised.
        """
        env: dict[str, str | None] = {k: None for k in os.environ if k.startswith(FOREIGN)}
        env["HYPOTHESIS_STORAGE_DIRECTORY"] = None  # what the command sets ends with it
        env |= {"ASTRA_MCP_HOME": str(self.home), "COLUMNS": "200", **self.more, **more}
        with contextlib.chdir(self.folder):
            runner = CliRunner()
            done = runner.invoke(app, arguments, env=env, catch_exceptions=False)
        return Run(done.exit_code, done.stdout, done.stderr)

    def run_program(
        self, *arguments: str, launcher: Sequence[str] = (), seconds: float = SECONDS, **more: str
    ) -> Run:
        """Run a command to its end as a program, which is started by another one where there is one."""
        done = subprocess.run(
            [*launcher, *command(*arguments)],
            env=variables(self.home, **self.more, **more),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def play(self, *arguments: str) -> dict[str, Any]:
        """Run ``astra-mcp rollout`` with ``--json`` and success."""
        done = self.run("rollout", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return done.told

    def play_model(self, server: CompletionsServer, *more: str, **variables: str) -> Run:
        """Run ``astra-mcp rollout`` with a model behind an endpoint of another thread."""
        options = ("--agent", "scripted", "--base-url", server.base_url, *more)
        return self.run("rollout", *options, "--json", **variables)


@dataclass(frozen=True, kw_only=True)
class ServedHome(Cli):
    """Runs commands in a home that another process serves."""

    url: str
    process: subprocess.Popen[str]
    log: Path
    """What the process writes to standard error."""

    @property
    def key(self) -> str:
        """The control key that the process made."""
        return read_control_key(self.home)

    def server_url(self, name: str) -> str:
        """Name the endpoint of one server, with a state of its own."""
        return f"{self.url}/servers/{name}/mcp?caller={uuid.uuid4().hex}"

    def control(self) -> GatewayClient:
        """Make a client of the control plane."""
        return GatewayClient(self.url, self.key)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


@contextmanager
def listening(
    home: Path, name: str, *arguments: str, launcher: Sequence[str] = (), **more: str
) -> Generator[ServedHome]:
    """Run a command that listens as a program, until the block ends.

    Args:
        home: Of the program, which runs in the folder above.
        name: Of the command.
        arguments: Its arguments and options.
        launcher: A command that runs the program, such as with less than this process may use.
        more: Variables of the program.
    """
    log = home.parent / "serve.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*launcher, *command(name, "--port", "0", "--json", *arguments)],
            env=variables(home, **more),
            cwd=home.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, log.read_text()
            served = ServedHome(home, url=json.loads(line)["url"], process=process, log=log)
            yield served
            served.stop()
        finally:
            process.kill()


def served_home(
    home: Path, *options: str, launcher: Sequence[str] = (), **more: str
) -> AbstractContextManager[ServedHome]:
    """A home that ``astra-mcp serve`` serves, in another process; see :func:`listening`."""
    return listening(home, "serve", *options, launcher=launcher, **more)
