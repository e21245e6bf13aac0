"""What a registry of emulated servers costs a gateway, and whether each of their tools can be called.

    python benchmarks/emulated.py FILE [--json FILE] [--seed N]

FILE is a file of server documents in any format that `astra-mcp registry import` reads. All of its servers
that are kept, crawled ones too, are served by one `astra-mcp serve` process with the offline emulator. Each
tool is called once at its own server's endpoint with arguments that its schema takes. Start and memory stand
beside those of the same gateway without these servers.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right

from registry.documents.preparation import prepare_server  # noqa: E402
from registry.importers.detection import detect  # noqa: E402
from registry.intake.importing import import_documents  # noqa: E402
from registry.store.database import open_database  # noqa: E402

from circumstances import conditions  # noqa: E402
from emulated_calls import PlannedCall, call_all, plan_calls, serving_gateway  # noqa: E402
from mcp_wire import Kind  # noqa: E402

WITHOUT = {"ASTRA_MCP_EMULATORS__PUBLISH": "false"}


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description="Call every tool of a registry once.")
    parser.add_argument("documents", type=Path)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--seed", type=int, default=0, help="of the arguments")
    options = parser.parse_args()
    circumstances = conditions(seed=options.seed)
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        figures, faults = _measure(options.documents, Path(folder), options.seed)
    figures["conditions"] = circumstances.finished()
    for name, value in figures.items():
        print(f"{name}: {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if faults:
        sys.exit("\n".join(["calls that were not answered as they should be:", *faults]))


def _measure(documents: Path, home: Path, seed: int) -> tuple[dict[str, Any], list[str]]:
    began = time.perf_counter()
    names, calls = anyio.run(_import, documents, home, seed)
    figures: dict[str, Any] = {
        "import_seconds": round(time.perf_counter() - began, 1),
        "servers": len(names),
        "tools": len(calls),
    }
    with serving_gateway(home, **WITHOUT) as gateway:
        figures["without_ready_seconds"] = round(gateway.ready_seconds, 2)
        figures["without_mib"] = round(gateway.resident_mib, 1)
    with serving_gateway(home) as gateway:
        figures["ready_seconds"] = round(gateway.ready_seconds, 2)
        figures["idle_mib"] = round(gateway.resident_mib, 1)
        outcomes = anyio.run(call_all, gateway.url, calls)
        figures["called_mib"] = round(gateway.resident_mib, 1)
        figures["call_seconds"] = round(outcomes.seconds, 1)
        figures |= {f"answers_{kind}": outcomes.kinds[kind] for kind in Kind}
    return figures, outcomes.faults


async def _import(documents: Path, home: Path, seed: int) -> tuple[list[str], list[PlannedCall]]:
    async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
        stream = detect(documents).read(documents)
        await import_documents(database, stream, prepare=prepare_server)
        return await plan_calls(database, seed=seed)


if __name__ == "__main__":
    main()
