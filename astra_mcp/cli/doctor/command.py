"""``astra-mcp doctor``: what works on this machine, and what to do about the rest."""

import platform
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import anyio
import typer

from astra_mcp.addresses import bind
from astra_mcp.cli.doctor.service_checks import (
    Check,
    State,
    check_deployed,
    check_models,
    check_registry,
)
from astra_mcp.compose.bundles import find_published
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.errors import AstraError, PortInUseError, SandboxError
from astra_mcp.report.console import ExitCode, out, print_json, report_errors
from astra_mcp.report.shown import Table, styled, whole
from astra_mcp.sandbox import (
    Returned,
    SandboxLimits,
    SandboxReport,
    examine_machine,
    open_sandbox,
)
from gateway.edge.discovery import find_gateway
from gateway.edge.security import access_rules
from training.render.thinking import ThinkingPolicy

__all__ = ["doctor", "examine"]

EPISODES = 1_000
"""Live episodes that a machine should carry."""
FILES_PER_EPISODE = 3
"""The process's channel, the agent's connection and the record."""
OTHER_FILES = 256
EPISODE_BYTES = 4 << 20
PROBE_SECONDS = 30.0
_SUPPORTED = ((3, 11), (3, 12))


def _policy_of(name: str) -> ThinkingPolicy:
    try:
        return ThinkingPolicy(name)
    except ValueError:
        known = ", ".join(ThinkingPolicy)
        hint = "no thoughts are native_off" if name == "off" else f"there are {known}"
        raise typer.BadParameter(f"{name!r} is no policy of thoughts; {hint}") from None


def doctor(
    *,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Show what this model reads and writes instead: a folder, or a name on the hub.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="TRAJECTORIES", help="With --template: a file to take one from."),
    ] = None,
    number: Annotated[
        int | None, typer.Option(min=1, help="With --file: which trajectory, from 1 (default 1).")
    ] = None,
    thinking: Annotated[
        ThinkingPolicy | None,
        typer.Option(
            parser=_policy_of,
            metavar="|".join(ThinkingPolicy),
            help="With --template: what becomes of thoughts (default native_off).",
        ),
    ] = None,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Say what works on this machine; exits with 1 only where something required is missing."""
    for name, needed, is_wrong in (
        ("--file", "--template", file is not None and template is None),
        ("--thinking", "--template", thinking is not None and template is None),
        ("--number", "--file", number is not None and file is None),
    ):
        if is_wrong:
            raise typer.BadParameter(f"needs {needed}", param_hint=name)
    if template is not None:
        _show_template(template, file, number or 1, thinking, as_json=as_json)
        return
    checks = tuple(examine())
    is_sound = all(c.state is not State.MISSING for c in checks)
    if as_json:
        print_json({"ok": is_sound, "checks": [asdict(c) for c in checks]})
    else:
        _print(checks)
    if not is_sound:
        raise typer.Exit(ExitCode.FAILED)


def _show_template(
    model: str,
    file: Path | None,
    number: int,
    thinking: ThinkingPolicy | None,
    *,
    as_json: bool,
) -> None:
    # Rendering takes a second to load.
    from astra_mcp.cli.doctor.template_view import print_view, view_template  # noqa: PLC0415

    with report_errors():
        policy = thinking or ThinkingPolicy.NATIVE_OFF
        view = view_template(model, file=file, number=number, thinking=policy)
        if as_json:
            print_json(view.as_json())
        else:
            print_view(view)


def examine() -> Iterator[Check]:
    """Look at everything; a failed check is a result, never an exception."""
    yield _python()
    report = examine_machine()
    yield from _layers(report)
    yield _sandbox(report)
    try:
        settings = load_settings()
    except AstraError as error:
        remedy = "correct astra.toml or the variable; the checks below need it"
        yield Check("configuration", State.MISSING, str(error), remedy)
        return
    yield _home(settings.home)
    yield _environments(settings)
    yield from check_deployed(settings)
    yield _gateway(settings)
    yield _files()
    yield from _memory()
    yield check_registry(settings)
    yield from _emulators(settings)
    yield from check_models(settings)


def _python() -> Check:
    detail = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] in _SUPPORTED:
        return Check("python", State.OK, detail)
    return Check("python", State.MISSING, detail, "install astra-mcp with Python 3.11 or 3.12")


_LAYERS = {
    "seccomp": ("filters system calls", "use a Linux kernel with seccomp"),
    "no_new_privs": ("setuid files gain nothing", "use a Linux kernel of 3.5 or newer"),
    "rlimits": ("bounds memory and time", "use Linux"),
}
"""Fields of the sandbox's report: what each is for, and what to do where it is not there."""


def _layers(report: SandboxReport) -> Iterator[Check]:
    for field, (purpose, remedy) in _LAYERS.items():
        name = f"sandbox: {field}"
        if getattr(report, field):
            yield Check(name, State.OK, purpose)
        else:
            instead = f"{remedy}; without it only --trusted code runs, unprotected"
            yield Check(name, State.MISSING, f"missing: {purpose}", instead)
    name = "sandbox: landlock"
    if report.landlock_abi:
        yield Check(name, State.OK, f"ABI {report.landlock_abi}")
    else:
        remedy = "use a kernel of 5.13 or newer with landlock; records say so"
        yield Check(name, State.WARNING, "missing: a second lock on files", remedy)


