"""``astra-mcp serve``: the gateway with everything that is published, over HTTP or stdio."""

import signal
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from urllib.parse import urlsplit

import typer

from astra_mcp.addresses import bind, run_until_stopped, url_of
from astra_mcp.cli import serve_options as opt
from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.registry import open_present_registry
from astra_mcp.compose.settings import Settings, load_serving
from astra_mcp.errors import ConfigError, PortInUseError
from astra_mcp.report.console import ExitCode, report_errors, run_async
from astra_mcp.serving.process.announcement import announced
from astra_mcp.serving.process.gateway_process import rules_of, serve_gateway
from astra_mcp.serving.process.lifecycle import (
    Stop,
    WorkerOptions,
    WorkerPlan,
    hear_signals,
    ready_of,
)
from astra_mcp.serving.process.logs import log_to_stderr
from astra_mcp.serving.process.patient_stream import unblocked
from astra_mcp.serving.process.supervisor import bind_workers, open_supervisor
from astra_mcp.tracing import open_tracing
from gateway.agents.plane import AgentPlane
from gateway.agents.targets import InteractiveTarget
from gateway.api.interactive import InteractiveCatalog
from gateway.edge.discovery import claim_home, find_gateway, remember_ports
from gateway.edge.keys import derive_secret, ensure_control_key
from gateway.edge.workers import OwnWorkerInfo
from gateway.episodes.live import open_episodes

__all__ = ["serve"]

_STDIO_OPTIONS = ("mcp_config", "interactive", "log_format")
"""Those of the gateway that need no HTTP."""


def serve(  # noqa: PLR0913 - one parameter for each option
    *,
    host: opt.Host = None,
    port: opt.Port = None,
    stdio: opt.Stdio = False,
    server: opt.Server = None,
    environments: opt.Environments = None,
    mcp_config: opt.McpConfig = None,
    interactive: opt.Interactive = None,
    workers: opt.Workers = None,
    public_url: opt.PublicUrl = None,
    failure_rate: opt.FailureRate = None,
    failure_scope: opt.Scope = None,
    trusted: opt.Trusted = False,
    verbose: opt.Verbose = False,
    log_format: opt.Log = None,
    as_json: opt.AsJson = False,
) -> None:
    """Serve every environment as MCP servers behind one gateway, until Ctrl-C."""
    with unblocked(), report_errors():
        options = WorkerOptions(
            given={
                "host": host,
                "port": port,
                "mcp_config": str(mcp_config) if mcp_config else None,
                "interactive": interactive,
                "workers": workers,
                "public_url": public_url,
                "log_format": log_format,
                "failure_rate": failure_rate,
                "failure_scope": failure_scope,
            },
            environments=tuple(environments or ()),
            trusted=trusted,
            verbose=verbose,
        )
        settings = load_serving(options.given, options.environments)
        _log_to_stderr(settings, verbose=verbose)
        if stdio:
            _refuse_http_options({**options.given, "json": as_json or None})
            stopped_by = run_async(_serve_stdio, settings, trusted, server)
        else:
            if server is not None:
                msg = "--server belongs to --stdio: over HTTP each server has its own address"
                raise ConfigError(msg)
            # Meant for a supervisor, which hears it once its workers run; it must not end anything.
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            if settings.serve.workers > 1:
                stopped_by = run_async(_serve_workers, settings, options, as_json)
            else:
                stopped_by = run_async(_serve_http, settings, trusted, as_json)
    if stopped_by is signal.SIGINT:
        raise typer.Exit(ExitCode.STOPPED)


async def _serve_http(settings: Settings, trusted: bool, as_json: bool) -> signal.Signals | None:
    """Serve as one process."""
    key = ensure_control_key(settings.home)
    with _telling_own_gateway(settings):
        listener = bind(settings.serve.host, settings.serve.port)
    with listener, claim_home(settings.home):
        urls = (url_of(listener),)
        worker_info = OwnWorkerInfo(inner_urls=urls, public_url=settings.serve.public_url)
        stop = await serve_gateway(
            settings,
            listener,
            control_key=key,
            worker_info=worker_info,
            trusted=trusted,
            on_ready=lambda catalog, login_path: announced(
                settings, ready_of(catalog, login_path), worker_info, as_json=as_json
            ),
        )
    return stop.by


@contextmanager
def _telling_own_gateway(settings: Settings) -> Generator[None]:
    """Say of a port that is taken where the home's own gateway has it."""
    try:
        yield
    except PortInUseError:
        running = find_gateway(settings.home)
        if running is None or urlsplit(running.url).port != settings.serve.port:
            raise
        raise PortInUseError(
            f"this home's gateway already serves at {running.url} (process {running.pid}): use it, stop it "
            "first, or start another one with --port and an ASTRA_MCP_HOME of its own"
        ) from None


async def _serve_workers(
    settings: Settings, options: WorkerOptions, as_json: bool
) -> signal.Signals | None:
    """Supervise several processes."""
    key = ensure_control_key(settings.home)
    with claim_home(settings.home) as claim, ExitStack() as stack:
        listeners = [
            stack.enter_context(listener)
            for listener in bind_workers(settings.serve, settings.home)
        ]
        rules_of(settings, key, listeners[0])  # its faults are told once
        urls = tuple(url_of(listener) for listener in listeners)
        worker_info = OwnWorkerInfo(inner_urls=urls, public_url=settings.serve.public_url)
        plans = [
            WorkerPlan(
                index=index,
                listener=listener.fileno(),
                claim=claim,
                inner_urls=urls,
                options=options,
            )
            for index, listener in enumerate(listeners)
        ]
        remember_ports(settings.home, [listener.getsockname()[1] for listener in listeners[1:]])
        stop = Stop()
        async with (
            hear_signals(stop),
            open_supervisor(plans, drain_seconds=settings.serve.drain_seconds) as supervisor,
        ):
            await supervisor.run(
                stop, lambda ready: announced(settings, ready, worker_info, as_json=as_json)
            )
    return stop.by


async def _serve_stdio(
    settings: Settings, trusted: bool, server: str | None
) -> signal.Signals | None:
    key = ensure_control_key(settings.home)
    # Among all servers no emulated one is shown; the one that is named may be such a one.
    registry = nullcontext() if server is None else open_present_registry(settings)
    async with (
        registry as database,
        open_catalog(settings, trusted=trusted, database=database) as catalog,
        open_episodes(catalog, settings.home, secret=derive_secret(key)) as episodes,
    ):
        shown = InteractiveCatalog(catalog, settings.serve.interactive)
        plane = AgentPlane(shown, episodes, stdio=InteractiveTarget(server))
        with open_tracing():
            return await run_until_stopped(plane.serve_stdio)


def _refuse_http_options(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None and option not in _STDIO_OPTIONS:
            msg = f"--{option.replace('_', '-')} belongs to HTTP: leave it out with --stdio"
            raise ConfigError(msg)


def _log_to_stderr(settings: Settings, *, verbose: bool) -> None:
    keys = [key.get_secret_value() for key in settings.serve.api_keys]
    secrets = (ensure_control_key(settings.home), *keys)
    log_to_stderr(settings.serve.log_format, verbose=verbose, secrets=secrets)
