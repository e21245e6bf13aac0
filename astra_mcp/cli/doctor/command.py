"""``astra-mcp doctor``: what works on this machine, and what to do about the rest."""

import os
import platform
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import anyio
import typer

from astra_mcp.cli.doctor.service_checks import (
    Check,
    State,
    check_deployed,
    check_models,
    check_registry,
)
from astra_mcp.compose.bundles import load_published
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.errors import AstraError, PortInUseError, SandboxError
from astra_mcp.report.console import ExitCode, out, print_json
from astra_mcp.report.shown import Table, styled, whole
from astra_mcp.sandbox import (
    Returned,
    SandboxLimits,
    SandboxReport,
    examine_machine,
    open_sandbox,
)
from astra_mcp.serving.http.server import bind
from gateway.edge.discovery import find_gateway

__all__ = ["doctor", "examine"]

EPISODES = 1_000
"""Live episodes that a machine should carry."""
FILES_PER_EPISODE = 3
"""The process's channel, the agent's connection and the record."""
OTHER_FILES = 256
EPISODE_BYTES = 4 << 20
PROBE_SECONDS = 30.0
_SUPPORTED = ((3, 11), (3, 12))


def doctor(*, as_json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
    """Say what works on this machine; exits with 1 only where something required is missing."""
    checks = tuple(examine())
    is_sound = all(c.state is not State.MISSING for c in checks)
    if as_json:
        print_json({"ok": is_sound, "checks": [asdict(c) for c in checks]})
    else:
        _print(checks)
    if not is_sound:
        raise typer.Exit(ExitCode.FAILED)


def examine() -> Iterator[Check]:
    """Look at everything; a failed check is a result, never an exception."""
    yield _python()
    report = examine_machine()
    yield from _layers(report)
    yield _sandbox(report)
    try:
        settings = load_settings()
    except AstraError as error:
        yield Check(
            name="configuration",
            state=State.MISSING,
            detail=str(error),
            remedy="correct astra.toml or the variable; the checks below need it",
        )
        return
    yield _home(settings.home)
    yield _environments(settings)
    yield from check_deployed(settings)
    yield _gateway(settings)
    yield from _files()
    yield from _memory()
    yield check_registry(settings)
    yield from _emulators(settings)
    yield from check_models(settings)


def _python() -> Check:
    is_supported = sys.version_info[:2] in _SUPPORTED
    return Check(
        name="python",
        state=State.OK if is_supported else State.MISSING,
        detail=f"{platform.python_version()} at {sys.executable}",
        remedy="" if is_supported else "install astra-mcp with Python 3.11 or 3.12",
    )


_LAYERS: dict[str, tuple[str, Callable[[SandboxReport], bool], str]] = {
    "seccomp": ("filters system calls", lambda r: r.seccomp, "use a Linux kernel with seccomp"),
    "no_new_privs": (
        "setuid files gain nothing",
        lambda r: r.no_new_privs,
        "use a Linux kernel of 3.5 or newer",
    ),
    "rlimits": ("bounds memory and time", lambda r: r.rlimits, "use Linux"),
}


def _layers(report: SandboxReport) -> Iterator[Check]:
    for name, (purpose, is_present, remedy) in _LAYERS.items():
        present = is_present(report)
        yield Check(
            name=f"sandbox: {name}",
            state=State.OK if present else State.MISSING,
            detail=f"{purpose}" if present else f"missing: {purpose}",
            remedy="" if present else f"{remedy}; without it only --trusted code runs, unprotected",
        )
    has_landlock = bool(report.landlock_abi)
    yield Check(
        name="sandbox: landlock",
        state=State.OK if has_landlock else State.WARNING,
        detail=f"ABI {report.landlock_abi}" if has_landlock else "missing: a second lock on files",
        remedy=""
        if has_landlock
        else "use a kernel of 5.13 or newer with landlock; records say so",
    )


def _sandbox(report: SandboxReport) -> Check:
    """Run a tool in the sandbox: layers that exist may still not work together."""
    if report.missing:
        return Check(
            name="sandbox",
            state=State.MISSING,
            detail=f"cannot run on {report.machine}: {', '.join(report.missing)} missing",
            remedy="run on Linux; bundled environments work here without isolation",
        )
    fault: str | None = None
    try:
        fault = anyio.run(_probe)
    except* SandboxError as group:  # a task group may have wrapped it
        fault = f"a tool could not be run: {group.exceptions[0]}"
    return Check(
        name="sandbox",
        state=State.MISSING if fault else State.OK,
        detail=fault or f"a tool ran in it ({report.machine}, tool code as uid {report.uid})",
        remedy="report this with the output of `astra-mcp doctor --json`" if fault else "",
    )


async def _probe() -> str | None:
    """Run one call and say what is wrong with its answer.

    Raises:
        SandboxError: It could not be run.
    """
    with anyio.move_on_after(PROBE_SECONDS):
        async with open_sandbox(SandboxLimits()) as sandbox:
            code = "def double(number):\n    return number * 2\n"
            module = await sandbox.load(code, clock=datetime(2026, 1, 1, tzinfo=UTC))
            session = await sandbox.open_session(module, seed=0)
            answer = await session.call("double", {"number": 21})
            is_right = isinstance(answer, Returned) and answer.value == 42
            return None if is_right else f"a tool gave a wrong result: {answer}"
    return f"a tool gave no answer within {PROBE_SECONDS:g} s"


def _home(home: Path) -> Check:
    existing = next(p for p in (home, *home.absolute().parents) if p.exists())
    try:
        if existing == home:
            with tempfile.TemporaryFile(dir=home):
                is_writable = True
        else:
            is_writable = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
    except OSError:
        is_writable = False
    how = "" if existing == home else " (made at the first start)"
    return Check(
        name="home folder",
        state=State.OK if is_writable else State.MISSING,
        detail=f"{home}{how}" if is_writable else f"{home} cannot be written",
        remedy="" if is_writable else "set ASTRA_MCP_HOME to a folder of yours",
    )


def _environments(settings: Settings) -> Check:
    try:
        bundles = load_published(settings)
    except AstraError as error:
        return Check(
            name="environments",
            state=State.MISSING,
            detail=str(error),
            remedy="correct the bundle, or take its folder out of `environments` in astra.toml",
        )
    return Check(name="environments", state=State.OK, detail=f"{len(bundles)} are published")


def _emulators(settings: Settings) -> Iterator[Check]:
    """Look whether who makes up answers is there; the offline emulator always is."""
    if settings.emulators.publish and settings.emulator_fault is not None:
        yield Check(
            name="emulators",
            state=State.MISSING,
            detail=settings.emulator_fault,
            remedy="correct astra.toml: `serve` needs it",
        )


def _gateway(settings: Settings) -> Check:
    try:
        running = find_gateway(settings.home)
    except OSError:  # the home folder has its own check
        running = None
    if running is not None:
        detail = f"running at {running.url} (process {running.pid})"
        return Check(name="gateway", state=State.OK, detail=detail)
    host, port = settings.serve.host, settings.serve.port
    try:
        bind(host, port).close()
    except PortInUseError:
        return Check(
            name="gateway",
            state=State.WARNING,
            detail=f"another program listens on {host} port {port}",
            remedy="stop it, or set serve.port in astra.toml (0 takes any free port)",
        )
    except AstraError as error:
        remedy = "correct serve.host and serve.port in astra.toml"
        return Check(name="gateway", state=State.MISSING, detail=str(error), remedy=remedy)
    detail = f"not running; {host} port {port} is free for `astra-mcp serve`"
    return Check(name="gateway", state=State.OK, detail=detail)


def _files() -> Iterator[Check]:
    """The hard limit counts: ``serve`` raises the soft one to it."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = EPISODES * FILES_PER_EPISODE + OTHER_FILES
    is_enough = limit == resource.RLIM_INFINITY or limit >= needed
    shown = "no limit" if limit == resource.RLIM_INFINITY else f"{limit}"
    yield Check(
        name="open files",
        state=State.OK if is_enough else State.WARNING,
        detail=f"{shown}; {EPISODES} live episodes need about {needed}",
        remedy="" if is_enough else f"raise the hard limit (ulimit -Hn {needed}) for more episodes",
    )


def _memory() -> Iterator[Check]:
    try:
        fields = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return  # not Linux: the sandbox check has said what that means
    found = next((line.split() for line in fields if line.startswith("MemAvailable:")), None)
    if found is None:
        return
    available, needed = int(found[1]) << 10, EPISODES * EPISODE_BYTES
    is_enough = available >= needed
    yield Check(
        name="memory",
        state=State.OK if is_enough else State.WARNING,
        detail=f"{available / 2**30:.1f} GiB available; {EPISODES} live episodes take up to "
        f"{needed / 2**30:.1f} GiB",
        remedy="" if is_enough else "run fewer episodes at once, or close other programs",
    )


_COLOURS = {State.OK: "green", State.WARNING: "yellow", State.MISSING: "red"}


def _print(checks: tuple[Check, ...]) -> None:
    table = Table(whole("state"), whole("check"), "detail", header=False)
    for check in checks:
        state = styled((check.state.value, _COLOURS[check.state]))
        remedy = (("\n" + check.remedy, "dim"),) if check.remedy else ()
        table.add_row(state, check.name, styled(check.detail, *remedy))
    out.print(table)