def _sandbox(report: SandboxReport) -> Check:
    """Run a tool in the sandbox: layers that exist may still not work together."""
    if report.missing:
        detail = f"cannot run on {report.machine}: {', '.join(report.missing)} missing"
        remedy = "run on Linux; bundled environments work here without isolation"
        return Check("sandbox", State.MISSING, detail, remedy)
    fault: str | None = None
    try:
        fault = anyio.run(_probe)
    except* SandboxError as group:  # a task group may have wrapped it
        fault = f"a tool could not be run: {group.exceptions[0]}"
    if fault:
        remedy = "report this with the output of `astra-mcp doctor --json`"
        return Check("sandbox", State.MISSING, fault, remedy)
    detail = f"a tool ran in it ({report.machine}, tool code as uid {report.uid})"
    return Check("sandbox", State.OK, detail)


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
    """Make a folder in it, or where it would be made, and remove it; rights do not tell of every disk."""
    existing = next(p for p in (home, *home.absolute().parents) if p.exists())
    try:
        with tempfile.TemporaryDirectory(dir=existing):
            pass
    except OSError as error:
        remedy = "set ASTRA_MCP_HOME to a folder of yours"
        return Check("home folder", State.MISSING, f"{home} cannot be written: {error}", remedy)
    how = "" if existing == home else " (made at the first start)"
    return Check("home folder", State.OK, f"{home}{how}")


def _environments(settings: Settings) -> Check:
    try:
        found = find_published(settings)
    except (AstraError, OSError) as error:
        remedy = "correct the bundle, or take its folder out of `environments` in astra.toml"
        return Check("environments", State.MISSING, str(error), remedy)
    published = f"{len(found.found)} are published"
    if found.faulty:
        fault = f"{published}, and {len(found.faulty)} are not: {'; '.join(found.warnings)}"
        return Check(
            "environments", State.WARNING, fault, "`astra-mcp environments verify` says more"
        )
    return Check("environments", State.OK, published)


def _emulators(settings: Settings) -> Iterator[Check]:
    """Look whether who makes up answers is there; the offline emulator always is."""
    fault = settings.emulator_fault
    if settings.emulators.publish and fault is not None:
        yield Check("emulators", State.MISSING, fault, "correct astra.toml: `serve` needs it")


def _gateway(settings: Settings) -> Check:
    try:
        running = find_gateway(settings.home)
    except OSError:  # the home folder has its own check
        running = None
    if running is not None:
        return Check("gateway", State.OK, f"running at {running.url} (process {running.pid})")
    host, port = settings.serve.host, settings.serve.port
    keys = [key.get_secret_value() for key in settings.serve.api_keys]
    try:
        access_rules(host=host, control_key="", api_keys=keys)
        bind(host, port).close()
    except PortInUseError:
        detail = f"another program listens on {host} port {port}"
        remedy = "stop it, or set serve.port in astra.toml (0 takes any free port)"
        return Check("gateway", State.WARNING, detail, remedy)
    except AstraError as error:
        remedy = "correct serve.host, serve.port and serve.api_keys in astra.toml"
        return Check("gateway", State.MISSING, str(error), remedy)
    detail = f"not running; {host} port {port} is free for `astra-mcp serve`"
    return Check("gateway", State.OK, detail)


def _files() -> Check:
    """The hard limit counts: ``serve`` raises the soft one to it."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = EPISODES * FILES_PER_EPISODE + OTHER_FILES
    shown = "no limit" if limit == resource.RLIM_INFINITY else f"{limit}"
    detail = f"{shown}; {EPISODES} live episodes need about {needed}"
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return Check("open files", State.OK, detail)
    remedy = f"raise the hard limit (ulimit -Hn {needed}) for more episodes"
    return Check("open files", State.WARNING, detail, remedy)


def _memory() -> Iterator[Check]:
    try:
        fields = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return  # not Linux: the sandbox check has said what that means
    found = next((line.split() for line in fields if line.startswith("MemAvailable:")), None)
    if found is None:
        return
    available, needed = int(found[1]) << 10, EPISODES * EPISODE_BYTES
    shown, shown_needed = (f"{num_bytes / 2**30:.1f} GiB" for num_bytes in (available, needed))
    detail = f"{shown} available; {EPISODES} live episodes take up to {shown_needed}"
    if available >= needed:
        yield Check("memory", State.OK, detail)
    else:
        remedy = "run fewer episodes at once, or close other programs"
        yield Check("memory", State.WARNING, detail, remedy)


_COLOURS = {State.OK: "green", State.WARNING: "yellow", State.MISSING: "red"}


def _print(checks: tuple[Check, ...]) -> None:
    table = Table(whole("state"), whole("check"), "detail", header=False)
    for check in checks:
        state = styled((check.state.value, _COLOURS[check.state]))
        remedy = (("\n" + check.remedy, "dim"),) if check.remedy else ()
        table.add_row(state, check.name, styled(check.detail, *remedy))
    out.print(table)
