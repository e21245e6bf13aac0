"""``astra-mcp run``: one environment by itself, over stdio or HTTP."""

import secrets
import signal
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from astra_mcp.cli.compose import find_bundles, open_bundle_sandbox
from astra_mcp.cli.config import Settings, load_settings
from astra_mcp.cli.console import ExitCode, print_json, report_errors, run_async, say
from astra_mcp.cli.listening import bind, listen, run_until_stopped, url_of
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import ConfigError, UnknownNameError
from astra_mcp.mcp_lines import serve_stdio
from gateway.security import Gate, access_rules
from servers.bundled import bundled_folder
from servers.environment import EnvironmentServer
from servers.standalone import MCP_PATH, open_standalone, open_standalone_http

__all__ = ["DEFAULT_PORT", "find_bundle_folder", "run"]

DEFAULT_PORT = 8421
"""Next to the gateway's, so that both can run at once."""


def run(
    name: Annotated[
        str, typer.Argument(help="An environment's name, or the path of a bundle folder.")
    ],
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Listen on HTTP; without it, speak over stdio.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(help="With --http: address to listen on. [default: serve.host]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help=f"With --http: port, 0 for any free one. [default: {DEFAULT_PORT}]",
        ),
    ] = None,
    trusted: Annotated[
        bool,
        typer.Option("--trusted", help="Run its code even where this machine has no sandbox."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --http: print the URL as one JSON object.")
    ] = False,
) -> None:
    """Serve one environment by itself, without a gateway: no episodes, no records, no reward."""
    with report_errors():
        settings = load_settings()
        bundle = load_bundle(find_bundle_folder(name, settings))
        if not http:
            _refuse_http_options(host=host, port=port, json=as_json or None)
            stopped_by = run_async(_run_stdio, settings, bundle, trusted)
        else:
            where = (host or settings.serve.host, DEFAULT_PORT if port is None else port)
            stopped_by = run_async(_run_http, settings, bundle, trusted, where, as_json)
    if stopped_by is signal.SIGINT:
        raise typer.Exit(ExitCode.STOPPED)


def find_bundle_folder(name: str, settings: Settings, *, besides: Iterable[str] = ()) -> Path:
    """Find the bundle that a person names: a published environment, or the path of a folder.

    Args:
        name: Of the environment, or a path.
        settings: Name further folders.
        besides: What else may have been meant.

    Raises:
        UnknownNameError: No environment has the name; names the closest ones.
    """
    path = Path(name).expanduser()
    if path.name != name:  # has a separator, so it is no environment's name
        return path
    places = (bundled_folder(), *settings.environments)
    known = {folder.name: folder for place in places for folder in find_bundles(place)}
    if name in known:
        return known[name]
    otherwise = "`astra-mcp environments list` names all; a folder is named by a path, as ./NAME"
    raise UnknownNameError.among("environment", name, [*known, *besides], otherwise)


def _refuse_http_options(**given: object) -> None:
    for option, value in given.items():
        if value is not None:
            msg = f"--{option} belongs to --http: add it, or leave --{option} out"
            raise ConfigError(msg)


async def _run_stdio(settings: Settings, bundle: Bundle, trusted: bool) -> signal.Signals | None:
    async with (
        open_bundle_sandbox(settings, [bundle], trusted=trusted) as sandbox,
        open_standalone(EnvironmentServer(bundle, sandbox)) as server,
    ):
        return await run_until_stopped(partial(serve_stdio, server))


async def _run_http(
    settings: Settings, bundle: Bundle, trusted: bool, where: tuple[str, int], as_json: bool
) -> signal.Signals | None:
    host, port = where
    rules = access_rules(
        host=host,
        control_key=secrets.token_urlsafe(),  # nothing here answers to it
        api_keys=[key.get_secret_value() for key in settings.serve.api_keys],
        allowed_hosts=settings.serve.allowed_hosts,
        max_body_bytes=settings.serve.max_body_bytes,
    )
    with bind(host, port) as listener:
        async with (
            open_bundle_sandbox(settings, [bundle], trusted=trusted) as sandbox,
            open_standalone_http(EnvironmentServer(bundle, sandbox)) as app,
            listen(Gate(app, rules, observe=lambda _plane, _status: None), listener),
        ):
            url = url_of(listener, MCP_PATH)
            if as_json:
                print_json({"name": bundle.name, "url": url})
            say.print(f"{bundle.name} is served at {url} (Ctrl-C stops it)", highlight=False)
            return await run_until_stopped(anyio.sleep_forever)
