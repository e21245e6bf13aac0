"""``astra-mcp rollout`` and ``astra-mcp serve`` as processes, in a home of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from gateway.api.client import GatewayClient

from completions_server import CompletionsServer

SECONDS = 100.0
Run = subprocess.CompletedProcess[str]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "astra_mcp", *arguments]


def variables(home: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "ASTRA_MCP_"))}
    return {**kept, "ASTRA_MCP_HOME": str(home), **more}


class Cli:
    """Runs the command in one home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *arguments: str, seconds: float = SECONDS, **more: str) -> Run:
        """Run ``astra-mcp rollout`` to its end."""
        return self.run_command("rollout", *arguments, seconds=seconds, **more)

    def run_command(self, *arguments: str, seconds: float = SECONDS, **more: str) -> Run:
        """Run any command to its end."""
        return subprocess.run(
            command(*arguments),
            env=variables(self.home, **more),
            cwd=self.home.parent,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def play(self, *arguments: str, seconds: float = SECONDS) -> dict[str, Any]:
        """Run ``astra-mcp rollout`` with ``--json`` and success."""
        done = self.run(*arguments, "--json", seconds=seconds)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("\n") == 1
        return json.loads(done.stdout)


@contextmanager
def served_home(home: Path, *options: str) -> Generator[Cli]:
    """A home that ``astra-mcp serve`` serves, in another process."""
    log = home.parent / "serve.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command("serve", "--port", "0", "--json", *options),
            env=variables(home),
            cwd=home.parent,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline(), log.read_text()
        yield Cli(home)
        process.terminate()


def client_of(cli: Cli) -> GatewayClient:
    """A client of the gateway that serves the home."""
    url = json.loads((cli.home / "gateway.json").read_text(encoding="utf-8"))["url"]
    return GatewayClient(url, (cli.home / "control.key").read_text(encoding="utf-8").strip())


async def run_model(cli: Cli, server: CompletionsServer, *more: str) -> Run:
    """Run with a model in a thread, since its endpoint is served by this one."""
    options = ("--agent", "scripted", "--base-url", server.base_url, *more)
    return await anyio.to_thread.run_sync(lambda: cli.run(*options, "--json"))
