"""The seventh stage: the acceptance decides, and its messages are what the model mends the tools by."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.errors import BundleError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.environments.asking import ask, stage_version
from astra_mcp.synthesis.environments.building.assembly import assemble, of_own_modules
from astra_mcp.synthesis.environments.building.tool import (
    Attempt,
    BuildAttempts,
    Built,
    SolvingCall,
    Tool,
    ToolDocument,
    steps_of,
)
from astra_mcp.synthesis.environments.building.trial import trial_complaint
from astra_mcp.synthesis.environments.publication import Acceptance
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import FrozenModel

__all__ = ["Accepting", "Refused"]

_DOCUMENT = "document"
_MAX_TOLD = 8
"""Complaints of one refusal that a model is told."""


class _Repaired(FrozenModel):
    document: ToolDocument
    code: str
    calls: tuple[SolvingCall, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why tools are refused."""

    reason: str
    """Name of the first check."""
    complaints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Accepting:
    """Lets environments through that pass, as they are or after repair."""

    model: Asks
    name_of_model: str
    sandbox: Sandbox
    acceptance: Acceptance
    acceptance_version: str
    attempts: BuildAttempts
    name = "accept"
    takes = Built

    @property
    def version(self) -> str:
        """Of the prompt, the model, the acceptance and the numbers of attempts."""
        return stage_version(
            "repair",
            model=self.name_of_model,
            acceptance=self.acceptance_version,
            attempts=self.attempts,
        )

    async def run(self, item: Item[Built]) -> Made[Built] | Rejected:
        """Examine one, and have it repaired as often as may be."""
        built = item.value
        refused = await self.examine(built)
        for round in range(self.attempts.outer):
            if refused is None:
                return Made.of(Item(id=item.id, value=built))
            built = await self.repair(built, refused.complaints, sample=round)
            refused = await self.examine(built)
        if refused is None:
            return Made.of(Item(id=item.id, value=built))
        return Rejected(refused.reason, "; ".join(refused.complaints))

    async def examine(self, built: Built) -> Refused | None:
        """Run the acceptance."""
        try:
            bundle = assemble(built)
        except BundleError as error:
            return Refused(_DOCUMENT, (str(error),))
        failed = await self.acceptance(bundle)
        if not failed:
            return None
        told = [of_own_modules(built, str(each)) for each in failed[:_MAX_TOLD]]
        return Refused(failed[0].check.value, tuple(told))

    async def repair(
        self,
        built: Built,
        complaints: Sequence[str],
        *,
        sample: int,
        step: str = "accept",
        only: str | None = None,
    ) -> Built:
        """Have tools mended.

        Args:
            built: Whose tools.
            complaints: What the model is told.
            sample: Another number asks anew.
            step: That the attempts are noted under.
            only: The tool that is to be mended; without it those that complaints name, or else all.
        """
        named = [t for t in built.tools if _is_named(t.document.name, complaints, only)]
        attempts = [
            Attempt(step=step, sub_questions=t.solves, complaint=" ".join(complaints))
            for t in named or built.tools
        ]
        tools: list[Tool] = []
        for tool in built.tools:
            if tool in (named or built.tools):
                tools.append(await self._mend(built.instance, tool, complaints, sample, attempts))
            else:
                tools.append(tool)
        return built.model_copy(update={"tools": tuple(tools)}).told(attempts)

    async def _mend(
        self,
        instance: Instance,
        tool: Tool,
        complaints: Sequence[str],
        sample: int,
        attempts: list[Attempt],
    ) -> Tool:
        """Have one tool mended; it stays as it is where no attempt runs."""
        told = [*complaints]
        for inner in range(self.attempts.inner):
            answer = await ask(
                self.model,
                "repair",
                _Repaired,
                sample=sample * self.attempts.inner + inner,
                tool=steps_of(instance, tool),
                complaints=told,
            )
            mended = Tool(
                document=answer.document.model_copy(update={"name": tool.document.name}),
                code=answer.code,
                calls=answer.calls,
            )
            if sorted(mended.solves) != sorted(tool.solves):
                complaint = f"calls solve {mended.solves}; they have to solve {tool.solves}"
            else:
                complaint = await trial_complaint(self.sandbox, instance, mended)
            if complaint is None:
                return mended
            told = [*complaints, complaint]
            step = attempts[0].step
            attempts.append(Attempt(step=step, sub_questions=tool.solves, complaint=complaint))
        return tool


def _is_named(tool: str, complaints: Sequence[str], only: str | None) -> bool:
    return tool == only if only is not None else any(tool in c for c in complaints)
