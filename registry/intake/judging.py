"""Asking a judge about descriptions that the rule leaves open; optional, since a rule alone decides too."""

from dataclasses import replace
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import ModelError
from astra_mcp.llm.model import Model
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.types import ToolSpec
from registry.documents.filters import Clarity, clarity_of
from registry.documents.prepared import PreparedServer, PreparedTool, with_verdicts
from registry.documents.sources import Rejection, ToolReason

__all__ = ["ClarityJudge", "ModelJudge", "judge_server"]

_MAX_ASKED = 8
"""Tools of one server that are asked about at once; how many calls a model gets is its role's matter."""
_MAX_DESCRIPTION = 2000
"""Characters; only short descriptions and page headings are asked about."""
_MAX_PARAMETERS = 30


class ClarityJudge(Protocol):
    """Says whether a description tells what its tool does."""

    async def is_clear(self, tool: ToolSpec) -> bool:
        """Judge one tool.

        Raises:
            ModelError: No verdict was to be had.
        """
        ...


class _Verdict(BaseModel):
    """Whether a description tells what its tool does."""

    model_config = ConfigDict(frozen=True)

    reason: str
    is_clear: bool


class ModelJudge:
    """Asks a model; satisfies ``ClarityJudge``."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def is_clear(self, tool: ToolSpec) -> bool:
        """Judge one tool.

        Raises:
            BudgetSpentError: The budget does not allow the call.
            ModelError: No verdict was to be had.
        """
        prompt = load_prompt("registry.intake.prompts", "clarity").render(document=_document(tool))
        return (await self._model.ask(prompt, _Verdict)).is_clear


async def judge_server(server: PreparedServer, judge: ClarityJudge) -> PreparedServer:
    """Ask about the tools that are kept for want of a clear verdict.

    A tool about which the judge fails stays undecided, and is not kept until the next import, which asks
    again.

    Raises:
        BudgetSpentError: No more calls may be made; the document is to be imported another time.
    """
    if server.rejection is not None:
        return server
    tools = await map_concurrently(
        lambda tool: _judged(tool, judge), server.tools, limit=_MAX_ASKED
    )
    return with_verdicts(server, tuple(tools))


async def _judged(tool: PreparedTool, judge: ClarityJudge) -> PreparedTool:
    if tool.rejection is not None or tool.spec is None:
        return tool
    if clarity_of(tool.spec, tool.document.name) is not Clarity.OPEN:
        return tool
    shown = repr(tool.spec.description[:60])
    try:
        is_clear = await judge.is_clear(tool.spec)
    except ModelError as error:
        undecided = Rejection(ToolReason.UNDECIDED, f"description: {shown}: {error}")
        return replace(tool, rejection=undecided)
    if is_clear:
        return tool
    vague = Rejection(ToolReason.VAGUE_DESCRIPTION, f"description: the judge finds {shown} vague")
    return replace(tool, rejection=vague)


def _document(tool: ToolSpec) -> dict[str, object]:
    """What the verdict rests on: the schema itself would drown the description."""
    names = list(tool.input_schema["properties"])
    return {
        "name": tool.name,
        "description": tool.description[:_MAX_DESCRIPTION],
        "parameters": names[:_MAX_PARAMETERS],
    }
