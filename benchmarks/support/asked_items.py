"""A pipeline whose one stage asks a model about every item; as a program, in a process of its own.

    python asked_items.py OPTIONS_AS_JSON

Prints the run's table and its processor time as one JSON line, also where a signal stops it (exit code 130).
"""

import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self, cast

import anyio
from anyio.abc import ByteReceiveStream, Process
from pydantic import BaseModel, ConfigDict
from sqlalchemy import func, select

from astra_mcp.addresses import run_until_stopped
from astra_mcp.llm.config import ModelConfig, Role
from astra_mcp.llm.model import Model, open_model
from astra_mcp.llm.usage import Budget
from astra_mcp.pipeline import (
    Made,
    Outcome,
    Progress,
    StageLimits,
    StoredItem,
    Tally,
    YieldTable,
    run_pipeline,
)
from astra_mcp.types import JsonObject
from registry.store.completions import DatabaseCompletionCache
from registry.store.database import open_database
from registry.store.items import DatabaseItemStore
from registry.store.tables import CompletionRow, table_of

from completions_process import variables
from square_model import Square, question

__all__ = ["STAGE", "Asked", "AskingStage", "items", "open_program", "read_table"]

STAGE = "ask"
_STOPPED = 130


class AskingStage:
    """Asks once for each item."""

    name = STAGE
    version = "1"
    takes: type[JsonObject] = dict

    def __init__(self, model: Model) -> None:
        self._model = model

    async def run(self, item: StoredItem) -> Made[JsonObject]:
        """Ask, and see that the answer is this item's."""
        answer = await self._model.ask(question(item.id), Square)
        if answer != Square(item=item.id, square=int(str(item.value["number"])) ** 2):
            msg = f"{item.id} got the answer of another question: {answer}"
            raise ValueError(msg)
        return Made.of(StoredItem(id=f"{item.id}/square", value={"square": answer.square}))


class Asked(BaseModel):
    """One run of the pipeline."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    database: str
    """URL of outcomes and cached answers."""
    num_items: int
    run: str = "squares"
    concurrency: int = 256
    timeout_seconds: float = 10.0
    max_calls: int | None = None
    max_cost: float | None = None

    async def play(self, hear: Callable[[Progress], None] | None = None) -> YieldTable:
        """Run it to its end."""
        config = ModelConfig(
            model="scripted",
            base_url=self.base_url,
            timeout_seconds=self.timeout_seconds,
            max_concurrency=self.concurrency,
            prompt_price=0.0,
            completion_price=1e6,
        )
        limits = StageLimits(concurrency=self.concurrency)
        async with AsyncExitStack() as opened:
            database = await opened.enter_async_context(open_database(self.database))
            model = await opened.enter_async_context(
                open_model(
                    Role.GENERATOR,
                    config,
                    cache=DatabaseCompletionCache(database),
                    budget=Budget(self.max_calls, self.max_cost),
                )
            )
            stages = [AskingStage(model)]
            store = DatabaseItemStore(database)
            return await run_pipeline(
                self.run, stages, items(self.num_items), store, limits=limits, hear=hear
            )

    async def outcomes(self) -> list[Outcome]:
        """What the database holds of the run."""
        async with open_database(self.database) as database:
            store = DatabaseItemStore(database)
            found = [await store.find(self.run, STAGE, item.id) for item in items(self.num_items)]
        return [outcome for outcome in found if outcome is not None]

    async def num_cached(self) -> int:
        """How many answers of the model the database holds."""
        counting = select(func.count()).select_from(table_of(CompletionRow))
        async with open_database(self.database) as database:
            return await database.read(lambda session: session.execute(counting).scalar_one())

    def but(self, **changes: object) -> Self:
        """The same run with other options."""
        return self.model_validate({**self.model_dump(), **changes})


def items(num_items: int) -> Sequence[StoredItem]:
    """Items ``item-00000``, ``item-00001`` and so on."""
    return [StoredItem(id=f"item-{n:05}", value={"number": n}) for n in range(num_items)]


@asynccontextmanager
async def open_program(asked: Asked) -> AsyncGenerator[Process]:
    """Play a run in a process of its own."""
    async with await anyio.open_process(
        [sys.executable, "-P", __file__, asked.model_dump_json()],
        env=variables(),
        stdin=subprocess.DEVNULL,
        stderr=None,
    ) as process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def read_table(process: Process) -> dict[str, Any]:
    """What the process prints in the end."""
    printed = cast("ByteReceiveStream", process.stdout)
    return json.loads(b"".join([piece async for piece in printed]))


async def _main() -> int:
    asked = Asked.model_validate_json(sys.argv[1])
    tally = Tally([STAGE])

    async def play() -> None:
        await asked.play(tally.hear)

    began = time.process_time()
    stopped_by = await run_until_stopped(play)
    table = {**tally.table().as_json(), "cpu_seconds": time.process_time() - began}
    sys.stdout.write(json.dumps(table) + "\n")
    return 0 if stopped_by is None else _STOPPED


if __name__ == "__main__":
    sys.exit(anyio.run(_main, backend_options={"use_uvloop": True}))
