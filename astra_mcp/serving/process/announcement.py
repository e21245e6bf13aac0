"""What ``serve`` says once it serves: to the other commands of its home, and to who started it."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from astra_mcp import __version__
from astra_mcp.compose.settings import Settings
from astra_mcp.report.console import out, print_json, say
from astra_mcp.report.shown import styled
from astra_mcp.serving.process.lifecycle import WorkerReady
from astra_mcp.types import JsonObject, JsonValue
from gateway.edge.discovery import RunningGateway, announce
from gateway.edge.keys import control_key_path
from gateway.edge.workers import OwnWorkerInfo

__all__ = ["announced"]

NAMES_SHOWN = 5


@contextmanager
def announced(
    settings: Settings, ready: WorkerReady, worker_info: OwnWorkerInfo, *, as_json: bool
) -> Generator[None]:
    """Let other commands find the gateway while the block runs, and print where it is.

    Args:
        settings: The home and what was asked for.
        ready: What is published.
        worker_info: The first worker's.
        as_json: Print one JSON object instead of words.
    """
    file = settings.serve.mcp_config
    running = RunningGateway(
        url=worker_info.inner_urls[0],
        pid=os.getpid(),
        version=__version__,
        public_url=worker_info.fixed_url(0),
        workers=worker_info.inner_urls if worker_info.count > 1 else (),
        environments=tuple(folder.absolute() for folder in settings.environments),
        mcp_config=file.absolute() if file else None,
        has_pages=settings.serve.pages,
    )
    with announce(settings.home, running):
        if as_json:
            print_json(_details(settings, ready, running, worker_info))
        else:
            _print(settings, ready, running, worker_info)
        yield


def _details(
    settings: Settings, ready: WorkerReady, running: RunningGateway, worker_info: OwnWorkerInfo
) -> JsonObject:
    base = running.public_url or running.url
    return {
        "url": running.url,
        "mcp_url": f"{base}/mcp",
        "interactive": _listed(settings),
        "public_url": running.public_url,
        "pid": running.pid,
        "workers": [
            {"url": url, "public_url": worker_info.fixed_url(index)}
            for index, url in enumerate(worker_info.inner_urls)
        ],
        "environments": ready.environments,
        "servers": ready.servers,
        "apart": ready.apart,
        "deployed": [
            {"name": name, "mcp_url": f"{base}/servers/{name}/mcp"} for name in ready.deployed
        ],
        "emulated": ready.emulated,
        "login_url": ready.login_path and f"{base}{ready.login_path}",
        "control_key_file": str(control_key_path(settings.home)),
        "records": str(settings.home / "records"),
    }


def _print(
    settings: Settings, ready: WorkerReady, running: RunningGateway, worker_info: OwnWorkerInfo
) -> None:
    base = running.public_url or running.url
    by = f" by {worker_info.count} workers" if worker_info.count > 1 else ""
    what = f" serves {ready.environments} environments ({ready.tools} tools){by} at "
    out.print(styled((f"astra-mcp {__version__}", "bold"), what, (base, "bold")))
    lines: dict[str, str] = {}
    if settings.serve.mcp_config is not None:
        lines["deployed servers"] = _named(ready.deployed, settings.serve.mcp_config)
    if ready.emulated:
        kind = settings.emulators.kind.value
        lines["emulated servers"] = f"{ready.emulated} of the registry, each alone ({kind})"
    if settings.serve.interactive:
        lines |= {"all tools": f"{base}/mcp", "one server": f"{base}/servers/NAME/mcp"}
        if ready.apart and settings.serve.interactive == "all":
            lines["all tools"] += f", without those of {ready.apart} environments of large folders"
    if settings.serve.interactive != "all":
        lines["interactive"] = ", ".join(settings.serve.interactive) or "none: episodes alone"
    if ready.login_path is not None:
        lines["look at it"] = f"{base}{ready.login_path} (works once; astra-mcp open makes another)"
    lines |= {
        "connect a client": "astra-mcp connect claude-desktop (astra-mcp connect --help names all)",
        "play them all": "astra-mcp rollout --agent oracle",
        "control API": f"{base}/openapi.json",
        "control key": str(control_key_path(settings.home)),
        "records": str(settings.home / "records"),
    }
    if base != running.url:
        lines["listens at"] = running.url
    for name, where in lines.items():
        out.print(f"  {name:18}{where}")
    if settings.serve.log_format == "text":  # else it would be a line that is no JSON
        say.print("Ctrl-C stops it.")


def _listed(settings: Settings) -> JsonValue:
    shown = settings.serve.interactive
    return shown if isinstance(shown, str) else [*shown]


def _named(deployed: Sequence[str], file: Path) -> str:
    """Say how many servers of a file were taken, and the first names."""
    shown = ", ".join(deployed[:NAMES_SHOWN]) + (", …" if len(deployed) > NAMES_SHOWN else "")
    return f"{len(deployed)} of {file}" + (f", starting: {shown}" if shown else "")
