"""``astra-mcp serve``: the gateway with everything that is published, over HTTP or stdio."""

import os
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import anyio
import typer

from astra_mcp import __version__
from astra_mcp.cli.compose import open_catalog, open_gateway
from astra_mcp.cli.config import LogFormat, Settings, load_settings
from astra_mcp.cli.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.cli.listening import bind, listen, run_until_stopped, url_of
from astra_mcp.cli.logs import log_to_stderr
from astra_mcp.errors import ConfigError
from astra_mcp.tracing import open_tracing
from gateway.agent_plane import AgentPlane
from gateway.episodes import open_episodes
from gateway.keys import control_key_path, derive_secret, ensure_control_key
from gateway.presence import RunningGateway, announce, claim_home
from gateway.protocol import Catalog
from gateway.security import AccessRules, access_rules
from gateway.targets import InteractiveTarget

__all__ = ["serve"]


def serve(  # noqa: PLR0913 - one parameter for each option
    *,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. [default: serve.host]")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port; 0 takes any free one. [default: serve.port]"),
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Speak MCP on standard input and output instead.")
    ] = False,
    server: Annotated[
        str | None, typer.Option(help="With --stdio: show this environment alone.")
    ] = None,
    environments: Annotated[
        list[Path] | None,
        typer.Option(help="Also publish this bundle, or folder of bundles. Repeatable."),
    ] = None,
    mcp_config: Annotated[
        Path | None,
        typer.Option(
            help="Also publish the servers of this mcpServers file. [default: serve.mcp_config]"
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=256, help="Processes that share the episodes. [default: serve.workers]"
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            help="Base URL that clients use, behind a reverse proxy. [default: serve.public_url]"
        ),
    ] = None,
    trusted: Annotated[
        bool,
        typer.Option("--trusted", help="Run tool code even where this machine has no sandbox."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Log every request to standard error.")
    ] = False,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(help="Log for people, or one JSON object a line. [default: serve.log_format]"),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print where it listens as one JSON object.")
    ] = False,
) -> None:
    """Serve every environment as MCP servers behind one gateway, until Ctrl-C."""
    with report_errors():
        given = {
            "host": host,
            "port": port,
            "mcp_config": mcp_config,
            "workers": workers,
            "public_url": public_url,
            "log_format": log_format,
        }
        settings = _settings(given, environments or [])
        _log_to_stderr(settings, verbose=verbose)
        if stdio:
            _refuse_with_stdio(
                host=host,
                port=port,
                workers=workers,
                public_url=public_url,
                json=as_json or None,
            )
            stopped_by = run_async(_serve_stdio, settings, trusted, server)
        else:
            if server is not None:
                msg = "--server belongs to --stdio: over HTTP each server has its own address"
                raise ConfigError(msg)
            stopped_by = run_async(_serve_http, settings, trusted, as_json)
    if stopped_by is signal.SIGINT:
        raise typer.Exit(ExitCode.STOPPED)


async def _serve_http(settings: Settings, trusted: bool, as_json: bool) -> signal.Signals | None:
    key = ensure_control_key(settings.home)
    with (
        open_tracing(),
        bind(settings.serve.host, settings.serve.port) as listener,
        claim_home(settings.home),
    ):
        rules = _rules(settings, key, listener)
        async with (
            open_gateway(settings, rules, trusted=trusted) as (catalog, app),
            listen(app, listener),
        ):
            url = url_of(listener)
            running = RunningGateway(url=url, pid=os.getpid(), version=__version__)

            async def stay() -> None:
                with announce(settings.home, running):
                    _report(settings, catalog, running, as_json=as_json)
                    await anyio.sleep_forever()

            return await run_until_stopped(stay)


async def _serve_stdio(
    settings: Settings, trusted: bool, server: str | None
) -> signal.Signals | None:
    key = ensure_control_key(settings.home)
    async with (
        open_catalog(settings, trusted=trusted) as catalog,
        open_episodes(catalog, settings.home, secret=derive_secret(key)) as episodes,
    ):
        plane = AgentPlane(catalog, episodes, stdio=InteractiveTarget(server))
        with open_tracing():
            return await run_until_stopped(plane.serve_stdio)


def _settings(given: Mapping[str, object], environments: list[Path]) -> Settings:
    settings = load_settings()
    serving = settings.serve.model_copy(update={k: v for k, v in given.items() if v is not None})
    folders = (*settings.environments, *environments)
    return settings.model_copy(update={"serve": serving, "environments": folders})


def _rules(settings: Settings, key: str, listener: socket.socket) -> AccessRules:
    """Derive what the gate lets through; the URL that we print must be among it."""
    printed = urlsplit(url_of(listener)).hostname or ""
    return access_rules(
        host=settings.serve.host,
        control_key=key,
        api_keys=[k.get_secret_value() for k in settings.serve.api_keys],
        allowed_hosts=(*settings.serve.allowed_hosts, printed),
        max_body_bytes=settings.serve.max_body_bytes,
    )


def _refuse_with_stdio(**given: object) -> None:
    for option, value in given.items():
        if value is not None:
            msg = f"--{option.replace('_', '-')} belongs to HTTP: leave it out with --stdio"
            raise ConfigError(msg)


def _log_to_stderr(settings: Settings, *, verbose: bool) -> None:
    keys = [key.get_secret_value() for key in settings.serve.api_keys]
    secrets = (ensure_control_key(settings.home), *keys)
    log_to_stderr(settings.serve.log_format, verbose=verbose, secrets=secrets)


def _report(
    settings: Settings, catalog: Catalog, running: RunningGateway, *, as_json: bool
) -> None:
    environments = catalog.environments()
    key_file, records = control_key_path(settings.home), settings.home / "records"
    if as_json:
        print_json(
            {
                "url": running.url,
                "mcp_url": f"{running.url}/mcp",
                "pid": running.pid,
                "environments": len(environments),
                "control_key_file": str(key_file),
                "records": str(records),
            }
        )
        return
    tools = sum(len(e.tools) for e in environments)
    out.print(
        f"[bold]astra-mcp {__version__}[/] serves {len(environments)} environments "
        f"({tools} tools) at [bold]{running.url}[/]",
        highlight=False,
    )
    lines = {
        "all tools": f"{running.url}/mcp",
        "one environment": f"{running.url}/servers/NAME/mcp",
        "connect a client": "astra-mcp connect claude-desktop (astra-mcp connect --help names all)",
        "play them all": "astra-mcp rollout --agent oracle",
        "control API": f"{running.url}/openapi.json",
        "control key": str(key_file),
        "records": str(records),
    }
    for what, where in lines.items():
        out.print(f"  {what:18}{where}", highlight=False, markup=False)
    say.print("Ctrl-C stops it.")
