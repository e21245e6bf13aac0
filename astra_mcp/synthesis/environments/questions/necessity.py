"""The third stage: which sub-questions need a tool; only leaves may do without one (ASTRA sec. 2.2.2)."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, incomplete
from astra_mcp.synthesis.environments.asking import ask, stage_version
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import JsonObject

__all__ = ["ToolNecessity"]


class _Need(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    reason: str = ""
    needs_tool: bool


class _Needs(BaseModel):
    model_config = ConfigDict(frozen=True)

    steps: tuple[_Need, ...]


@dataclass(frozen=True, slots=True)
class ToolNecessity:
    """Marks the sub-questions that need a tool.

    Leaves that need one get one. Read literally, the paper skips all leaves, which would leave single-hop
    instances, 17 % of its data, without any tool.
    """

    model: Asks
    name_of_model: str
    name = "necessity"
    takes = Instance

    @property
    def version(self) -> str:
        """Of the prompt and the model."""
        return stage_version("necessity", model=self.name_of_model)

    async def run(self, item: Item[Instance]) -> Made[Instance] | Rejected:
        """Ask of one instance."""
        instance = item.value
        needs = await self._ask(instance)
        needed = {d for sub in instance.sub_questions for d in sub.dependencies}
        inner = sorted(id for id in needed & needs.keys() if not needs[id])
        if inner:
            detail = f"others build on sub-questions {inner}, which need no tool"
            return Rejected("tool_free_step", detail)
        if not any(needs.values()):
            return Rejected("no_tool", "no sub-question needs a tool")
        subs = tuple(
            sub.model_copy(update={"needs_tool": needs[sub.id]}) for sub in instance.sub_questions
        )
        return Made.of(Item(id=item.id, value=instance.model_copy(update={"sub_questions": subs})))

    async def _ask(self, instance: Instance) -> dict[int, bool]:
        document: JsonObject = {
            "main_question": instance.main_question,
            "steps": [
                {"id": s.id, "question": s.question, "answer": s.answer, "needs": [*s.dependencies]}
                for s in instance.sub_questions
            ],
        }
        answer = await ask(self.model, "necessity", _Needs, document=document)
        needs = {step.id: step.needs_tool for step in answer.steps}
        missing = [sub.id for sub in instance.sub_questions if sub.id not in needs]
        if missing:
            raise incomplete("necessity", f"does not speak of {missing}")
        return {sub.id: needs[sub.id] for sub in instance.sub_questions}
