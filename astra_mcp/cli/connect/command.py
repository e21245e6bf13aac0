"""``astra-mcp connect``: the configuration that connects a client to the environments."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import typer

from astra_mcp.cli.connect.client_files import add_entry, known_caller, merge_entry, read_config
from astra_mcp.compose.bundles import deployed_names, find_bundle_folder, unknown_server
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import AstraError, ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import out, print_json, report_errors, run_async, say
from astra_mcp.serving.clients.client_configs import (
    FORMATS,
    ClientFormat,
    ClientName,
    Entry,
    http_entry,
    stdio_entry,
)
from astra_mcp.serving.clients.config_texts import render_document
from astra_mcp.serving.process.probe import status_at
from astra_mcp.types import JsonObject
from gateway.api.settings import FIRST, public_base, public_url_fault
from gateway.edge.discovery import RunningGateway, find_gateway
from gateway.edge.keys import read_control_key
from gateway.edge.security import is_loopback
from servers.bundled import bundled_folder

__all__ = ["connect"]

GATEWAY_ENTRY = "astra-mcp"
_TOKEN_BYTES = 12


def connect(
    client: Annotated[ClientName, typer.Argument(help="Which client to configure.")],
    *,
    server: Annotated[
        str | None,
        typer.Option(
            help="One server alone: an environment, a deployed one, or one of the registry; "
            "without it, the gateway."
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="A running gateway; without it, the one that serves this home, and where none "
            "runs, the client starts its own over stdio."
        ),
    ] = None,
    stdio: Annotated[
        bool,
        typer.Option("--stdio", help="Have the client start its own, also where a gateway runs."),
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Merge it into the client's file; keeps a backup.")
    ] = False,
    path: Annotated[
        Path | None, typer.Option(help="The client's file, where it is not the usual one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print, or write, the configuration that connects an MCP client."""
    with report_errors():
        form = FORMATS[client]
        file = user_path(path) if path else (form.file() if form.file else None)
        if write and file is None:
            msg = f"{form.title} has no configuration file: name one with --path, or leave --write out"
            raise ConfigError(msg)
        present = read_config(file, form.syntax) if write and file else {}
        if stdio and url is not None:
            raise ConfigError("--stdio starts a process, and --url names one that runs: give one")
        settings = load_settings()
        running = find_gateway(settings.home) if url is None else None
        if running is not None:
            settings = _as_served(settings, running)
        offered = None if stdio else url or _offered_url(form, server, settings, running)
        entry = _entry(form, server, offered, present, settings)
        notes = _gateway_notes(form, offered) if running is not None else ()
        entry = replace(entry, notes=(*notes, *entry.notes))
        is_changed, backup = False, None
        if write and file is not None:
            merged = merge_entry(file, present, form.servers_key, entry)
            is_changed = merged != present
            if is_changed:
                backup = add_entry(file, form.syntax, form.servers_key, entry, merged)
    if as_json:
        print_json(
            {
                "client": client.value,
                "path": str(file) if file else None,
                "config": form.document(entry),
                "written": write,
                "changed": is_changed,
                "backup": str(backup) if backup else None,
                "notes": [*entry.notes, form.next_step],
            }
        )
    elif write:
        _tell_written(form, file, backup, is_changed=is_changed)
    else:
        where = f"Put this into {file}" if file else f"The configuration of {form.title}"
        say.print(f"{where}:")
        out.print(render_document(form.document(entry), form.syntax))
    if not as_json:
        for note in entry.notes:
            say.print(f"Note: {note}.")
        say.print(form.next_step)


def _tell_written(
    form: ClientFormat, file: Path | None, backup: Path | None, *, is_changed: bool
) -> None:
    if not is_changed:
        say.print(f"{file} already connects {form.title}; nothing was changed.")
        return
    say.print(f"{form.title} is connected: {file}")
    if backup:
        say.print(f"What the file held before: {backup}")


