"""A completions server in a process of its own, and its accounts."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import httpx
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["CompletionsProcess", "command", "open_completions_process", "variables"]

_STARTING_SECONDS = 30


@dataclass(frozen=True)
class CompletionsProcess:
    """A server that runs."""

    process: Process
    url: str
    base_url: str

    async def stats(self) -> dict[str, Any]:
        """Its accounts of all requests so far."""
        async with httpx.AsyncClient() as client:
            return (await client.get(f"{self.url}/stats")).raise_for_status().json()


def command(*options: str) -> list[str]:
    """The command that starts one."""
    return [sys.executable, "-P", "-m", "astra_mcp.completions", *options]


def variables() -> Mapping[str, str]:
    """The environment of a process that can import what this one can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@asynccontextmanager
async def open_completions_process(*options: str) -> AsyncGenerator[CompletionsProcess]:
    """Run a server while the context is open."""
    async with await anyio.open_process(
        command(*options), env=variables(), stderr=None, stdin=subprocess.DEVNULL
    ) as process:
        try:
            with anyio.fail_after(_STARTING_SECONDS):
                lines = BufferedByteReceiveStream(cast("ByteReceiveStream", process.stdout))
                hello = json.loads(await lines.receive_until(b"\n", 10_000))
            yield CompletionsProcess(process, hello["url"], hello["base_url"])
        finally:
            if process.returncode is None:
                process.kill()
