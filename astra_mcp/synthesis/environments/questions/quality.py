"""The fourth stage: a judge scores the decomposition. Source: ASTRA sec. 2.2.2, eq. (13) to (21).

A judge that fails leaves the instance unscored: the stage fails, and the next run asks again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil
from statistics import fmean
from typing import Self

from pydantic import BaseModel, ConfigDict

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, incomplete
from astra_mcp.synthesis.environments.asking import ask, stage_version
from astra_mcp.synthesis.environments.questions.instance import Formula, Instance, QualityVote
from astra_mcp.types import JsonObject

__all__ = ["PercentileCut", "QualityJudge", "quality_scores"]

_BY_SUB_QUESTION = {"DC": "dependencies", "SA": "atomicity", "SR": "sequence"}
"""Dimensions that are means over all sub-questions, and their prompts: eq. (15), (17), (19)."""
_OF_THE_WHOLE = {"TC": "completeness"}
"""Eq. (20)."""
_DERIVATION = "derivation"
_MAX_AT_ONCE = 16
_HUNDRED = 100


class _Verdict(BaseModel):
    model_config = ConfigDict(frozen=True)

    reason: str = ""
    holds: bool


class _VerdictOf(_Verdict):
    id: int


class _Verdicts(BaseModel):
    model_config = ConfigDict(frozen=True)

    verdicts: tuple[_VerdictOf, ...]


def quality_scores(votes: Sequence[QualityVote]) -> dict[str, float]:
    """Average the votes on each dimension, and the dimensions: QS of eq. (21)."""
    names = [*_BY_SUB_QUESTION, *_OF_THE_WHOLE]
    scores = {name: fmean(v.score for v in votes if v.dimension == name) for name in names}
    return {**scores, "QS": fmean(scores.values())}


@dataclass(frozen=True, slots=True)
class QualityJudge:
    """Lets instances through whose quality is high enough."""

    judge: Asks
    name_of_model: str
    threshold: float = 0.85
    """Least QS that goes on; the paper gives no value."""
    num_votes: int = 1
    name = "quality"
    takes = Instance

    @property
    def version(self) -> str:
        """Of the prompts, the judge and the threshold."""
        prompts = (*_BY_SUB_QUESTION.values(), *_OF_THE_WHOLE.values(), _DERIVATION)
        return stage_version(
            *prompts, model=self.name_of_model, threshold=self.threshold, votes=self.num_votes
        )

    async def run(self, item: Item[Instance]) -> Made[Instance] | Rejected:
        """Have one instance judged."""
        instance = item.value
        dimensions = [*_BY_SUB_QUESTION, *_OF_THE_WHOLE]
        if instance.derivation.formula is Formula.OTHER or instance.is_derivation_open:
            dimensions.append(_DERIVATION)
        asked = [*product(dimensions, range(self.num_votes))]
        votes = await map_concurrently(partial(self._vote, instance), asked, limit=_MAX_AT_ONCE)
        scores = quality_scores(votes)
        reasons = "; ".join(f"{v.dimension}: {r}" for v in votes for r in v.reasons)
        derived = [vote.score for vote in votes if vote.dimension == _DERIVATION]
        if derived and 2 * sum(derived) <= len(derived):
            return Rejected("underivable", reasons)
        if scores["QS"] < self.threshold:
            told = ", ".join(f"{name} {score:.2f}" for name, score in scores.items())
            return Rejected("low_quality", f"{told}; {reasons}")
        scored = instance.model_copy(update={"scores": scores, "votes": tuple(votes)})
        return Made.of(Item(id=item.id, value=scored))

    async def _vote(self, instance: Instance, asked: tuple[str, int]) -> QualityVote:
        dimension, sample = asked
        document = _document(instance)
        name = _BY_SUB_QUESTION.get(dimension)
        if name is None:
            name = _OF_THE_WHOLE.get(dimension, dimension)
            verdict = await ask(self.judge, name, _Verdict, sample=sample, document=document)
            reasons = () if verdict.holds else (verdict.reason,)
            return QualityVote(dimension=dimension, score=float(verdict.holds), reasons=reasons)
        answer = await ask(self.judge, name, _Verdicts, sample=sample, document=document)
        verdicts = {verdict.id: verdict for verdict in answer.verdicts}
        missing = [sub.id for sub in instance.sub_questions if sub.id not in verdicts]
        if missing:
            raise incomplete(name, f"does not speak of {missing}")
        found = [verdicts[sub.id] for sub in instance.sub_questions]
        return QualityVote(
            dimension=dimension,
            score=fmean(verdict.holds for verdict in found),
            reasons=tuple(f"{v.id}: {v.reason}" for v in found if not v.holds),
        )


def _document(instance: Instance) -> JsonObject:
    return {
        "main_question": instance.main_question,
        "final_answer": instance.final_answer,
        "sub_questions": [
            {
                "id": sub.id,
                "question": sub.question,
                "answer": sub.answer,
                "dependencies": [*sub.dependencies],
            }
            for sub in instance.sub_questions
        ],
    }


@dataclass(frozen=True, slots=True)
class PercentileCut:
    """Leaves instances out whose quality is below that of most of a run."""

    least: float
    """The lowest QS that stays."""
    name = "percentile"
    takes = Instance

    @classmethod
    def of(cls, instances: Sequence[Instance], percentile: float) -> Self:
        """Cut at a percentile of their QS, by nearest rank: the value itself stays.

        Args:
            instances: All of the run.
            percentile: From 0, which leaves out none, to 100.
        """
        scores = sorted(instance.scores["QS"] for instance in instances)
        rank = ceil(percentile / _HUNDRED * len(scores))
        return cls(scores[max(0, rank - 1)] if scores else 0.0)

    @property
    def version(self) -> str:
        """Of the cut-off, which other instances may move."""
        return stage_version(least=self.least)

    async def run(self, item: Item[Instance]) -> Made[Instance] | Rejected:
        """Compare one."""
        score = item.value.scores["QS"]
        if score < self.least:
            return Rejected("below_percentile", f"QS {score:.3f}, below {self.least:.3f}")
        return Made.of(item)
