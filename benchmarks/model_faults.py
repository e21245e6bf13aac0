"""Calls a model that fails one request in ten, and holds every account against the other's.

    python benchmarks/model_faults.py [--calls 5000] [--in-flight 256] [--share 0.1] [--json FILE]

A pipeline of one stage with the model layer and a SQLite database, in a process of its own, against the
completions server in another. Each item must end in one way, none may be asked for twice after it was
answered, a second run must be free, a budget must stop after the calls in flight, and a killed run must
be finished by the next one without paying again. Exits 1 where anything of that does not hold.
"""

import argparse
import json
import sys
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from astra_mcp.completions import FaultKind  # noqa: E402
from astra_mcp.pipeline import ItemStatus, Outcome  # noqa: E402

from asked_items import Asked, open_program, read_table  # noqa: E402
from call_audit import Accounts, asked_again, audit, by_item  # noqa: E402
from circumstances import conditions  # noqa: E402
from completions_process import (  # noqa: E402
    CompletionsProcess,
    open_completions_process,
)

_LOOK_SECONDS = 0.5
_DEADLINE_SECONDS = 20.0
"""Of an attempt: above what a good answer takes on a busy machine, since one that is given up is doubled."""


def main() -> None:
    """Run, print, and write the figures where asked to."""
    options = _options()
    figures = anyio.run(_run, options, backend_options={"use_uvloop": True})
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    if figures["violations"]:
        sys.exit(f"{figures['violations']} violations")


class _Report:
    """Figures so far, and everything that was not as it should be."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}
        self.violations: list[str] = []

    def add(self, **figures: object) -> None:
        """Take in figures, and show them."""
        self.figures |= figures
        print(json.dumps(figures), file=sys.stderr)

    def expect(self, holds: bool, otherwise: str) -> None:
        """Take in what does not hold."""
        if not holds:
            self.violations.append(otherwise)
            print(f"  {otherwise}", file=sys.stderr)


async def _run(options: argparse.Namespace) -> dict[str, Any]:
    circumstances = conditions(
        calls=options.calls, in_flight=options.in_flight, share=options.share, seed=options.seed
    )
    report = _Report()
    with tempfile.TemporaryDirectory() as folder:
        await _with_faults(options, report, Path(folder, "faulty.db"))
        await _within_budget(options, report, Path(folder, "budget.db"))
        await _killed(options, report, Path(folder, "killed.db"))
    return {
        **report.figures,
        "violations": len(report.violations),
        "first_violations": report.violations[:20],
        "conditions": circumstances.finished(),
    }


async def _with_faults(options: argparse.Namespace, report: _Report, file: Path) -> None:
    """Every item ends in one way, and nothing that was answered is asked for again."""
    async with _faulty(options) as server:
        asked = _asked(options, server, file)
        table = await _play(asked)
        stats = await server.stats()
        outcomes, before = await asked.outcomes(), by_item(stats)
        for violation in audit(before, outcomes):
            report.expect(False, violation)
        failed = _names(outcomes, ItemStatus.FAILED)
        report.add(
            faulty_seconds=round(table["seconds"], 1),
            faulty_cpu_ms_per_call=round(table["cpu_seconds"] * 1e3 / table["model_calls"], 2),
            faulty_finished=table["accepted"],
            faulty_failed={
                reason: n for row in table["failed"].values() for reason, n in row.items()
            },
            faulty_requests=stats["requests"],
            faulty_faults=stats["faults"],
            faulty_most_in_flight_at_server=stats["most_in_flight"],
        )

        table = await _play(asked)
        after = by_item(await server.stats())
        again = asked_again(before, after)
        report.expect(again == failed, f"the second run asked for {sorted(again ^ failed)[:5]}")
        report.add(
            second_seconds=round(table["seconds"], 1),
            second_requests=_num_requests(after) - _num_requests(before),
            second_requests_for_finished=len(again - failed),
        )

        failed = _names(await asked.outcomes(), ItemStatus.FAILED)
        table = await _play(asked.but(run="the same by another name"))
        again = asked_again(after, by_item(await server.stats()))
        report.expect(again == failed, f"the cache did not hold {sorted(again ^ failed)[:5]}")
        report.add(cached_seconds=round(table["seconds"], 1), cached_calls=table["cached_calls"])


async def _within_budget(options: argparse.Namespace, report: _Report, file: Path) -> None:
    """A spent budget begins no call, and lets those in flight end."""
    allowed = options.calls // 4
    async with _faulty(options) as server:
        asked = _asked(options, server, file)
        table = await _play(asked.but(max_cost=float(allowed)))
        before = by_item(await server.stats())
        paid = {name for name, account in before.items() if account.answers}
        kept = _names(await asked.outcomes(), ItemStatus.FINISHED)
        cost = table["cost"]
        report.expect(paid == kept, f"{len(paid ^ kept)} answers were paid for and not kept")
        report.expect(
            allowed <= cost < allowed + options.in_flight, f"{cost} was spent of {allowed}"
        )
        report.add(budget_allowed=allowed, budget_spent=cost)
        await _play(asked)
        again = asked_again(before, by_item(await server.stats()))
        report.expect(not again & paid, f"asked again for {sorted(again & paid)[:5]}")


async def _killed(options: argparse.Namespace, report: _Report, file: Path) -> None:
    """What a killed run had kept is not paid for again."""
    async with _faulty(options) as server:
        asked = _asked(options, server, file)
        async with open_program(asked) as process:
            while (await server.stats())["answers"] < options.calls // 2:  # noqa: ASYNC110 - of another process
                await anyio.sleep(_LOOK_SECONDS)
            process.kill()
            await process.wait()
    kept = _names(await asked.outcomes(), ItemStatus.FINISHED)
    num_cached = await asked.num_cached()
    async with _faulty(options) as server:
        await _play(asked.but(base_url=server.base_url))
        accounts = by_item(await server.stats())
    finished = _names(await asked.outcomes(), ItemStatus.FINISHED)
    answers = sum(account.answers for account in accounts.values())
    report.expect(not kept & accounts.keys(), f"asked again for {len(kept & accounts.keys())}")
    report.expect(answers == len(finished) - num_cached, f"{answers} answers instead of the rest")
    report.add(killed_kept=num_cached, killed_paid_after=answers, killed_finished=len(finished))


def _faulty(options: argparse.Namespace) -> AbstractAsyncContextManager[CompletionsProcess]:
    share = options.share / len(FaultKind)
    faults = [f"--fault={kind}={share}" for kind in FaultKind]
    seed = ("--fault-seed", str(options.seed))
    return open_completions_process("--policy", "square_model:answer_in_time", *seed, *faults)


def _asked(options: argparse.Namespace, server: CompletionsProcess, file: Path) -> Asked:
    return Asked(
        base_url=server.base_url,
        database=f"sqlite:///{file}",
        num_items=options.calls,
        concurrency=options.in_flight,
        timeout_seconds=_DEADLINE_SECONDS,
    )


async def _play(asked: Asked) -> dict[str, Any]:
    async with open_program(asked) as process:
        return await read_table(process)


def _names(outcomes: list[Outcome], status: ItemStatus) -> set[str]:
    return {outcome.item for outcome in outcomes if outcome.status is status}


def _num_requests(accounts: Accounts) -> int:
    return sum(account.requests for account in accounts.values())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--in-flight", type=int, default=256, help="calls at once")
    parser.add_argument("--share", type=float, default=0.1, help="of requests that fail")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
