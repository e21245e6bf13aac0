"""``astra-mcp key``: where the key of the control plane lies."""

import typer

from astra_mcp.compose.settings import load_settings
from astra_mcp.report.console import print_json, report_errors
from gateway.edge.keys import control_key_path, ensure_control_key

__all__ = ["key"]


def key(*, as_json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
    """Print the file of the control key, which is made where there is none."""
    with report_errors():
        home = load_settings().home.absolute()
        ensure_control_key(home)
    path = str(control_key_path(home))
    if as_json:
        print_json({"path": path})
    else:
        typer.echo(path)
