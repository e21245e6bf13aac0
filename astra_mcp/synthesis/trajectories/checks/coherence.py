"""The third stage: does the chain belong to the task? Source: ASTRA sec. 2.1.2, the second of two checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.checks.shown_chain import (
    chain_of,
    servers_of,
    shown_servers,
    shown_steps,
)
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import TaskDraft

__all__ = ["Coherence"]

_PROMPT = "coherence"
_MAX_AT_ONCE = 8


class _Vote(BaseModel):
    model_config = ConfigDict(frozen=True)

    reason: str = ""
    is_coherent: bool


@dataclass(frozen=True, slots=True)
class Coherence:
    """Lets tasks through that more than half of the votes find coherent; a tie does not.

    A vote that fails fails the item: a verdict of those that came would be another one than was asked for.
    """

    documents: Documents
    judge: Asks
    name_of_judge: str
    num_votes: int = 3
    name = "coherence"
    takes = TaskDraft

    def __post_init__(self) -> None:
        if self.num_votes < 1:
            msg = f"coherence is decided by at least 1 vote, not {self.num_votes}"
            raise ValueError(msg)

    @property
    def version(self) -> str:
        """Of the prompt, the judge and the number of votes."""
        return stage_version(_PROMPT, model=self.name_of_judge, votes=self.num_votes)

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Have one voted on."""
        chain = chain_of(item.value)
        servers = servers_of(chain, item.value.versions, self.documents)
        shown, steps = shown_servers(chain, servers), shown_steps(chain)

        async def vote(sample: int) -> _Vote:
            return await ask(
                self.judge,
                _PROMPT,
                _Vote,
                sample=sample,
                servers=shown,
                chain=steps,
                query=item.value.query,
            )

        votes = await map_concurrently(vote, range(self.num_votes), limit=_MAX_AT_ONCE)
        return Made.of(item) if _has_majority(votes) else _rejected(votes)


def _has_majority(votes: Sequence[_Vote]) -> bool:
    return 2 * sum(vote.is_coherent for vote in votes) > len(votes)


def _rejected(votes: Sequence[_Vote]) -> Rejected:
    against = [vote.reason.strip() or "no reason given" for vote in votes if not vote.is_coherent]
    return Rejected("incoherent", f"{len(against)} of {len(votes)}: {'; '.join(against)}")
