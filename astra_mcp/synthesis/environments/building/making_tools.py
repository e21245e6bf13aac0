"""The fifth stage: each sub-question that needs a tool gets one (ASTRA sec. 2.2.3, prompt 4 of A.3).

Document, complexity scaling, call, code, a run in the sandbox; where that fails, again from the call, and
after several times from the document. The sub-questions of an instance are worked on at once.
"""

from dataclasses import dataclass, field
from functools import partial

from pydantic import Field, JsonValue

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.environments.asking import ask, stage_version
from astra_mcp.synthesis.environments.building.tool import (
    Attempt,
    BuildAttempts,
    Built,
    SolvingCall,
    Tool,
    ToolDocument,
    step_of,
)
from astra_mcp.synthesis.environments.building.trial import trial_complaint
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import JsonObject

__all__ = ["ToolSynthesis"]

_MAX_AT_ONCE = 20
_MAX_TOLD = 3
"""Complaints that a model is told: the last ones."""
_PROMPTS = ("tool_document", "scaling", "call", "implementation")


class _Call(FreeAnswer):
    arguments: JsonObject
    sources: dict[str, tuple[str | int, ...]] = Field(
        default_factory=dict[str, tuple[str | int, ...]]
    )


class _Module(FreeAnswer):
    code: str
    neighbours: dict[str, tuple[JsonValue, ...]] = Field(
        default_factory=dict[str, tuple[JsonValue, ...]]
    )


@dataclass(slots=True)
class _Tried:
    """What was tried for one sub-question."""

    sub: int
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    tool: Tool | None = None

    @property
    def complaints(self) -> list[str]:
        return [attempt.complaint for attempt in self.attempts[-_MAX_TOLD:]]

    def fail(self, complaint: str) -> None:
        self.attempts.append(
            Attempt(step="implement", sub_questions=(self.sub,), complaint=complaint)
        )


@dataclass(frozen=True, slots=True)
class ToolSynthesis:
    """Builds the tools of an instance, all of them or none."""

    model: Asks
    name_of_model: str
    sandbox: Sandbox
    attempts: BuildAttempts
    name = "build"
    takes = Instance

    @property
    def version(self) -> str:
        """Of the prompts, the model and the numbers of attempts."""
        return stage_version(*_PROMPTS, model=self.name_of_model, attempts=self.attempts)

    async def run(self, item: Item[Instance]) -> Made[Built] | Rejected:
        """Build for one instance."""
        instance = item.value
        wanted = [sub.id for sub in instance.sub_questions if sub.needs_tool]
        tried = await map_concurrently(partial(self._try, instance), wanted, limit=_MAX_AT_ONCE)
        attempts = tuple(attempt for each in tried for attempt in each.attempts)
        failed = [each for each in tried if each.tool is None]
        if failed:
            last = failed[0].attempts[-1].complaint
            detail = f"no tool for sub-question {failed[0].sub} in {len(attempts)} attempts: {last}"
            return Rejected("no_implementation", detail)
        tools = tuple(each.tool for each in tried if each.tool is not None)
        built = Built(instance=instance, tools=tools, attempts=attempts)
        return Made.of(Item(id=item.id, value=built))

    async def _try(self, instance: Instance, sub: int) -> _Tried:
        tried = _Tried(sub)
        for outer in range(self.attempts.outer):
            document = await self._document(instance, tried, outer)
            for inner in range(self.attempts.inner):
                sample = outer * self.attempts.inner + inner
                tool = await self._implement(instance, document, tried, sample)
                complaint = await trial_complaint(self.sandbox, instance, tool)
                if complaint is None:
                    tried.tool = tool
                    return tried
                tried.fail(complaint)
        return tried

    async def _document(self, instance: Instance, tried: _Tried, sample: int) -> ToolDocument:
        step = step_of(instance, tried.sub)
        plain = await ask(
            self.model,
            "tool_document",
            ToolDocument,
            sample=sample,
            document=step,
            complaints=tried.complaints,
        )
        return await ask(
            self.model,
            "scaling",
            ToolDocument,
            sample=sample,
            document=plain.model_dump(mode="json"),
            step=step,
        )

    async def _implement(
        self, instance: Instance, document: ToolDocument, tried: _Tried, sample: int
    ) -> Tool:
        shown, complaints = document.model_dump(mode="json"), tried.complaints
        call = await ask(
            self.model,
            "call",
            _Call,
            sample=sample,
            step=step_of(instance, tried.sub, has_answer=False),
            document=shown,
            complaints=complaints,
        )
        module = await ask(
            self.model,
            "implementation",
            _Module,
            sample=sample,
            step=step_of(instance, tried.sub),
            document=shown,
            call=call.model_dump(mode="json"),
            complaints=complaints,
        )
        solving = SolvingCall(solves=tried.sub, **dict(call), neighbours=module.neighbours)
        return Tool(document=document, code=module.code, calls=(solving,))