def _entry(
    form: ClientFormat,
    server: str | None,
    url: str | None,
    present: JsonObject,
    settings: Settings,
) -> Entry:
    if url is not None:
        return _remote_entry(form, server, url, present, settings)
    home = str(settings.home.absolute())
    environment = {"ASTRA_MCP_HOME": home} if os.environ.get("ASTRA_MCP_HOME") else {}
    if server is None:
        # Clients start the entry in a folder of their own, where no astra.toml names these.
        folders = [str(f.absolute()) for f in settings.environments]
        named = [word for folder in folders for word in ("--environments", folder)]
        if settings.serve.mcp_config is not None:
            named += ["--mcp-config", str(settings.serve.mcp_config.absolute())]
        return stdio_entry(form, GATEWAY_ENTRY, ["serve", "--stdio", *named], environment)
    file = settings.serve.mcp_config
    deployed = deployed_names(settings)
    if file is not None and server in deployed:
        named = ["--server", server, "--mcp-config", str(file.absolute())]
        return stdio_entry(form, server, ["serve", "--stdio", *named], environment)
    folder = find_bundle_folder(server, settings)
    if folder is None:
        documented = _documented(settings)
        if server not in documented:
            raise unknown_server(server, settings, besides=[*deployed, *documented])
        return stdio_entry(form, server, ["run", server], environment)
    # Folders of the settings may be named relative to where this command runs; clients run elsewhere.
    folder = folder.absolute()
    load_bundle(folder)
    is_bundled = folder.parent == bundled_folder()
    target = folder.name if is_bundled else str(folder)
    return stdio_entry(form, folder.name, ["run", target], environment)


def _documented(settings: Settings) -> tuple[str, ...]:
    """Name the servers that the registry has documents of."""
    if not settings.has_registry:
        return ()
    from astra_mcp.compose.registry import list_documented  # noqa: PLC0415 - half a second to load

    return run_async(list_documented, settings)


def _as_served(settings: Settings, running: RunningGateway) -> Settings:
    """Publish what the gateway of this home does, which options of its command may have named."""
    folders = [folder.absolute() for folder in settings.environments]
    file = settings.serve.mcp_config or running.mcp_config
    return settings.model_copy(
        update={
            "environments": tuple(dict.fromkeys((*folders, *running.environments))),
            "serve": settings.serve.model_copy(update={"mcp_config": file}),
        }
    )


def _offered_url(
    form: ClientFormat, server: str | None, settings: Settings, running: RunningGateway | None
) -> str | None:
    """Name where the client reaches this home's gateway: one that runs, or that is behind a proxy."""
    if not form.takes_http:
        return None
    if running is not None:
        is_served = server is None or run_async(_is_served, settings, running.url, server)
        return (running.public_url or running.url) if is_served else None
    public_url = settings.serve.public_url
    return public_base(public_url, FIRST, settings.serve.port) if public_url else None


async def _is_served(settings: Settings, url: str, server: str) -> bool:
    """Ask a gateway for a server; one that cannot be asked is not counted on."""
    from gateway.api.client import GatewayClient  # noqa: PLC0415 - only where one runs

    try:
        async with GatewayClient(url, read_control_key(settings.home)) as gateway:
            return server in [known.name for known in await gateway.servers()]
    except AstraError as error:
        say.print(f"the gateway at {url} was not asked for {server}: {error}", style="yellow")
        return False


def _gateway_notes(form: ClientFormat, url: str | None) -> Sequence[str]:
    """Say why an entry leads to the gateway that runs, or does not."""
    if url is not None:
        note = (
            f"it leads to the gateway that runs at {url}, which has to run whenever the client does;"
            " with --stdio the client starts a process of its own"
        )
        return (note,)
    why = "" if form.takes_http else f" {form.title} takes no URL here:"
    return (f"a gateway runs, but{why} the client starts a process of its own, with its own state",)


def _remote_entry(
    form: ClientFormat,
    server: str | None,
    url: str,
    present: JsonObject,
    settings: Settings,
) -> Entry:
    if not form.takes_http:
        raise ConfigError(
            f"{form.title} starts its servers itself: leave --url out (remote servers are added in"
            " its own settings, under Connectors)"
        )
    name = server or GATEWAY_ENTRY
    fault = public_url_fault(url.partition("?")[0])
    if fault is not None:
        raise ConfigError(f"--url is no URL of a gateway: {fault}")
    parts = urlsplit(public_base(url, FIRST, settings.serve.port))
    base = parts.path.rstrip("/").removesuffix("/mcp")
    endpoint = f"{base}/servers/{quote(server, safe='')}/mcp" if server else f"{base}/mcp"
    # The modern protocol has no sessions: the token is what keeps this client's state its own.
    caller = known_caller(present, form.servers_key, name) or secrets.token_urlsafe(_TOKEN_BYTES)
    full = urlunsplit((parts.scheme, parts.netloc, endpoint, urlencode({"caller": caller}), ""))
    needs_key = bool(settings.serve.api_keys) or not is_loopback(parts.hostname or "")
    return http_entry(form, name, full, needs_key=needs_key or _asks_for_key(full))


def _asks_for_key(url: str) -> bool:
    """Ask a gateway of this machine, whose keys another shell may have set."""
    try:
        return status_at(url) == HTTPStatus.UNAUTHORIZED
    except OSError:
        return False
