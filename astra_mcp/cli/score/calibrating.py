"""``score --calibrate``: how a judge grades what people have labelled, and whether it is to be trusted."""

from collections.abc import Sequence

import typer

from astra_mcp.cli.usage import print_usage
from astra_mcp.compose.settings import Settings
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget, metered
from astra_mcp.report.console import ExitCode, out, print_json, run_async, say
from astra_mcp.report.shown import Table, number, whole
from training.rewards.calibration import (
    MIN_AGREEMENT,
    MIN_KAPPA,
    Agreement,
    calibrate,
    load_calibration,
)

__all__ = ["calibrate_judge"]

_MAX_SHOWN = 5


def calibrate_judge(
    settings: Settings,
    role: Role,
    budget: Budget,
    *,
    max_bytes: int,
    concurrency: int,
    as_json: bool,
) -> None:
    """Ask the judge, and tell; ends the command with 1 where it is not to be trusted.

    Args:
        settings: Name its model.
        role: Of it.
        budget: Of its calls.
        max_bytes: Of what is shown in one prompt.
        concurrency: Questions at once.
        as_json: Tell programs.
    """
    with metered() as meter:
        found = run_async(_calibrate, settings, role, budget, max_bytes, concurrency)
    is_trusted = all(each.is_trusted for each in found)
    if as_json:
        dimensions = {each.dimension.value: each.as_json() for each in found}
        print_json({"trusted": is_trusted, "dimensions": dimensions, **meter.usage.as_json()})
    else:
        _print(found)
        print_usage(meter.usage)
    if not is_trusted:
        raise typer.Exit(ExitCode.FAILED)


async def _calibrate(
    settings: Settings, role: Role, budget: Budget, max_bytes: int, concurrency: int
) -> list[Agreement]:
    from astra_mcp.compose.models import open_role  # noqa: PLC0415 - a second to load

    async with open_role(settings, role, budget) as judge:
        return await calibrate(
            judge, load_calibration(), max_bytes=max_bytes, concurrency=concurrency
        )


def _print(found: Sequence[Agreement]) -> None:
    table = Table(whole("dimension"), *map(number, ("graded", "failed", "agreement", "kappa")), "")
    for each in found:
        table.add_row(
            each.dimension.value,
            str(len(each.pairs)),
            str(len(each.failures)),
            "-" if each.exact is None else f"{each.exact:.3f}",
            "-" if each.kappa is None else f"{each.kappa:.3f}",
            "" if each.is_trusted else "not to be trusted",
        )
    out.print(table)
    doubted = [each.dimension.value for each in found if not each.is_trusted]
    if doubted:
        out.print(
            f"The judge is not to be trusted in {', '.join(doubted)}: it needs every item graded,"
            f" an agreement of {MIN_AGREEMENT:g} and a kappa of {MIN_KAPPA:g}."
        )
    failures = [failure for each in found for failure in each.failures]
    for failure in failures[:_MAX_SHOWN]:
        say.print(failure, style="red")
    if len(failures) > _MAX_SHOWN:
        say.print(f"and {len(failures) - _MAX_SHOWN} more; --json tells all", style="red")
