"""``astra-mcp``: the commands, in the order in which a newcomer meets them.

A command is loaded when it is named: the version, the help, a typing error and a TAB need the table alone.
"""

import gc
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from astra_mcp import __version__
from astra_mcp.cli.completing import names_at
from astra_mcp.cli.suggesting import SuggestingGroup

__all__ = ["COMMANDS", "Listed", "app", "load_command", "main"]

_LAST_STANDARD_STREAM = 2
_NEW_OBJECTS = 5_000
"""So many before the youngest are looked at."""
_WORDS = "astra_mcp.words"
"""Where a context keeps the words from the command on."""


class Listed(NamedTuple):
    """What is known of a command that is not loaded."""

    place: str
    """The module, and in it the function, or the group of further commands."""
    help: str
    """The first paragraph of its own."""


COMMANDS: Mapping[str, Listed] = {
    "serve": Listed(
        "astra_mcp.cli.serve:serve",
        "Serve every environment as MCP servers behind one gateway, until Ctrl-C.",
    ),
    "run": Listed(
        "astra_mcp.cli.run:run",
        "Serve one server by itself, without a gateway: no episodes, no records, no reward.",
    ),
    "open": Listed(
        "astra_mcp.cli.open:open_pages",
        "Open the pages of the running gateway in a browser, by a link that works once.",
    ),
    "connect": Listed(
        "astra_mcp.cli.connect.command:connect",
        "Print, or write, the configuration that connects an MCP client.",
    ),
    "rollout": Listed(
        "astra_mcp.cli.rollout.command:rollout",
        "Let an agent play environments, tasks or servers over HTTP and MCP, and print what it earned.",
    ),
    "key": Listed(
        "astra_mcp.cli.key:key",
        "Print the file of the control key, which is made where there is none.",
    ),
    "doctor": Listed(
        "astra_mcp.cli.doctor.command:doctor",
        "Say what works on this machine; exits with 1 only where something required is missing.",
    ),
    "environments": Listed(
        "astra_mcp.cli.environments:app",
        "Verify, list, show, count, start and import environments.",
    ),
    "synth": Listed(
        "astra_mcp.cli.synth.command:app", "Make environments, and tasks for trajectories."
    ),
    "score": Listed(
        "astra_mcp.cli.score.command:score",
        "Score trajectories in seven dimensions, by a judge and by their record.",
    ),
    "train": Listed(
        "astra_mcp.cli.train.command:app", "Train models, and draw the curves of runs."
    ),
    "export": Listed(
        "astra_mcp.cli.datasets.commands:app",
        "Write environments and trajectories as files for others.",
    ),
    "inspect": Listed(
        "astra_mcp.cli.inspect.command:app", "Look into trajectories: the form of their turns."
    ),
    "episodes": Listed("astra_mcp.cli.episodes:app", "List, show and replay recorded episodes."),
    "runs": Listed("astra_mcp.cli.runs:app", "List and show rollouts, syntheses and trainings."),
    "registry": Listed(
        "astra_mcp.cli.registry.commands:app",
        "Import, look at, search and freeze tool documents.",
    ),
}


class _LoadingGroup(SuggestingGroup):
    """Shows the table, and loads the command that a command line names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse a name that is none before options are read, which loads pydantic.

        What does not begin with a letter could be an option to Click, which would ask here again.
        """
        if args and args[0][:1].isalpha() and not ctx.resilient_parsing:
            super().resolve_command(ctx, args)
        return super().parse_args(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the options that stand before a command, one of which writes files of the shell."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except OSError as error:
            if error.filename is None:  # a pipe that nobody reads
                raise
            from astra_mcp.report.console import fail  # noqa: PLC0415 - rare

            fail(f"{error.filename} cannot be written: {error.strerror}")

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the options, as help shows them."""
        return _bare(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command; where a TAB asks for names, they are known without it."""
        name, found, rest = super().resolve_command(ctx, args)
        if found is None:
            return name, None, rest
        ctx.meta[_WORDS] = args
        if ctx.resilient_parsing and names_at(args):
            return name, found, []
        command = load_command(args[0])
        _look_for_garbage()
        return name, command, rest


class _NamingCommand(TyperCommand):
    """Stands for a command while one of its names is completed."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete an option, which the command itself has."""
        first, *words = ctx.meta[_WORDS]
        found = load_command(first)
        for word in words:
            found = getattr(found, "commands", {}).get(word, found)
        return found.shell_complete(ctx, incomplete)


def _complete_name(ctx: typer.Context, incomplete: str) -> list[str]:
    names = names_at(ctx.meta[_WORDS])
    return [name for name in names() if name.startswith(incomplete)] if names else []


def _stand_in(
    names: Annotated[list[str] | None, typer.Argument(autocompletion=_complete_name)] = None,
) -> None:
    """Stand for a command that is not loaded; never run."""


app = typer.Typer(
    cls=_LoadingGroup,
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


for _name, _listed in COMMANDS.items():
    app.command(_name, cls=_NamingCommand, help=_listed.help)(_stand_in)


def load_command(name: str) -> Any:
    """Import a command, as typer runs it.

    Raises:
        KeyError: There is none of this name.
    """
    module, _, attribute = COMMANDS[name].place.partition(":")
    found = getattr(import_module(module), attribute)
    loaded = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        loaded.add_typer(found, name=name)
    else:
        loaded.command(name)(found)
    command = typer.main.get_group(loaded).commands[name]
    _bare_below(command)
    return command


def _bare_below(command: Any) -> None:
    _bare(command.get_params(typer.Context(command)))
    for below in getattr(command, "commands", {}).values():
        _bare_below(below)


def _bare(parameters: list[Any]) -> list[Any]:
    """Have help show flags without the type of a value, which they do not take."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


def main() -> None:
    """Run the command line.

    No garbage is looked for until the command is loaded: there is none, and looking takes long.
    """
    gc.disable()
    _open_standard_streams()
    app()


def _look_for_garbage() -> None:
    """Look for it from now on, but not in what the program is made of, and less often than usual.

    Documents and messages come by the thousand and refer to no other objects of theirs.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()


def _open_standard_streams() -> None:
    """Open what the parent left closed; a socket that takes its number would break the event loop."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > _LAST_STANDARD_STREAM:
            os.close(descriptor)
            return
        os.set_inheritable(descriptor, True)
