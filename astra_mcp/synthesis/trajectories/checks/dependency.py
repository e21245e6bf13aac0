"""The second stage: required arguments are supported by the task, or by fields of earlier results.

Source: ASTRA sec. 2.1.2, the first of two checks. Code refuses what is plain; a judge decides the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, incomplete
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.chain import Chain
from astra_mcp.synthesis.trajectories.checks.results import ResultFields, SchemaFields
from astra_mcp.synthesis.trajectories.checks.shown_chain import (
    chain_of,
    servers_of,
    shown_servers,
    shown_steps,
)
from astra_mcp.synthesis.trajectories.checks.support import Weighed, weigh
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents
from astra_mcp.synthesis.trajectories.task import TaskDraft
from astra_mcp.types import JsonValue

__all__ = ["Dependency"]

_PROMPT = "dependency"
_RULES = "3"
"""Of the checks in code; a change of theirs decides anew."""


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    reason: str = ""
    is_supported: bool


class _Verdicts(BaseModel):
    model_config = ConfigDict(frozen=True)

    verdicts: tuple[_Verdict, ...]


@dataclass(frozen=True, slots=True)
class Dependency:
    """Lets tasks through in whose chains each call can be given its required arguments."""

    documents: Documents
    judge: Asks
    name_of_judge: str
    fields: ResultFields = field(default_factory=SchemaFields)
    name = "dependency"
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the prompt, the judge, what results are known to hold, and the checks."""
        return stage_version(
            _PROMPT, model=self.name_of_judge, fields=self.fields.version, rules=_RULES
        )

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Check one."""
        chain = chain_of(item.value)
        servers = servers_of(chain, item.value.versions, self.documents)
        weighed = weigh(chain, self.documents, item.value.query, self.fields)
        for each in weighed:
            if each.fault is not None:
                return Rejected(each.fault.reason, each.fault.detail)
        undecided = [each for each in weighed if each.is_open]
        refused = (
            await self._refused(item.value.query, chain, servers, undecided) if undecided else {}
        )
        if not refused:
            return Made.of(item)
        # An id that a later step gives is what the order alone has spoilt.
        late = [each for each in undecided if each.argument.id in refused and _is_late(each)]
        reason = "wrong_order" if late else "unsupported_argument"
        return Rejected(reason, "; ".join(refused.values()))

    async def _refused(
        self,
        query: str,
        chain: Chain,
        servers: tuple[DocumentedServer, ...],
        undecided: Sequence[Weighed],
    ) -> dict[str, str]:
        """Have open arguments judged; the words are on those that nothing supports, by their ids."""
        arguments = [each.argument for each in undecided]
        shown: list[JsonValue] = [
            {"id": a.id, "step": a.step + 1, "tool": a.tool.name, "argument": a.name}
            for a in arguments
        ]
        answer = await ask(
            self.judge,
            _PROMPT,
            _Verdicts,
            servers=shown_servers(chain, servers),
            chain=shown_steps(chain),
            query=query,
            arguments=shown,
        )
        verdicts: dict[str, _Verdict] = {}
        for verdict in answer.verdicts:
            earlier = verdicts.setdefault(verdict.id.strip(), verdict)
            if earlier.is_supported != verdict.is_supported:
                raise incomplete(_PROMPT, f"contradicts itself on {verdict.id!r}")
        missing = [a.id for a in arguments if a.id not in verdicts]
        if missing:
            raise incomplete(_PROMPT, f"does not speak of {missing}")
        return {
            each.argument.id: _refusal(each, verdicts[each.argument.id].reason)
            for each in undecided
            if not verdicts[each.argument.id].is_supported
        }


def _is_late(weighed: Weighed) -> bool:
    return weighed.giver is not None and weighed.argument.is_issued


def _refusal(weighed: Weighed, reason: str) -> str:
    argument = weighed.argument
    late = f", which step {weighed.giver} finds out, after it" if _is_late(weighed) else ""
    return f"step {argument.step + 1} ({argument.tool.name}), {argument.name!r}{late}: {reason}"
