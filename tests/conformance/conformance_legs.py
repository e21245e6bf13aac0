"""The three ways in which the fixture is reached: bare, and behind the gateway in two.

Each leg is a process of its own on a free port, and for those of the gateway a home of its own.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command_line import served_home
from deployed_workshop import write_config
from fixture import NAME

STOP_SECONDS = 20
_HERE = Path(__file__).parent


class LegStartError(Exception):
    """A program of a leg ended before it listened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """A fixture that listens."""

    url: str
    """Of its MCP endpoint."""
    folder: Path
    """Holds the file of calls and, behind the gateway, its home."""


def called(leg: Leg) -> Counter[str]:
    """Count the calls of tools that the fixture received."""
    file = leg.folder / "calls"
    return Counter(file.read_text().split() if file.exists() else ())


def recorded(leg: Leg) -> Counter[str]:
    """Count the finished calls of the fixture's tools in the gateway's records."""
    found: Counter[str] = Counter()
    for record in (leg.folder / "home" / "records").glob("*.jsonl"):
        tools: dict[int, str] = {}
        for line in record.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "call_started" and event["server"] == NAME:
                tools[event["n"]] = event["tool"]
            elif event["event"] == "call_finished" and event["n"] in tools:
                found[tools[event["n"]]] += 1
    return found


@contextmanager
def bare(folder: Path) -> Generator[Leg]:
    """Serve the fixture by itself."""
    with _fixture(folder) as url:
        yield Leg(url=url, folder=folder)


@contextmanager
def over_http(folder: Path) -> Generator[Leg]:
    """Serve the fixture in a process of its own, and the gateway in another that relays to it."""
    with _fixture(folder) as url:
        config = write_config(folder, **{NAME: {"url": url}})
        with served_home(folder / "home", "--mcp-config", str(config)) as gateway:
            yield Leg(url=f"{gateway.url}/servers/{NAME}/mcp", folder=folder)


@contextmanager
def in_process(folder: Path) -> Generator[Leg]:
    """Serve the gateway with the fixture mounted in its process."""
    command = [_HERE / "mounted_fixture.py", folder / "calls"]
    with _listening(command, folder) as said:
        yield Leg(url=f"{said['url']}/servers/{NAME}/mcp", folder=folder)


LEGS: Mapping[str, Callable[[Path], AbstractContextManager[Leg]]] = {
    "bare": bare,
    "in process": in_process,
    "over HTTP": over_http,
}
"""The first one is what the others are held against."""


@contextmanager
def _fixture(folder: Path) -> Generator[str]:
    folder.mkdir(parents=True)
    with _listening([_HERE / "fixture.py", "--calls", folder / "calls"], folder) as said:
        yield said["url"]


@contextmanager
def _listening(arguments: Sequence[str | Path], folder: Path) -> Generator[Any]:
    """Run a Python program that prints where it listens as JSON; stop it afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    places = os.pathsep.join(str(place) for place in (_HERE, _HERE.parent / "support"))
    environment = {**os.environ, "ASTRA_MCP_HOME": str(folder / "home"), "PYTHONPATH": places}
    with (
        (folder / "said.txt").open("a") as said,
        subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise LegStartError(
                    f"{arguments} ended at once: {(folder / 'said.txt').read_text()}"
                )
            yield json.loads(line)
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)
