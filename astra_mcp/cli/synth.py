"""``astra-mcp synth``: make environments, by families that need no model."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from astra_mcp.compose.settings import load_settings
from astra_mcp.compose.synthesis import BundleFolder, open_acceptance
from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.shown import json_text
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import (
    Order,
    Planned,
    Range,
    SplitBy,
    plan,
)
from astra_mcp.synthesis.environments.making import Made, make_environments
from astra_mcp.types import JsonObject

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Make environments.")

_AT_ONCE = 4
"""Environments under way: their calls wait for one another more than for the processor."""
_HUNDRED = 100
_MAX_COUNT = 100_000
_MAX_RECORDS = 500


@app.callback()
def synth() -> None:
    """Make environments."""


def _range(option: str, text: str, least: int, most: int) -> Range:
    """Read ``3`` or ``1-8``."""
    low, dash, high = text.partition("-")
    try:
        found = (int(low), int(high if dash else low))
    except ValueError:
        words = f"{text!r} is no range: write {most}, or {least}-{most}"
        raise typer.BadParameter(words, param_hint=option) from None
    if found[1] < found[0]:
        words = f"{text!r} goes from {found[0]} to {found[1]}: write the smaller first"
        raise typer.BadParameter(words, param_hint=option)
    if found[0] < least or found[1] > most:
        words = f"{text!r}: from {least} to {most} are possible"
        raise typer.BadParameter(words, param_hint=option)
    return found


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


@app.command("environments")
def environments(  # noqa: PLR0913 - one parameter for each option
    *,
    families: Annotated[
        str,
        typer.Option(help="Names with commas between them, `all`, or `micro` for small models."),
    ],
    count: Annotated[int, typer.Option(min=1, max=_MAX_COUNT, help="How many.")],
    folder: Annotated[Path, typer.Option("--out", help="Where their folders are made.")],
    seed: Annotated[int, typer.Option(min=0, help="The same gives the same bytes.")] = 0,
    language: Annotated[str, typer.Option(help="en, zh, or both with a comma.")] = "en,zh",
    types: Annotated[
        str | None, typer.Option("--type", help="Scenario types with commas, such as Multi-Hop.")
    ] = None,
    sub_tasks: Annotated[str, typer.Option(help="How many each has.")] = "1-8",
    hops: Annotated[str, typer.Option(help="How deep the longest chain of sub-tasks is.")] = "1-8",
    records: Annotated[str, typer.Option(help="Rows of the largest table.")] = "20-200",
    near_misses: Annotated[
        str, typer.Option(help="Records that differ from what is asked for in one mark.")
    ] = "0-4",
    options: Annotated[
        str, typer.Option(help="Optional parameters beyond those that are needed.")
    ] = "0-2",
    questions: Annotated[
        int,
        typer.Option(
            min=1, max=200, help="How many each is asked, where its family bears so many."
        ),
    ] = 1,
    splits: Annotated[
        str | None,
        typer.Option("--split", help="Hundredths by name: train=80,validation=10,test=10."),
    ] = None,
    split_by: Annotated[
        SplitBy | None, typer.Option(help="What no two splits share; by default entity.")
    ] = None,
    acceptance: Annotated[
        bool, typer.Option(help="Publish only what passes it; without, all are marked unverified.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make environments of families, which need no model.

    The same options make the same bytes. A run that was stopped goes on where
    it was when it is started again: what is there is kept.
    """
    if split_by is not None and splits is None:
        raise typer.BadParameter("only --split divides environments", param_hint="--split-by")
    with report_errors():
        order = Order(
            families=find_families([name.strip() for name in families.split(",")]),
            count=count,
            seed=seed,
            languages=_languages(language),
            types=_types(types),
            sub_tasks=_range("--sub-tasks", sub_tasks, 1, 8),
            hops=_range("--hops", hops, 1, 8),
            records=_range("--records", records, 1, _MAX_RECORDS),
            near_misses=_range("--near-misses", near_misses, 0, 4),
            options=_range("--options", options, 0, 2),
            questions=questions,
            splits={} if splits is None else _splits(splits),
            split_by=split_by or SplitBy.ENTITY,
        )
        planned = [*plan(order)]
        place = user_path(folder)
        if place.exists() and not place.is_dir():
            raise ConfigError(f"{place} is no folder: name another one with --out")
    began, made = time.monotonic(), Made()
    try:
        run_async(_make, planned, place, acceptance, made)
    finally:
        _report(made, time.monotonic() - began, folder, order.splits, as_json=as_json)
    if made.given_up:
        raise typer.Exit(ExitCode.FAILED)


def _languages(text: str) -> list[Any]:
    found = [word.strip() for word in text.split(",")]
    if not set(found) <= {"en", "zh"}:
        raise typer.BadParameter(f"{text!r}: there are en and zh", param_hint="--language")
    return found


def _types(text: str | None) -> list[ScenarioType]:
    if text is None:
        return [*ScenarioType]
    known = {t.value.casefold(): t for t in ScenarioType}
    words = [word.strip().casefold() for word in text.split(",")]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise typer.BadParameter(
            f"{unknown[0]!r}: there are {', '.join(ScenarioType)}", param_hint="--type"
        )
    return [known[word] for word in words]


async def _make(planned: list[Planned], folder: Path, acceptance: bool, made: Made) -> None:
    with say.bars(transient=True) as progress:
        task = progress.add_task("making", total=len(planned))

        def hear(name: str, *, accepted: bool) -> None:
            progress.advance(task)
            if not accepted:
                say.print(f"given up: {name}; every draw was refused", style="yellow")

        publisher = BundleFolder(folder)
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
