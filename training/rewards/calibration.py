"""How far a judge is to be trusted: its grades beside those that people gave to short trajectories.

The set lies in the package as ``calibration.jsonl``. Source of the measure: Cohen, A coefficient of agreement
for nominal scales, 1960.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from typing import Final

from pydantic import Field

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeStatus
from astra_mcp.concurrency import map_concurrently
from astra_mcp.synthesis.asking import Asks
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory import (
    AgentInfo,
    CallNote,
    Message,
    Seeds,
    StopReason,
    ToolMessage,
    Trajectory,
    Versions,
)
from astra_mcp.types import FrozenModel, JsonObject
from training.rewards.judging import Asked, Failed, Question, questions_of
from training.rewards.score import Dimension

__all__ = [
    "MIN_AGREEMENT",
    "MIN_KAPPA",
    "Agreement",
    "Labelled",
    "calibrate",
    "cohens_kappa",
    "load_calibration",
]

MIN_AGREEMENT: Final = 0.8
"""The least share of equal grades of a judge that is to be trusted."""
MIN_KAPPA: Final = 0.6
"""The least agreement beyond chance: what Landis and Koch, 1977, call substantial begins here."""


class Labelled(FrozenModel):
    """A short trajectory with what people say of it."""

    id: str
    note: str
    """Why it is labelled so."""
    tools: tuple[JsonObject, ...]
    messages: tuple[Message, ...]
    failed: tuple[str, ...] = ()
    """Ids of the calls that failed."""
    labels: dict[Dimension, dict[str, float]] = Field(min_length=1)
    """By dimension and by what was judged, as an assessment names it."""

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory, as a rollout would have written it."""
        answered = [m.tool_call_id for m in self.messages if isinstance(m, ToolMessage)]
        return Trajectory(
            episode_id=self.id,
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            source={"kind": "servers", "names": []},
            agent=AgentInfo(name="model"),
            seeds=Seeds(root=0, index=0, episode=0),
            versions=Versions(astra_mcp=__version__),
            tools=self.tools,
            tools_hash=None,
            messages=self.messages,
            calls=tuple(
                CallNote(tool_call_id=name, seq=place, is_error=name in self.failed)
                for place, name in enumerate(answered)
            ),
            status=EpisodeStatus.CLOSED,
            stop=StopReason.ANSWER,
            reward=None,
        )


def load_calibration() -> list[Labelled]:
    """Load the set of the package."""
    text = files("training.rewards").joinpath("calibration.jsonl").read_text(encoding="utf-8")
    return [Labelled.model_validate(parse_strict(line)) for line in text.splitlines()]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a judge's grades in one dimension lie beside the labels."""

    dimension: Dimension
    pairs: Sequence[tuple[float, float]]
    """Label and grade of each item that the judge graded."""
    failures: Sequence[str]
    """What was said of each item that it did not grade."""

    @property
    def exact(self) -> float | None:
        """The share of items with equal grades; None where none was graded."""
        return sum(a == b for a, b in self.pairs) / len(self.pairs) if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """See :func:`cohens_kappa`."""
        return cohens_kappa(self.pairs)

    @property
    def is_trusted(self) -> bool:
        """Whether every item was graded, and enough of them as people do."""
        if self.failures or self.exact is None or self.kappa is None:
            return False
        return self.exact >= MIN_AGREEMENT and self.kappa >= MIN_KAPPA

    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {
            "items": len(self.pairs) + len(self.failures),
            "graded": len(self.pairs),
            "agreement": self.exact,
            "kappa": self.kappa,
            "trusted": self.is_trusted,
            "failures": [*self.failures],
        }


def cohens_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Measure agreement beyond chance: (p_o - p_e) / (1 - p_e).

    Args:
        pairs: Two grades of each item.

    Returns:
        At most 1; None without items, and where chance alone would agree on all of them.
    """
    if not pairs:
        return None
    total = len(pairs)
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) / total
    expected = sum(firsts[grade] * seconds[grade] for grade in firsts) / total**2
    return None if expected == 1 else (observed - expected) / (1 - expected)


async def calibrate(
    judge: Asks, labelled: Sequence[Labelled], *, max_bytes: int, concurrency: int
) -> list[Agreement]:
    """Ask a judge what people have labelled, each item once.

    Args:
        judge: Is asked.
        labelled: The set.
        max_bytes: Of what is shown in one prompt.
        concurrency: Questions at once.

    Raises:
        BudgetSpentError: The budget does not allow the calls.
        PipelineError: The cache does not answer.
    """
    asked = [(row, question) for row in labelled for question in _questions(row, max_bytes)]
    found = await map_concurrently(partial(_grade, judge), asked, limit=concurrency)
    pairs: dict[Dimension, list[tuple[float, float]]] = {d: [] for d in Dimension}
    failures: dict[Dimension, list[str]] = {d: [] for d in Dimension}
    for (row, question), answer in zip(asked, found, strict=True):
        dimension = question.dimension
        if isinstance(answer, str):
            failures[dimension].append(f"{row.id}: {answer}")
        else:
            labels = row.labels[dimension]
            pairs[dimension] += [(labels[w], answer[w]) for w in labels if w in answer]
    return [
        Agreement(dimension, pairs[dimension], failures[dimension])
        for dimension in Dimension
        if pairs[dimension] or failures[dimension]
    ]


def _questions(row: Labelled, max_bytes: int) -> list[Question]:
    """The questions whose answers are labelled."""
    found = questions_of(row.trajectory, max_bytes)
    return [
        question
        for dimension, labels in row.labels.items()
        if isinstance(asked := found[dimension], Asked)
        for question in asked.questions
        if question.what in labels or question.numbers
    ]


async def _grade(judge: Asks, asked: tuple[Labelled, Question]) -> Mapping[str, float] | str:
    answer = await asked[1].ask(judge, 0)
    if isinstance(answer, Failed):
        return answer.why
    return {each.what: each.value for each in answer}
