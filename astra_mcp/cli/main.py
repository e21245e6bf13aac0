"""``astra-mcp``: the commands, in the order in which a newcomer meets them."""

import os
from typing import Annotated

import typer

from astra_mcp import __version__
from astra_mcp.cli import environments, episodes, run, serve
from astra_mcp.cli.connect import command as connect
from astra_mcp.cli.doctor import command as doctor
from astra_mcp.cli.registry import group as registry
from astra_mcp.cli.rollout import command as rollout
from astra_mcp.cli.suggesting import SuggestingGroup

__all__ = ["app", "main"]

_LAST_STANDARD_STREAM = 2

app = typer.Typer(
    cls=SuggestingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Verified tool environments as real MCP servers behind one gateway.",
    epilog="Start with: astra-mcp serve",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"astra-mcp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that every command shares."""


app.command("serve")(serve.serve)
app.command("run")(run.run)
app.command("connect")(connect.connect)
app.add_typer(environments.app, name="environments")
app.add_typer(episodes.app, name="episodes")
app.add_typer(registry.app, name="registry")
app.command("rollout")(rollout.rollout)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line."""
    _open_standard_streams()
    app()


def _open_standard_streams() -> None:
    """Open what the parent left closed; a socket that takes its number would break the event loop."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > _LAST_STANDARD_STREAM:
            os.close(descriptor)
            return
        os.set_inheritable(descriptor, True)
