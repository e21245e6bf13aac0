"""Asking a judge about descriptions that the rule leaves open; optional, since a rule alone decides too."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, ConfigDict

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import ModelError
from astra_mcp.llm.model import Model
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.types import ToolSpec
from registry.documents.filters import Clarity, clarity_of
from registry.documents.prepared import PreparedServer, PreparedTool, with_verdicts
from registry.documents.sources import Rejection, ToolReason

__all__ = ["ask_model", "judge_server"]

_MAX_ASKED = 8
"""Tools of one server that are asked about at once; how many calls a model gets is its role's matter."""
_MAX_DESCRIPTION = 2000
"""Characters; only short descriptions are asked about."""
_MAX_PARAMETERS = 30


ClarityJudge = Callable[[ToolSpec], Awaitable[bool]]
"""Says whether a description tells what its tool does; raises a :class:`ModelError` where no verdict was to
be had."""


class _Verdict(BaseModel):
    """Whether a description tells what its tool does."""

    model_config = ConfigDict(frozen=True)

    reason: str
    is_clear: bool


async def ask_model(model: Model, tool: ToolSpec) -> bool:
    """Have a model judge one tool; a ``ClarityJudge`` once the model is given.

    Raises:
        BudgetSpentError: The budget does not allow the call.
        ModelError: No verdict was to be had.
    """
    # The schema itself would drown the description.
    document = {
        "name": tool.name,
        "description": tool.description[:_MAX_DESCRIPTION],
        "parameters": list(tool.input_schema["properties"])[:_MAX_PARAMETERS],
    }
    prompt = load_prompt("registry.intake.prompts", "clarity").render(document=document)
    return (await model.ask(prompt, _Verdict)).is_clear


async def judge_server(server: PreparedServer, judge: ClarityJudge) -> PreparedServer:
    """Ask about the tools that are kept for want of a clear verdict.

    A tool about which the judge fails stays undecided, and is not kept until the next import, which asks
    again.

    Raises:
        BudgetSpentError: No more calls may be made; the document is to be imported another time.
    """
    if server.rejection is not None:
        return server
    tools = await map_concurrently(partial(_judged, judge), server.tools, limit=_MAX_ASKED)
    return with_verdicts(server, tuple(tools))


async def _judged(judge: ClarityJudge, tool: PreparedTool) -> PreparedTool:
    if tool.rejection is not None or tool.spec is None:
        return tool
    if clarity_of(tool.spec, tool.document.name) is not Clarity.OPEN:
        return tool
    shown = repr(tool.spec.description[:60])
    try:
        if await judge(tool.spec):
            return tool
        detail = f"description: the judge finds {shown} vague"
        rejection = Rejection(ToolReason.VAGUE_DESCRIPTION, detail)
    except ModelError as error:
        rejection = Rejection(ToolReason.UNDECIDED, f"description: {shown}: {error}")
    return replace(tool, rejection=rejection)
