"""A model as the judge of descriptions."""

from pydantic import BaseModel, ConfigDict

from astra_mcp.llm.model import Model
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.types import ToolSpec

__all__ = ["ModelJudge"]

_MAX_DESCRIPTION = 2000
"""Characters; only short descriptions and page headings are asked about."""
_MAX_PARAMETERS = 30


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


def _document(tool: ToolSpec) -> dict[str, object]:
    """What the verdict rests on: the schema itself would drown the description."""
    names = list(tool.input_schema["properties"])
    return {
        "name": tool.name,
        "description": tool.description[:_MAX_DESCRIPTION],
        "parameters": names[:_MAX_PARAMETERS],
    }
