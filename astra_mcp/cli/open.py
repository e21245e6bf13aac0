"""``astra-mcp open``: the pages of the gateway that runs, in a browser."""

import os
import sys
import webbrowser
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from astra_mcp.compose.runs.notes import find_run, is_run_id
from astra_mcp.compose.settings import load_settings
from astra_mcp.errors import ConfigError, UnknownNameError
from astra_mcp.report.console import out, print_json, run_async, say
from gateway.api.client import GatewayClient, RefusedError
from gateway.api.wire import LoginLink
from gateway.edge.discovery import find_gateway
from gateway.edge.keys import read_control_key

__all__ = ["open_pages", "show"]

_FILE = "open.html"
_PAGE = (
    '<!doctype html><meta charset="utf-8"><title>astra-mcp</title>'
    '<meta http-equiv="refresh" content="0; url={0}"><a href="{0}">Go on</a>\n'
)


def open_pages(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="An id of an episode or a run, or its first characters, the name of an environment or a"
            " server, or a page such as /runs; else the first page.",
        ),
    ] = None,
    *,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the link, and open no browser.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and open no browser.")
    ] = False,
) -> None:
    """Open the pages of the running gateway in a browser, by a link that works once."""
    link = run_async(_ask, what)
    if as_json:
        print_json(link.model_dump(mode="json"))
    elif print_only or not _has_screen() or not show(link.url):
        out.print(link.url)
        say.print(f"Works once, until {link.expires_at:%H:%M:%S} UTC: open it in a browser.")
    else:
        say.print("opened in a browser; --print prints a link instead")


async def _ask(what: str | None) -> LoginLink:
    home = load_settings().home
    running = find_gateway(home)
    if running is None:
        raise ConfigError(f"no gateway serves {home}: start one with `astra-mcp serve`")
    async with GatewayClient(running.url, read_control_key(home)) as gateway:
        path = "/" if what is None else await _path_of(what, home, gateway)
        return await gateway.login_link(path)


async def _path_of(what: str, home: Path, gateway: GatewayClient) -> str:
    """Name the page of a run, an environment, an episode or a server; one that is named so stays.

    Raises:
        UnknownNameError: There is none of them.
    """
    if what.startswith("/"):
        return what
    if is_run_id(what):
        return f"/runs/{find_run(home, what).id}"
    found = sorted(_record_ids(what, home))
    if len(found) == 1:
        return f"/episodes/{found[0]}"
    try:
        await gateway.environment(what)
    except RefusedError as error:
        if error.status != 404:
            raise
        if what in {server.name for server in await gateway.servers()}:
            return f"/servers/{quote(what, safe='')}"
        raise UnknownNameError(_nothing_is(what, found, error.message)) from None
    return f"/environments/{quote(what, safe='')}"


def _nothing_is(what: str, episodes: Sequence[str], environments: str) -> str:
    if episodes:
        some = ", ".join(id_[:12] for id_ in episodes[:5])
        return f"{len(episodes)} ids of episodes begin with {what!r}, such as {some}: write more of one"
    return f"{what!r} is no environment, no server, and no beginning of an episode's id: {environments}"


def _record_ids(beginning: str, home: Path) -> list[str]:
    if not beginning.isalnum():  # nothing of it may reach a pattern of files
        return []
    return [file.stem for file in (home / "records").glob(f"{beginning}*.jsonl")]


def _has_screen() -> bool:
    """Tell whether a browser can show itself; one in the terminal would keep the command."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def show(url: str) -> bool:
    """Open a link in a browser, by a file: others on the machine can see what programs are started with."""
    file = load_settings().home / _FILE
    shown = escape(url)
    page = _PAGE.format(shown)
    try:
        file.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as written:
            written.write(page)
        return webbrowser.open(file.absolute().as_uri())
    except (OSError, webbrowser.Error):
        return False
