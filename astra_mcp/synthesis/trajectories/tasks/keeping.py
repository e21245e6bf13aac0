"""What a variation has to keep: something new to say, the values, the language, the intent.

Source: ASTRA sec. 2.1.3: lang of a variation is that of its original, and so are intent and logical
requirements. Originals pass all of it without a call.
"""

from dataclasses import dataclass, field
from typing import Final

from pydantic import ConfigDict, Field

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.checks.query import query_faults
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import Axis, TaskDraft, task_id
from astra_mcp.synthesis.trajectories.tasks.augmenting import WrittenVariation
from astra_mcp.synthesis.trajectories.tasks.details import lost_details, lost_values
from astra_mcp.synthesis.trajectories.tasks.shown_tools import servers_of
from astra_mcp.text.language import language_of

__all__ = ["IntentJudge", "SameLanguage", "VariationGate"]

_RULES: Final = "2"
"""Of the checks in code; a change of theirs decides anew."""
_PROMPT: Final = "intent"
_MAX_TOLD: Final = 80
"""Characters of a value that a message tells."""


@dataclass(frozen=True, slots=True)
class VariationGate:
    """Lets variations through that say something new and keep the values that the calls took."""

    documents: Documents = field(repr=False)
    name = "variation"
    takes = WrittenVariation

    @property
    def version(self) -> str:
        """Of the rules."""
        return stage_version(rules=_RULES)

    async def run(self, item: Item[WrittenVariation]) -> Made[TaskDraft] | Rejected:
        """Judge one; an original goes on as it came."""
        written, original = item.value, item.value.original
        if written.axis is Axis.ORIGINAL:
            return Made.of(Item(id=item.id, value=original))
        refused = self._refusal(written)
        if refused is not None:
            return refused
        varied = {
            "query": written.query,
            "language": original.language or language_of([original.query]),
            "axis": written.axis,
            "parent": task_id(original.servers, original.query),
            "original": original.query,
            "persona": written.persona,
        }
        return Made.of(Item(id=item.id, value=original.model_copy(update=varied)))

    def _refusal(self, written: WrittenVariation) -> Rejected | None:
        """Why a variation is refused: the first reason that there is."""
        original = written.original
        if not written.query:
            return Rejected("no_query", "the query is empty")
        if written.repeats is not None:
            return Rejected("unchanged", f"it says what {written.repeats} says")
        servers = servers_of(original, self.documents)
        names = [tool.name for server in servers for tool in server.tools]
        fault = next(query_faults(written.query, tools=names, language=None), None)
        if fault is not None:
            return Rejected(fault.reason, fault.detail)
        lost = lost_values(original.executed, self.documents, original.query, written.query)
        value = next(lost, None)
        if value is None:
            return None
        told = f"{value[:_MAX_TOLD]!r}, which a call of its chain took from the original"
        return Rejected("lost_detail", f"it does not tell {told}")


@dataclass(frozen=True, slots=True)
class SameLanguage:
    """Lets variations through that are in the language of their original."""

    name = "language"
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the rules."""
        return stage_version(rules=_RULES)

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Judge one; a text that is too short to be told is in any language."""
        draft = item.value
        if draft.original is not None:
            wanted = draft.language or language_of([draft.original])
            found = language_of([draft.query])
            if None not in (wanted, found) and found != wanted:
                return Rejected("other_language", f"it is in {found!r}, its original in {wanted!r}")
        return Made.of(item)


class _Verdict(FreeAnswer):
    model_config = ConfigDict(extra="ignore")

    reason: str = ""
    keeps_intent: bool = Field(strict=True)


@dataclass(frozen=True, slots=True)
class IntentJudge:
    """Lets variations through that want what their original wants."""

    judge: Asks
    name_of_model: str
    name = "intent"
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the prompt and the judge."""
        return stage_version(_PROMPT, model=self.name_of_model)

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Have one judged."""
        draft = item.value
        if draft.original is None:
            return Made.of(item)
        verdict = await ask(
            self.judge,
            _PROMPT,
            _Verdict,
            may_add=draft.axis is Axis.COMPLEXITY,
            original=draft.original,
            variation=draft.query,
            details=[*lost_details(draft.original, draft.query)],
        )
        if not verdict.keeps_intent:
            return Rejected("other_intent", verdict.reason or "the judge says so, and not why")
        return Made.of(item)
