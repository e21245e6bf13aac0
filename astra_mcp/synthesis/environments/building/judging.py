"""The eighth stage: the acceptance's second tier, a model's votes on what code cannot decide."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.judgement import Judgement
from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.environments.asking import stage_version
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.tool import Built

__all__ = ["Judging"]


@dataclass(frozen=True, slots=True)
class Judging:
    """Lets environments through against which no question is decided; unscored ones fail."""

    judge: Callable[[Bundle], Awaitable[Sequence[Judgement]]]
    name_of_model: str
    num_votes: int = 3
    name = "judge"
    takes = Built

    @property
    def version(self) -> str:
        """Of the judge and the number of votes."""
        return stage_version(model=self.name_of_model, votes=self.num_votes)

    async def run(self, item: Item[Built]) -> Made[Built] | Rejected:
        """Have one judged."""
        return await self.objection(item.value) or Made.of(item)

    async def objection(self, built: Built) -> Rejected | None:
        """What is decided against one; None where nothing is."""
        for judgement in await self.judge(assemble(built)):
            if judgement.verdict is True:
                continue
            failed = [vote for vote in judgement.votes if vote.answer is None]
            if judgement.verdict is None and failed:
                raise ModelError(
                    f"the judge left {judgement.question} open: {failed[0].reason}",
                    ModelFault.INVALID,
                )
            reasons = "; ".join(vote.reason for vote in judgement.votes)
            word = "not" if judgement.verdict is False else "unclear"
            return Rejected(f"{word}_{judgement.question}", reasons)
        return None
