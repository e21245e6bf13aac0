"""What a list call of an emulated server costs, beside the baseline of the gateway benchmark.

    python -P benchmarks/emulated_list.py [--rounds N] [--calls N] [--callers N] [--json FILE]

One `astra-mcp serve` process emulates a tracker offline; its list shows 3 to 8 entities of 12 members. Each
caller has a state of its own: its first call draws what is shown, further ones show it again. A round calls
the baseline and the gateway in turn; the figures are medians of the rounds, with the least and the most.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from astra_mcp.concurrency import map_concurrently  # noqa: E402
from astra_mcp.mcp.request_context import Era  # noqa: E402
from registry.documents.preparation import prepare_server  # noqa: E402
from registry.importers.detection import detect  # noqa: E402
from registry.intake.importing import import_documents  # noqa: E402
from registry.store.database import open_database  # noqa: E402

from circumstances import conditions  # noqa: E402
from emulated_calls import serving_gateway  # noqa: E402
from mcp_wire import Kind, McpWire, open_pool  # noqa: E402
from measured_programs import SUPPORT, run_program  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402

AT_ONCE = 16
_TEXTS = (
    "title",
    "description",
    "priority",
    "status",
    "assignee",
    "component",
    "version",
    "due_date",
    "email",
    "url",
)
_MEMBERS = {name: {"type": "string"} for name in _TEXTS}
TOOLS: list[dict[str, Any]] = [
    {"name": "tracker_create_ticket", "description": "Create a ticket.",
     "parameters": {"type": "object", "properties": _MEMBERS, "required": ["title"]}},
    {"name": "tracker_list_tickets", "description": "List all tickets of the tracker.", "parameters": {}},
    {"name": "tracker_get_ticket", "description": "Get a ticket by its id.",
     "parameters": {"type": "object", "required": ["ticket_id"],
                    "properties": {"ticket_id": {"type": "string"}}}},
]  # fmt: skip


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description="Measure list calls of an emulated server.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=1000, help="of each kind in a round")
    parser.add_argument("--callers", type=int, default=50, help="share the further calls")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    circumstances = conditions(seed=0)
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        home = Path(folder)
        anyio.run(_import, home)
        figures = _measure(home, options.rounds, options.calls, options.callers)
    figures["conditions"] = circumstances.finished()
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


async def _import(home: Path) -> None:
    documents = home / "tracker.json"
    documents.write_text(json.dumps(TOOLS), encoding="utf-8")
    async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
        await import_documents(database, detect(documents).read(documents), prepare=prepare_server)


def _measure(home: Path, rounds: int, calls: int, callers: int) -> dict[str, Any]:
    """Processor time of a call in milliseconds, and its ratio to the baseline of the same round."""
    baseline = [sys.executable, "-P", str(SUPPORT / "baseline_server.py")]
    spent: dict[str, list[float]] = {"baseline": [], "first": [], "further": []}
    with run_program(baseline) as bare, serving_gateway(home) as gateway:
        lists = f"{gateway.url}/servers/tracker/mcp?caller="
        for at in range(rounds):
            paths = {
                "baseline": [f"{bare.url}/mcp"] * calls,
                "first": [f"{lists}new-{at}-{n}" for n in range(calls)],
                "further": [f"{lists}new-{at}-{n % callers}" for n in range(calls)],
            }
            for name, urls in paths.items():
                pid = bare.pid if name == "baseline" else gateway.pid
                before = cpu_seconds(pid, with_children=False)
                anyio.run(_call_all, urls, name == "baseline")
                seconds = cpu_seconds(pid, with_children=False) - before
                spent[name].append(seconds / calls * 1000)
    figures: dict[str, Any] = {f"{name}_cpu_ms": _spread(own) for name, own in spent.items()}
    for name in ("first", "further"):
        pairs = zip(spent[name], spent["baseline"], strict=True)
        figures[f"{name}_ratio"] = _spread([own / base for own, base in pairs])
    return figures


async def _call_all(urls: Sequence[str], is_baseline: bool) -> None:
    async with open_pool() as pool:

        async def call(numbered: tuple[int, str]) -> None:
            number, url = numbered
            wire = McpWire(url, Era.MODERN, pool)
            tool, arguments = (
                ("echo", {"text": "x"}) if is_baseline else ("tracker_list_tickets", {})
            )
            answer = await wire.call(tool, arguments, f"call-{number}")
            if answer.kind is not Kind.RESULT:
                raise SystemExit(f"{url} answered {answer.kind}: {answer.text[:300]}")

        await map_concurrently(call, enumerate(urls), limit=AT_ONCE)


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f}-{max(values):.3f})"


if __name__ == "__main__":
    main()
