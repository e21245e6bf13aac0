"""Without the topology gate, what it would refuse goes on as far as it can, and never stops a run."""

from typing import TypeVar

from pydantic import BaseModel

from astra_mcp.llm.prompt import Prompt
from astra_mcp.pipeline import Item, Made
from astra_mcp.synthesis.environments.building.tool import step_of
from astra_mcp.synthesis.environments.questions.instance import Instance, SubQuestion
from astra_mcp.synthesis.environments.questions.necessity import ToolNecessity

AnswerT = TypeVar("AnswerT", bound=BaseModel)


class AlwaysNeeded:
    """A judge that finds a tool needed in step 1."""

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        return answer.model_validate({"steps": [{"id": 1, "needs_tool": True}]})


async def test_a_dependency_that_is_not_there_stops_neither_necessity_nor_building() -> None:
    lost = SubQuestion(id=1, question="Who runs it?", answer="Orla Quist", dependencies=(7,))
    instance = Instance(sub_questions=(lost,), source="s", writer="invented", language="en")
    made = await ToolNecessity(AlwaysNeeded(), "invented").run(Item(id="s/1", value=instance))
    assert isinstance(made, Made)
    assert step_of(instance, 1)["known_answers"] == []
