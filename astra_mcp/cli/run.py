"""``astra-mcp run``: one server by itself, over stdio or HTTP."""

import secrets
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Annotated

import anyio
import typer

from astra_mcp.addresses import bind, run_until_stopped, url_of
from astra_mcp.compose.bundles import find_bundle_folder, open_bundle_sandbox, unknown_server
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import ConfigError
from astra_mcp.mcp.lines import serve_stdio
from astra_mcp.report.console import ExitCode, print_json, report_errors, run_async, say
from astra_mcp.serving.http.server import listen
from gateway.edge.security import Gate, access_rules
from servers.environment import EnvironmentServer
from servers.standalone import (
    MCP_PATH,
    Presentation,
    StandaloneServer,
    open_standalone,
    open_standalone_http,
)

__all__ = ["DEFAULT_PORT", "run"]

DEFAULT_PORT = 8421
"""Next to the gateway's, so that both can run at once."""


_Alone = tuple[StandaloneServer, Presentation]
"""What is served."""
_Open = Callable[[], AbstractAsyncContextManager[_Alone]]


def run(
    name: Annotated[
        str,
        typer.Argument(
            help="An environment, the path of a bundle folder, or a server of the registry."
        ),
    ],
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Listen on HTTP; without it, speak over stdio.")
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(help="With --http: address to listen on. \\[default: serve.host]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help=f"With --http: port, 0 for any free one. \\[default: {DEFAULT_PORT}]",
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
    """Serve one server by itself, without a gateway: no episodes, no records, no reward.

    The answers of a server of the registry are made up, as emulators.kind says.
    """
    with report_errors():
        settings = load_settings()
        folder = find_bundle_folder(name, settings)
        opening: _Open = partial(_open_emulated, settings, name)
        if folder is not None:
            opening = partial(_open_environment, settings, load_bundle(folder), trusted)
        if not http:
            _refuse_http_options(host=host, port=port, json=as_json or None)
            stopped_by = run_async(_run_stdio, opening)
        else:
            where = (host or settings.serve.host, DEFAULT_PORT if port is None else port)
            stopped_by = run_async(_run_http, settings, opening, where, as_json)
    if stopped_by is signal.SIGINT:
        raise typer.Exit(ExitCode.STOPPED)


def _refuse_http_options(**given: object) -> None:
    for option, value in given.items():
        if value is not None:
            raise ConfigError(f"--{option} belongs to --http: add it, or leave --{option} out")


@asynccontextmanager
async def _open_environment(
    settings: Settings, bundle: Bundle, trusted: bool
) -> AsyncGenerator[_Alone]:
    document = bundle.document
    presentation = Presentation(
        version=document.version, instructions=f"{document.title}. {document.description}"
    )
    async with open_bundle_sandbox(settings, [bundle], trusted=trusted) as sandbox:
        yield EnvironmentServer(bundle, sandbox), presentation


@asynccontextmanager
async def _open_emulated(settings: Settings, name: str) -> AsyncGenerator[_Alone]:
    """Open a server of the registry; who names it asks for it, so it may be a crawled one.

    Raises:
        UnknownNameError: There is none; names the closest ones.
    """
    if not settings.has_registry:
        raise unknown_server(name, settings, besides=())
    # What talks to databases takes a second to load.
    from astra_mcp.compose.emulators import open_emulated  # noqa: PLC0415
    from registry.store.database import open_database  # noqa: PLC0415

    async with (
        open_database(settings.registry_url) as database,
        open_emulated(settings, database, crawled=True) as emulated,
    ):
        server = emulated.find(name)
        if server is None:
            raise unknown_server(name, settings, besides=[s.name for s in emulated.upstreams()])
        document = await server.document()
        presentation = Presentation(
            version=document.version,
            instructions=f"{document.title}. {document.description}".removesuffix(". "),
            emulator=server.emulator,
        )
        yield server, presentation


async def _run_stdio(opening: _Open) -> signal.Signals | None:
    async with opening() as (server, presentation), open_standalone(server, presentation) as alone:
        return await run_until_stopped(partial(serve_stdio, alone))


async def _run_http(
    settings: Settings, opening: _Open, where: tuple[str, int], as_json: bool
) -> signal.Signals | None:
    host, port = where
    rules = access_rules(
        host=host,
        control_key=secrets.token_urlsafe(),  # nothing here answers to it
        api_keys=[key.get_secret_value() for key in settings.serve.api_keys],
        allowed_hosts=settings.serve.allowed_hosts,
        max_body_bytes=settings.serve.max_body_bytes,
        max_body_values=settings.serve.max_body_values,
    )
    with bind(host, port) as listener:
        async with (
            opening() as (server, presentation),
            open_standalone_http(server, presentation) as app,
            listen(Gate(app, rules, lambda _plane, _status: None), listener),
        ):
            url = url_of(listener, MCP_PATH)
            if as_json:
                print_json({"name": server.name, "url": url})
            say.print(f"{server.name} is served at {url} (Ctrl-C stops it)")
            return await run_until_stopped(anyio.sleep_forever)
