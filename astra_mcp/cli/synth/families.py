"""Making environments of families, which need no model."""

import time
from collections.abc import Iterable
from pathlib import Path

import typer

from astra_mcp.cli.noting import noted
from astra_mcp.cli.synth.options import Given
from astra_mcp.cli.synth.reading import read_languages, read_range, read_types
from astra_mcp.cli.synth.report import report_of_families
from astra_mcp.compose.bundles import BundlePublisher
from astra_mcp.compose.runs.notes import RunKind
from astra_mcp.compose.settings import load_settings
from astra_mcp.compose.verdicts import open_acceptance
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.shown import json_text
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import (
    Order,
    Planned,
    SplitBy,
    plan,
)
from astra_mcp.synthesis.environments.making import Made, make_environments
from astra_mcp.types import JsonObject

__all__ = ["make_of_families"]

_AT_ONCE = 4
"""Environments under way: their calls wait for one another more than for the processor."""
_HUNDRED = 100
_MAX_RECORDS = 500


def make_of_families(given: Given) -> None:
    """Make what is asked for; ends the command with 1 where something could not be made.

    Args:
        given: Name families, how many environments, and a folder.
    """
    folder = given.folder or Path()
    if given.split_by is not None and given.splits is None:
        raise typer.BadParameter("only --split divides environments", param_hint="--split-by")
    with report_errors():
        order = Order(
            families=find_families([name.strip() for name in (given.families or "").split(",")]),
            count=given.count or 0,
            seed=given.seed,
            languages=read_languages(given.language or "en,zh"),
            types=read_types(given.types),
            sub_tasks=read_range("--sub-tasks", given.sub_tasks, 1, 8),
            hops=read_range("--hops", given.hops, 1, 8),
            records=read_range("--records", given.records, 1, _MAX_RECORDS),
            near_misses=read_range("--near-misses", given.near_misses, 0, 4),
            options=read_range("--options", given.options, 0, 2),
            questions=given.questions,
            splits={} if given.splits is None else _splits(given.splits),
            split_by=given.split_by or SplitBy.ENTITY,
        )
        planned = [*plan(order)]
        place = user_path(folder)
        if place.exists() and not place.is_dir():
            raise ConfigError(f"{place} is no folder: name another one with --out")
    began, made = time.monotonic(), Made()
    with report_errors():
        noting = noted(
            load_settings().home,
            RunKind.SYNTHESIS,
            command="synth environments",
            name=f"families {given.families}",
            key=f"families {place.resolve()}",
            place=place,
        )
    with noting as run:
        try:
            run_async(_make, planned, place, given.acceptance, made)
        finally:
            seconds = time.monotonic() - began
            if made.accepted or made.rejected:  # else it was refused before it came to anything
                run.tell(f"{made.accepted:,} accepted, {_num_refused(made):,} refused draws")
                run.show(lambda: report_of_families(made, seconds, len(planned)), is_last=True)
            _report(made, seconds, folder, order.splits, as_json=given.as_json)
        if made.given_up:
            raise typer.Exit(ExitCode.FAILED)


def _num_refused(made: Made) -> int:
    return sum(reasons.total() for reasons in made.rejected.values())


def _splits(text: str) -> dict[str, int]:
    """Read ``train=80,test=20``."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, share = part.strip().partition("=")
        if name.casefold() in {known.casefold() for known in found}:
            raise typer.BadParameter(f"{name!r} is named twice", param_hint="--split")
        is_number = share.isdecimal() and share.isascii()
        if not is_number or not name.isidentifier() or int(share) == 0:
            raise typer.BadParameter(f"{part!r} is no split: write train=80,validation=10,test=10")
        found[name] = int(share)
    if sum(found.values()) != _HUNDRED:
        raise typer.BadParameter(
            f"the shares add up to {sum(found.values())}; they are hundredths: make it 100"
        )
    return found


async def _make(planned: list[Planned], folder: Path, acceptance: bool, made: Made) -> None:
    with say.bars(transient=True) as progress:
        task = progress.add_task("making", total=len(planned))

        def hear(name: str, *, accepted: bool) -> None:
            progress.advance(task)
            if not accepted:
                say.print(f"given up: {name}; every draw was refused", style="yellow")

        publisher = BundlePublisher(folder)
        if not acceptance:
            await make_environments(planned, publisher, None, made=made, hear=hear, limit=1)
            return
        async with open_acceptance(load_settings()) as accept:
            await make_environments(
                planned, publisher, accept, made=made, hear=hear, limit=_AT_ONCE
            )


def _report(
    made: Made, seconds: float, folder: Path, splits: Iterable[str], *, as_json: bool
) -> None:
    if as_json:
        print_json(_as_json(made, seconds))
        return
    known = f", {made.kept} of them from before" if made.kept else ""
    further = "" if made.questions == made.accepted else f" with {made.questions} questions"
    out.print(f"{made.accepted} environments{further} in {folder}{known}")
    for stage, reasons in made.rejected.items():
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        out.print(f"refused draws, made anew: {stage}: {told}")
    if made.accepted:
        places = [str(folder / split) for split in splits] or [str(folder)]
        out.print(f"serve them with: environments = {json_text(places)} in astra.toml")


def _as_json(made: Made, seconds: float) -> JsonObject:
    return {
        "accepted": made.accepted,
        "kept": made.kept,
        "questions": made.questions,
        "rejected": {stage: dict(reasons) for stage, reasons in made.rejected.items()},
        "given_up": [*made.given_up],
        "model_calls": 0,
        "cached_calls": 0,
        "tokens": 0,
        "cost": 0.0,
        "seconds": round(seconds, 1),
    }
