"""What both commands of ``synth`` are told: how each option is written, and all as they were given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.llm.usage import Budget

__all__ = ["AsJson", "GivenOfRun", "RunOptions", "Seed"]

Seed = Annotated[
    int, typer.Option(min=0, help="Decides all that is drawn; the same gives the same.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


class RunOptions:
    """How the options of a run with a model are written, in a command's own panel of the help."""

    def __init__(self, panel: str) -> None:
        """Write them.

        Args:
            panel: Its title.
        """
        self.run = typer.Option(help="Name of the run, which goes on by it.", rich_help_panel=panel)
        self.concurrency = typer.Option(
            min=1, max=1024, help="Items in work at once.", rich_help_panel=panel
        )
        self.budget = typer.Option(min=0, help="Of models, at most.", rich_help_panel=panel)
        self.max_cost = typer.Option(
            min=0, help="In the currency of the prices.", rich_help_panel=panel
        )
        self.report = typer.Option(
            "--html",
            "--report",
            help="Write a page about the run to this file.",
            rich_help_panel=panel,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenOfRun:
    """What a person wrote of a run, by the names of the options; see their help."""

    seed: int
    as_json: bool
    run: str
    concurrency: int
    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    report: Path | None

    @property
    def budget(self) -> Budget:
        """What the run may spend."""
        return Budget(self.max_calls, self.max_cost, self.max_tokens)
