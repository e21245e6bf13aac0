"""The sixth stage: homogeneous sub-questions share one tool. Source: ASTRA sec. 2.2.4, eq. (22)."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field, JsonValue

from astra_mcp.pipeline import Item, Made
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.seeds import generator
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.environments.asking import ask, stage_version
from astra_mcp.synthesis.environments.building.tool import (
    Attempt,
    Built,
    SolvingCall,
    Tool,
    step_of,
    steps_of,
)
from astra_mcp.synthesis.environments.building.trial import trial_complaint
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import FrozenModel, JsonObject

__all__ = ["Merging"]

_MAX_INSERTIONS = 3
"""Attempts to insert one sub-question."""


class _Groups(FrozenModel):
    groups: tuple[tuple[int, ...], ...]


class _Insertion(FreeAnswer):
    input_schema: JsonObject
    code: str
    arguments: JsonObject
    sources: dict[str, tuple[str | int, ...]] = Field(
        default_factory=dict[str, tuple[str | int, ...]]
    )
    neighbours: dict[str, tuple[JsonValue, ...]] = Field(
        default_factory=dict[str, tuple[JsonValue, ...]]
    )


@dataclass(frozen=True, slots=True)
class Merging:
    """Joins the tools of each group by extending the data of one of them.

    The base is drawn by the seed; the others are inserted one by one, and after each insertion every call of
    the tool is executed again. What cannot be inserted keeps its own tool: the group is split.
    """

    model: Asks
    name_of_model: str
    sandbox: Sandbox
    seed: int = 0
    name = "merge"
    takes = Built

    @property
    def version(self) -> str:
        """Of the prompts, the model and the seed."""
        return stage_version("groups", "insertion", model=self.name_of_model, seed=self.seed)

    async def run(self, item: Item[Built]) -> Made[Built]:
        """Merge the tools of one instance."""
        built = item.value
        tools = {tool.solves[0]: tool for tool in built.tools}
        failed: list[Attempt] = []
        for group in await self._groups(built) if len(tools) > 1 else ():
            base = generator(self.seed, "merge", item.id, *group).choice(group)
            for member in group:
                if member == base:
                    continue
                merged = await self._insert(built.instance, tools[base], member, failed)
                if merged is not None:
                    tools[base] = merged
                    del tools[member]
        merged = built.model_copy(update={"tools": tuple(tools.values())}).told(failed)
        return Made.of(Item(id=item.id, value=merged))

    async def _groups(self, built: Built) -> Sequence[tuple[int, ...]]:
        """The groups that the model finds, as far as they are of sub-questions with tools, each in one."""
        document: list[JsonObject] = [
            {
                "id": tool.solves[0],
                "question": built.instance.sub(tool.solves[0]).question,
                "tool": tool.document.description,
                "parameters": [*tool.document.roles],
            }
            for tool in built.tools
        ]
        answer = await ask(self.model, "groups", _Groups, document=document)
        left = {tool.solves[0] for tool in built.tools}
        found: list[tuple[int, ...]] = []
        for group in answer.groups:
            members = tuple(sorted(left & {*group}))
            if len(members) > 1:
                found.append(members)
                left -= {*members}
        return found

    async def _insert(
        self, instance: Instance, tool: Tool, member: int, failed: list[Attempt]
    ) -> Tool | None:
        complaints: list[str] = []
        for sample in range(_MAX_INSERTIONS):
            answer = await ask(
                self.model,
                "insertion",
                _Insertion,
                sample=sample,
                tool=steps_of(instance, tool),
                step=step_of(instance, member),
                complaints=complaints,
            )
            extended = _extended(tool, member, answer)
            complaint = _schema_complaint(tool, extended)
            complaint = complaint or await trial_complaint(self.sandbox, instance, extended)
            if complaint is None:
                return extended
            complaints.append(complaint)
            subs = (*tool.solves, member)
            failed.append(Attempt(step="merge", sub_questions=subs, complaint=complaint))
        return None


def _schema_complaint(tool: Tool, extended: Tool) -> str | None:
    """The base's parameters stay, for what others call it with has to go on to mean the same."""
    if _is_widened(tool.document.input_schema, extended.document.input_schema):
        return None
    return (
        "the input_schema is another one: keep it as it is, but for what an enum needs in addition"
    )


def _is_widened(old: JsonValue, new: JsonValue) -> bool:
    """True where two schemas are equal, but for members that were added to an enum."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old == new
    return old.keys() == new.keys() and all(
        all(member in added for member in value)
        if name == "enum" and isinstance(value, list) and isinstance(added := new[name], list)
        else _is_widened(value, new[name])
        for name, value in old.items()
    )


def _extended(tool: Tool, member: int, answer: _Insertion) -> Tool:
    call = SolvingCall(
        solves=member,
        arguments=answer.arguments,
        sources=answer.sources,
        neighbours=answer.neighbours,
    )
    document = tool.document.model_copy(update={"input_schema": answer.input_schema})
    return Tool(document=document, code=answer.code, calls=(*tool.calls, call))
