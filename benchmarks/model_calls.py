"""What the model layer adds to the client library: processor time of a call, in one run, as ratios.

    python benchmarks/model_calls.py [--calls 1000] [--in-flight 1,32,256] [--rounds 5] [--json FILE]

The endpoint is the completions server in a process of its own. This process asks it the same by the bare
client (``baseline``), by a conversation (``complete``), by a structured answer with its cache (``ask``), and
asks once more what the cache has (``cached``). Rounds are interleaved, a ratio compares cells of one round,
and a figure is the median of the rounds.
"""

import argparse
import json
import statistics
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
import openai  # noqa: E402

from astra_mcp.llm.config import ModelConfig, Role  # noqa: E402
from astra_mcp.llm.model import open_model  # noqa: E402
from astra_mcp.types import JsonObject  # noqa: E402

from circumstances import conditions  # noqa: E402
from completions_process import open_completions_process  # noqa: E402
from figures_report import table  # noqa: E402
from square_model import Square, question  # noqa: E402

Ask = Callable[[str], Awaitable[int]]
"""Asks about an item, and takes the number in the answer."""


class Memory:
    """A completion cache that costs next to nothing."""

    def __init__(self) -> None:
        self._values: dict[str, JsonObject] = {}

    async def get(self, key: str) -> JsonObject | None:
        """Find what was put."""
        return self._values.get(key)

    async def put(self, key: str, value: JsonObject) -> None:
        """Keep a value."""
        self._values[key] = value


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    figures = anyio.run(_measure, options, backend_options={"use_uvloop": True})
    print(table(figures, options.in_flight))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


async def _measure(options: argparse.Namespace) -> dict[str, Any]:
    circumstances = conditions(
        calls=options.calls, rounds=options.rounds, openai=openai.__version__
    )
    cells: dict[str, list[float]] = {}
    for at_once in options.in_flight:
        async with (
            open_completions_process("--policy", "square_model:answer") as server,
            _open_ways(server.base_url, at_once) as ways,
        ):
            for number in range(-1, options.rounds):
                measured = await _round(ways, number, options.calls, at_once)
                if number >= 0:  # the one before opens the connections
                    for figure, value in measured.items():
                        cells.setdefault(f"{figure}_{at_once}", []).append(value)
    return {**_summary(cells), "conditions": circumstances.finished()}


@asynccontextmanager
async def _open_ways(base_url: str, at_once: int) -> AsyncGenerator[Mapping[str, Ask]]:
    config = ModelConfig(model="scripted", base_url=base_url, max_concurrency=at_once)
    async with (
        openai.AsyncOpenAI(base_url=base_url, api_key="none") as client,
        open_model(Role.GENERATOR, config, cache=Memory()) as model,
    ):

        async def bare(item: str) -> int:
            messages: Any = question(item).messages
            completion = await client.chat.completions.create(model="scripted", messages=messages)
            return json.loads(completion.choices[0].message.content or "")["square"]

        async def complete(item: str) -> int:
            reply = await model.complete(question(item).messages, [])
            return json.loads(reply.content or "")["square"]

        async def ask(item: str) -> int:
            return (await model.ask(question(item), Square)).square

        yield {"baseline": bare, "complete": complete, "ask": ask, "cached": ask}


async def _round(
    ways: Mapping[str, Ask], number: int, calls: int, at_once: int
) -> dict[str, float]:
    """Go every way once; items are new in every round, so that only the last way meets the cache."""
    figures: dict[str, float] = {}
    first = (number + 1) * calls
    for name, ask in ways.items():
        items = iter(range(first, first + calls))
        cpu, began = process_time(), perf_counter()
        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(_ask_in_turn, ask, items)
        seconds = perf_counter() - began
        figures[f"{name}_cpu_ms"] = (process_time() - cpu) / calls * 1e3
        figures[f"{name}_calls_per_second"] = calls / seconds
        if name != "baseline":
            ratio = figures[f"{name}_cpu_ms"] / figures["baseline_cpu_ms"]
            figures[f"{name}_cpu_ratio"] = ratio
    return figures


async def _ask_in_turn(ask: Ask, items: Iterator[int]) -> None:
    for number in items:
        answer = await ask(f"item-{number:06}")
        if answer != number * number:
            msg = f"item {number} got the answer {answer}"
            raise ValueError(msg)


def _summary(cells: Mapping[str, list[float]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for key, values in cells.items():
        figures[key] = round(statistics.median(values), 3)
        figures[f"{key}_min"] = round(min(values), 3)
        figures[f"{key}_max"] = round(max(values), 3)
    return figures


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000, help="of each way in a round")
    parser.add_argument("--in-flight", type=_numbers, default=(1, 32, 256), help="such as 1,32,256")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


if __name__ == "__main__":
    main()
