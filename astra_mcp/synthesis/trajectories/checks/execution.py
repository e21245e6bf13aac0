"""A stage that may be left out: executes the chain, and lets the task through where every call succeeds."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, cast

import anyio
import orjson

from astra_mcp.errors import AstraError, TransportError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.seeds import derive_seed
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.texts import Fault
from astra_mcp.synthesis.trajectories.asking import stage_version
from astra_mcp.synthesis.trajectories.chain import (
    ChainRun,
    ChainRunner,
    ExecutedCall,
    PlannedCall,
)
from astra_mcp.synthesis.trajectories.checks.filling import PROMPT, Blank, fill
from astra_mcp.synthesis.trajectories.checks.shown_chain import chain_of, servers_of, tools_of
from astra_mcp.synthesis.trajectories.server import Documents, shown_server
from astra_mcp.synthesis.trajectories.task import TaskDraft

__all__ = ["Execution"]

_RULES = "2"
"""Of the checks in code; a change of theirs decides anew."""
_CLOSE_SECONDS: Final = 10.0
_MAX_SHOWN: Final = 600
_ERROR: Final = re.compile(r"\s*(?:error|exception|traceback)\b\s*(?::|\(|executing|calling)", re.I)
_ABOUT_ERRORS: Final = frozenset(
    {"error", "errors", "message", "status", "statusCode", "code", "detail", "details", "success"}
)


@dataclass(frozen=True, slots=True)
class Execution:
    """Executes the chain of a task in an episode of its servers; the calls are kept in the task.

    A server, the gateway or a model that fails fails the item, which the next run tries again; a tool that
    says an error rejects it.
    """

    documents: Documents
    model: Asks
    name_of_model: str
    runner: ChainRunner
    root_seed: int = 0
    name = "execute"
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the prompt, the model, the root seed and the checks."""
        return stage_version(PROMPT, model=self.name_of_model, seed=self.root_seed, rules=_RULES)

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Execute one."""
        draft = item.value
        chain = chain_of(draft)
        servers_of(chain, draft.versions, self.documents)
        seed = derive_seed(self.root_seed, "execute", item.id) >> 1
        async with _opened(self.runner, chain.servers, seed) as run:
            executed = await self._execute(run, draft)
        if isinstance(executed, Fault):
            return Rejected(executed.reason, executed.detail)
        return Made.of(Item(id=item.id, value=draft.model_copy(update={"executed": executed})))

    async def _execute(self, run: ChainRun, draft: TaskDraft) -> tuple[ExecutedCall, ...] | Fault:
        chain = chain_of(draft)
        executed: list[ExecutedCall] = []
        for index, (step, tool) in enumerate(
            zip(chain.steps, tools_of(chain, self.documents), strict=True)
        ):
            blank = Blank(
                query=draft.query,
                chain=chain,
                index=index,
                tool=tool,
                shown_tool=shown_server(self.documents[step.server], [step.tool]),
                earlier=executed,
            )
            arguments = await fill(self.model, blank)
            if isinstance(arguments, Fault):
                return arguments
            call = await run.call(PlannedCall(step=step, arguments=arguments))
            if call.is_error or _says_error(call):
                words = call.result.strip()[:_MAX_SHOWN] or "it gave no words"
                return Fault("call_failed", f"step {index + 1} ({step.tool}): {words}")
            executed.append(call)
        return tuple(executed)


def _says_error(call: ExecutedCall) -> bool:
    """True where a result that is no error by its mark says nothing but one."""
    if _ERROR.match(call.result):
        return True
    try:
        found = call.structured or orjson.loads(call.result)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(found, dict):
        return False
    told = cast("dict[str, object]", found)
    return bool(told.get("error") or told.get("errors")) and _ABOUT_ERRORS.issuperset(told)


@asynccontextmanager
async def _opened(
    runner: ChainRunner, servers: tuple[str, ...], seed: int
) -> AsyncGenerator[ChainRun]:
    """Own an episode while the context is open; it is closed also where the work is cancelled."""
    run = await runner.open(servers, seed=seed)
    try:
        yield run
    except BaseException:
        with suppress(AstraError):  # what went wrong first is the cause
            await _close(run)
        raise
    await _close(run)


async def _close(run: ChainRun) -> None:
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
        await run.aclose()
        return
    raise TransportError(f"the gateway did not close an episode within {_CLOSE_SECONDS:g} s")
