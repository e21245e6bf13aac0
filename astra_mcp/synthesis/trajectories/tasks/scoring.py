"""A judge scores each task, and those that reach every threshold stay. Source: ASTRA sec. 2.1.3, eq. (1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from pydantic import ConfigDict, Field

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import TaskDraft, TaskScores
from astra_mcp.synthesis.trajectories.tasks.shown_tools import (
    expected_tools,
    servers_of,
    shown_documents,
)
from astra_mcp.types import FrozenModel, JsonObject

__all__ = ["Scoring", "Thresholds", "mean_scores"]

_PROMPT: Final = "score"
_DIMENSIONS: Final = (
    "question_quality",
    "scenario_realism",
    "tool_necessity",
    "selection_difficulty",
    "selection_uniqueness",
)
_MAX_AT_ONCE: Final = 16


class Thresholds(FrozenModel):
    """Least scores with which a task stays: the thetas of eq. (1), whose values the paper does not give."""

    question_quality: float = Field(default=4, ge=1, le=5)
    scenario_realism: float = Field(default=4, ge=1, le=5)
    tool_necessity: float = Field(default=4, ge=1, le=5)


class _Vote(FreeAnswer):
    model_config = ConfigDict(extra="ignore")

    reason: str = ""
    question_quality: int = Field(strict=True, ge=1, le=5)
    scenario_realism: int = Field(strict=True, ge=1, le=5)
    tool_necessity: int = Field(strict=True, ge=1, le=5)
    selection_difficulty: int = Field(strict=True, ge=1, le=5)
    selection_uniqueness: int = Field(strict=True, ge=1, le=5)


def mean_scores(votes: Sequence[JsonObject]) -> TaskScores:
    """Average votes by dimension.

    Args:
        votes: At least one; each with the five dimensions and a ``reason``.
    """
    means = {name: fmean(float(str(vote[name])) for vote in votes) for name in _DIMENSIONS}
    reasons = dict.fromkeys(str(vote["reason"]).strip() for vote in votes)
    told = " / ".join(reason for reason in reasons if reason)
    return TaskScores.model_validate({**means, "num_votes": len(votes), "reason": told})


@dataclass(frozen=True, slots=True)
class Scoring:
    """Lets tasks through that are good enough, with their scores."""

    judge: Asks
    name_of_model: str
    documents: Documents = field(repr=False)
    thresholds: Thresholds = field(default_factory=Thresholds)
    num_votes: int = 1
    """Of which the mean counts."""
    seed: int = 0
    """Chooses the tools that a prompt has room for."""
    name = "score"
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the prompt, the judge, the votes and the thresholds."""
        return stage_version(
            _PROMPT,
            model=self.name_of_model,
            thresholds=self.thresholds,
            votes=self.num_votes,
            seed=self.seed,
        )

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Have one task judged; a vote that fails leaves it unscored, and the item fails."""
        draft = item.value
        first = expected_tools(draft)
        servers = servers_of(draft, self.documents)
        documents = shown_documents(servers, first=first, seed=self.seed)

        async def vote(sample: int) -> JsonObject:
            answer = await ask(
                self.judge,
                _PROMPT,
                _Vote,
                sample=sample,
                task=draft.query,
                expected=[{"server": server, "tool": tool} for server, tool in first],
                documents=documents,
            )
            return answer.model_dump(mode="json")

        votes = await map_concurrently(vote, range(self.num_votes), limit=_MAX_AT_ONCE)
        scores = mean_scores(votes)
        for name, least in self.thresholds:
            if getattr(scores, name) < least:
                told = ", ".join(f"{each} {getattr(scores, each):.2f}" for each in _DIMENSIONS)
                return Rejected(f"low_{name}", f"below {least:g}: {told}; {scores.reason}")
        return Made.of(Item(id=item.id, value=draft.model_copy(update={"scores": scores})))
