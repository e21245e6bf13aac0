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
from astra_mcp.types import JsonObject

__all__ = ["Execution"]

_RULES = "4"
"""Of the checks in code; a change of theirs decides anew."""
_CLOSE_SECONDS: Final = 10.0
_MAX_SHOWN: Final = 600
_ERROR: Final = re.compile(
    r"\s*(?:(?:error|exception)\s*(?::|\d{3}\b|executing\b|calling\b|occurred\b)"
    r"|(?-i:[\w.]*[a-z](?:Error|Exception)):|traceback \(most recent"
    r"|http(?:/[\d.]+)?\s+(?:error\s+)?[45]\d\d\b"
    r"|failed to\s|internal server error\b|not found\W*$)",
    re.IGNORECASE,
)
"""How a text begins that tells of an error; a title such as ``Error (film, 2020)`` does not."""
_ABOUT_ERROR_WORDS = """
    error errors message msg status statusCode status_code code type title detail details reason hint path
    success ok isError is_error request_id requestId trace_id traceId timestamp
"""
_ABOUT_ERRORS: Final = frozenset(_ABOUT_ERROR_WORDS.split())
"""Members that stand beside an error and are no result of their own."""
_FAILED: Final = frozenset({"error", "failed", "failure", "fail"})
_NO_ERROR: Final = frozenset({"", "0", "false", "no", "none", "null", "ok"})
_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
_SUCCEEDED: Final = ("success", "ok", "succeeded")


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
    """True where a result that is no error by its mark says one, or says nothing."""
    if _ERROR.match(call.result):
        return True
    found: list[object] = [] if call.structured is None else [_unwrapped(call.structured)]
    with suppress(orjson.JSONDecodeError):  # a text in words
        found.append(orjson.loads(call.result) if call.result.strip() else "")
    if any(map(_is_error, found)):
        return True
    is_in_words = bool(call.result.strip()) and len(found) == (call.structured is not None)
    return not is_in_words and all(each in _EMPTY for each in found)


def _unwrapped(structured: JsonObject) -> object:
    """What a server wraps that has to give an object."""
    return structured["result"] if structured.keys() == {"result"} else structured


def _is_error(value: object) -> bool:
    """Tell whether a part of a result says an error: an object, or a list of nothing but such objects."""
    if isinstance(value, list):
        members = cast("list[object]", value)
        is_flat = bool(members) and not any(isinstance(member, list) for member in members)
        return is_flat and all(map(_is_error, members))
    if not isinstance(value, dict):
        return False
    told = cast("dict[str, object]", value)
    if any(told.get(name) is False for name in _SUCCEEDED):
        return True
    error = told.get("error")
    if isinstance(error, str):
        if error.strip().casefold() not in _NO_ERROR:
            return True
    elif error is True or (isinstance(error, dict | list) and error):
        return True
    is_alone = _ABOUT_ERRORS.issuperset(name for name, member in told.items() if member)
    has_failed = str(told.get("status")).casefold() in _FAILED
    return is_alone and (has_failed or bool(told.get("errors")))


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
