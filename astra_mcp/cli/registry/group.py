"""``astra-mcp registry``: a group whose commands are loaded when one of them is asked for."""

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["app"]

_COMMANDS = "astra_mcp.cli.registry.commands"


class _LateGroup(TyperGroup):
    """Loads its commands late: what talks to databases takes as long to load as all the rest."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the commands, in the order in which a newcomer meets them."""
        return _group().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a command."""
        return _group().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=_LateGroup, no_args_is_help=True, help="Import, look at, search and freeze tool documents."
)


def _group() -> TyperGroup:
    return typer.main.get_group(importlib.import_module(_COMMANDS).app)
