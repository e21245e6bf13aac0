"""Chains executed behind a gateway: a user who says every free argument, and a model that copies it."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel

from astra_mcp.answers import match_in_slices
from astra_mcp.errors import UpstreamError
from astra_mcp.llm.prompt import Prompt
from astra_mcp.pipeline import Item, Rejected
from astra_mcp.schemas import SchemaError
from astra_mcp.synthesis.trajectories.chain import ChainRunner, ExecutedCall, FoundChain, Join
from astra_mcp.synthesis.trajectories.checks.execution import Execution
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import TaskDraft, TaskOrigin
from astra_mcp.types import JsonObject, canonical_json
from astra_mcp.values.scalars import NoValueError
from astra_mcp.values.schema_values import ValueMaker

__all__ = ["ChainOutcome", "Copyist", "execute_chains", "joins_that_are_not_kept", "shown"]

_LINE = re.compile(r"^For (\S+) of (\S+): (\{.*\})$", re.MULTILINE)
_MAX_SHOWN = 60
_TAG = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.DOTALL)


class Copyist:
    """Writes the arguments that the query says, and nothing else; satisfies ``Asks``."""

    async def ask(self, prompt: Prompt, answer: type[BaseModel], *, sample: int = 0) -> Any:
        """Copy the arguments of the call that the prompt is about."""
        del sample
        assert str(prompt.messages[0]["content"]).startswith('Prompt "step_arguments"')
        parts = dict(_TAG.findall(str(prompt.messages[1]["content"])))
        document = json.loads(parts["tool"])
        (tool,) = document["tools"]
        told = {(owner, name): text for name, owner, text in _LINE.findall(parts["query"])}
        arguments = json.loads(told[document["server"], tool["name"]])
        taken = {*json.loads(parts["given"]), *arguments}
        required = tool["parameters"].get("required", [])
        missing = [name for name in required if name not in taken]
        return answer.model_validate({"arguments": arguments, "missing": missing})


@dataclass(frozen=True)
class ChainOutcome:
    """What became of one chain."""

    found: FoundChain
    executed: tuple[ExecutedCall, ...] = ()
    fault: str = ""
    detail: str = ""


async def execute_chains(
    documents: Documents,
    chains: Sequence[FoundChain],
    runner: ChainRunner,
    *,
    wanted: int,
    seed: int,
) -> list[ChainOutcome]:
    """Execute chains in their order, until enough of them succeeded."""
    stage = Execution(documents, Copyist(), "copyist", runner, seed)
    outcomes: list[ChainOutcome] = []
    for number, found in enumerate(chains):
        outcomes.append(await _execute(stage, number, found, seed))
        if sum(not outcome.fault for outcome in outcomes) == wanted:
            break
    return outcomes


async def _execute(stage: Execution, number: int, found: FoundChain, seed: int) -> ChainOutcome:
    try:
        query = _query(stage.documents, found, seed + number)
    except (NoValueError, SchemaError) as error:
        return ChainOutcome(found, fault="no_arguments", detail=str(error))
    draft = TaskDraft(
        servers=found.chain.servers,
        versions=found.versions,
        origin=TaskOrigin.CHAIN,
        query=query,
        chain=found.chain,
    )
    try:
        made = await stage.run(Item(id=f"chain-{number}", value=draft))
    except UpstreamError as error:
        return ChainOutcome(found, fault="server_failed", detail=str(error))
    if isinstance(made, Rejected):
        return ChainOutcome(found, fault=made.reason, detail=made.detail)
    return ChainOutcome(found, executed=made.outputs[0].value.executed)


def _query(documents: Documents, found: FoundChain, seed: int) -> str:
    """Say the arguments of all steps that no join gives."""
    lines: list[str] = []
    for number, step in enumerate(found.chain.steps):
        tool = documents[step.server].tool(step.tool)
        assert tool is not None
        joined = {join.argument for join in found.chain.joins if join.target == number}
        drawn = ValueMaker(tool.input_schema).make(seed, language="en", share=0)
        free = {n: v for n, v in cast("JsonObject", drawn).items() if n not in joined}
        lines.append(f"For {step.tool} of {step.server}: {canonical_json(free).decode()}")
    return "\n".join(lines)


async def joins_that_are_not_kept(outcome: ChainOutcome) -> list[str]:
    """Name the joins whose argument has a value that the result of their source does not tell."""
    lost: list[str] = []
    for join in outcome.found.chain.joins:
        value = outcome.executed[join.target].arguments[join.argument]
        (said,) = value if isinstance(value, list) else [value]
        source = outcome.executed[join.source]
        texts = [source.result, canonical_json(source.structured or {}).decode()]
        wanted = {str(said)}
        found = [(await match_in_slices(text, wanted)).found for text in texts]
        if not any(found):
            lost.append(f"{join.field} -> {join.argument}: {said!r}")
    return lost


def shown(outcome: ChainOutcome) -> str:
    """Say in one line which tools follow which, and by which values."""
    chain = outcome.found.chain
    steps = " > ".join(f"{step.server}/{step.tool}" for step in chain.steps)
    joins = (
        f"{join.source + 1}.{join.field} = {join.target + 1}.{join.argument}{_value(outcome, join)}"
        for join in chain.joins
    )
    return f"{steps} | {'; '.join(joins)}"


def _value(outcome: ChainOutcome, join: Join) -> str:
    if outcome.fault:
        return ""
    value = outcome.executed[join.target].arguments[join.argument]
    return f": {canonical_json(value).decode()[:_MAX_SHOWN]}"
