"""What environments hold, in the terminal."""

from astra_mcp.cli.statistics.comparison import (
    NONE,
    Categories,
    categories_of,
    figures_of,
    left_out,
)
from astra_mcp.cli.statistics.counting import Counted
from astra_mcp.environments.statistics import PAPER, Distribution, Statistics
from astra_mcp.report.console import out, say
from astra_mcp.report.shown import Table, number

__all__ = ["print_not_loaded", "print_statistics"]


def print_statistics(found: Statistics) -> None:
    """Show every figure, the kinds of questions, and how often which number."""
    state = f"{found.verified:,} verified, {found.unverified:,} unverified"
    what = "environment" if found.environments == 1 else "environments"
    out.print(f"{found.environments:,} {what}: {state}")
    table = Table("figure", number("here"), number("paper"))
    for figure in figures_of(found):
        table.add_row(figure.name, figure.ours, figure.paper)
    out.print(table)
    out.print()
    for categories in categories_of(found):
        _print_categories(categories)
        out.print()
    _print_histogram("hops", found.sub_questions)
    _print_histogram("hop depth", found.hop_depth)
    _print_histogram("tool calls", found.tool_calls)
    _print_histogram("tools", found.tools)
    if said := left_out(found):
        out.print(said)
    out.print(f"paper: {PAPER.source}")


def _print_categories(categories: Categories) -> None:
    total = sum(categories.counts.values())
    table = Table(categories.what, number("questions"), number("share"), number("paper"))
    for name, count in categories.counts.items():
        paper = categories.paper.get(name)
        shown = NONE if paper is None else f"{paper:.1%}"
        table.add_row(name, f"{count:,}", f"{count / total:.1%}", shown)
    out.print(table)


def _print_histogram(what: str, found: Distribution | None) -> None:
    if found:
        counts = ", ".join(f"{num:,} of {value}" for value, num in found.counts)
        out.print(f"{what}: {counts}")


def print_not_loaded(counted: Counted) -> None:
    """Say on standard error which bundles do not load."""
    for name, reason in counted.not_loaded:
        say.print(f"{name} does not load and is not counted: {reason}", style="yellow")
