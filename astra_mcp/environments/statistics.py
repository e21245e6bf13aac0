"""Statistics of environments: what a data set of them holds, in the figures that the paper gives of its own.

Documents in, counts out, in two steps: :func:`counts_of` counts one environment, :func:`summarise` adds up
many. What a document leaves out is not worked out here: each figure is of those questions alone that say
what it needs, and how many do not is counted too. A step is a sub-question with its place in the
dependencies.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from pydantic import computed_field, model_serializer

from astra_mcp.domains import Domain
from astra_mcp.environments.bundle import EnvironmentDocument, ScenarioType
from astra_mcp.types import FrozenModel, JsonObject

__all__ = [
    "PAPER",
    "Distribution",
    "EnvironmentCounts",
    "PaperFigures",
    "QuestionCounts",
    "Share",
    "Statistics",
    "counts_of",
    "summarise",
]


class QuestionCounts(FrozenModel):
    """What is counted of one question."""

    sub_questions: int
    with_tool: int
    """Sub-questions that need a tool."""
    scenario_type: ScenarioType | None = None
    hop_depth: int | None = None
    """The highest hop level; None where the question has no DAG, as in the next two."""
    without_dependency: int | None = None
    sharing_level: int | None = None
    """Steps that stand on one hop level with another: ``is_parallel``."""
    tool_calls: int | None = None
    """Gold calls; None where there are none."""


class EnvironmentCounts(FrozenModel):
    """What is counted of one environment, and what it says of itself."""

    name: str
    title: str
    domain: str
    language: str
    is_verified: bool
    """Whether it says so: nothing is examined here."""
    family: str | None = None
    tools: int
    questions: tuple[QuestionCounts, ...]


class Distribution(FrozenModel):
    """How often which whole number was counted; at least one."""

    counts: tuple[tuple[int, int], ...]
    """Values, ascending, and how often each."""

    @classmethod
    def of(cls, values: Iterable[int]) -> Self | None:
        """Count values; None where there are none."""
        counts = Counter(values)
        return cls(counts=tuple(sorted(counts.items()))) if counts else None

    @property
    def size(self) -> int:
        """How many values there are."""
        return sum(num for _, num in self.counts)

    @property
    def total(self) -> int:
        """What the values add up to."""
        return sum(value * num for value, num in self.counts)

    @property
    def mean(self) -> float:
        """The arithmetic mean."""
        return self.total / self.size

    @property
    def median(self) -> float:
        """The value in the middle, or the mean of the two there."""
        return (self._at((self.size - 1) // 2) + self._at(self.size // 2)) / 2

    @property
    def range(self) -> tuple[int, int]:
        """The least and the most."""
        return self.counts[0][0], self.counts[-1][0]

    def within(self, least: int, most: int) -> "Share":
        """The share of values between two, both included."""
        part = sum(num for value, num in self.counts if least <= value <= most)
        return Share(part=part, whole=self.size)

    def _at(self, place: int) -> int:
        for value, num in self.counts:
            if place < num:
                return value
            place -= num
        raise IndexError(place)

    @model_serializer
    def as_json(self) -> JsonObject:
        """Render for programs: the figures, and the values as an object."""
        least, most = self.range
        return {
            "count": self.size,
            "total": self.total,
            "mean": self.mean,
            "median": self.median,
            "min": least,
            "max": most,
            "histogram": {str(value): num for value, num in self.counts},
        }


class Share(FrozenModel):
    """A part of a whole; no share where the whole is nothing."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """From 0 to 1."""
        return self.part / self.whole if self.whole else None

    @model_serializer
    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {"part": self.part, "whole": self.whole, "share": self.value}


class Statistics(FrozenModel):
    """What many environments hold together. Source of the figures: ASTRA appendix A.1.2."""

    environments: int
    verified: int
    questions: int
    domains: dict[str, int]
    """Questions of each, the most frequent first; as in the next three."""
    languages: dict[str, int]
    scenario_types: dict[str, int]
    families: dict[str, int]
    """Of those environments that name one."""
    sub_questions: Distribution | None
    """Of a question: the paper's reasoning hops."""
    hop_depth: Distribution | None
    tool_calls: Distribution | None
    tools: Distribution | None
    """Of an environment."""
    with_tool: Share
    without_dependency: Share
    sharing_level: Share
    without_scenario_type: int
    """Questions that are left out where the scenario type counts; as in the next two."""
    without_dag: int
    without_gold: int

    @computed_field
    @property
    def unverified(self) -> int:
        """Environments that do not say that the acceptance passes."""
        return self.environments - self.verified

    def as_json(self) -> JsonObject:
        """Render for ``--json``; families only where there are some."""
        return self.model_dump(mode="json", exclude=None if self.families else {"families"})


class PaperFigures(FrozenModel):
    """What a paper says of its data set, for what :class:`Statistics` says of another."""

    source: str
    questions: int
    domains: dict[str, float]
    """Shares, as in the next two; the text names the most frequent domains alone."""
    languages: dict[str, float]
    scenario_types: dict[str, float]
    total_sub_questions: int
    mean_sub_questions: float
    """Of reasoning hops: 28,794 / 6,596 is 4.37, so that a hop is a sub-question."""
    median_sub_questions: float
    range_sub_questions: tuple[int, int]
    with_tool: float
    mean_tool_calls: float
    common_tool_calls: tuple[int, int]
    """Between which most questions have theirs."""
    parallel_steps: float
    """Steps that "can be parallelized"; the others wait for what they depend on."""


PAPER = PaperFigures(
    source="ASTRA (arXiv:2601.21558), appendix A.1.2",
    questions=6596,
    domains={Domain.REAL_ESTATE: 0.156, Domain.E_COMMERCE: 0.106, Domain.HEALTHCARE: 0.081},
    languages={"en": 0.712, "zh": 0.288},
    scenario_types={
        ScenarioType.PARALLEL_MULTI_HOP: 0.478,
        ScenarioType.MULTI_HOP: 0.348,
        ScenarioType.PARALLEL_SINGLE_HOP: 0.106,
        ScenarioType.SINGLE_HOP: 0.068,
    },
    total_sub_questions=28_794,
    mean_sub_questions=4.37,
    median_sub_questions=4.0,
    range_sub_questions=(1, 20),
    with_tool=0.913,
    mean_tool_calls=3.98,
    common_tool_calls=(2, 5),
    parallel_steps=0.442,
)
"""The paper's data set for RL."""


def counts_of(document: EnvironmentDocument) -> EnvironmentCounts:
    """Count one environment."""
    return EnvironmentCounts(
        name=document.name,
        title=document.title,
        domain="unlabelled" if document.domain is None else document.domain.value,
        language=document.language,
        is_verified=document.status == "verified",
        family=document.provenance.family,
        tools=len(document.tools),
        questions=tuple(
            _counts_of_question(asked)
            for asked in (document, *map(document.asking, document.questions))
        ),
    )


def _counts_of_question(question: EnvironmentDocument) -> QuestionCounts:
    subs = question.sub_tasks
    levels = [s.hop_level for s in subs if s.hop_level is not None and s.is_parallel is not None]
    has_dag = len(levels) == len(subs)
    return QuestionCounts(
        sub_questions=len(subs),
        with_tool=sum(s.tool is not None for s in subs),
        scenario_type=question.scenario_type,
        hop_depth=max(levels) if has_dag else None,
        without_dependency=sum(not s.dependencies for s in subs) if has_dag else None,
        sharing_level=sum(bool(s.is_parallel) for s in subs) if has_dag else None,
        tool_calls=len(question.gold) or None,
    )


def summarise(environments: Sequence[EnvironmentCounts]) -> Statistics:
    """Add up what was counted."""
    pairs = [(environment, q) for environment in environments for q in environment.questions]
    questions = [question for _, question in pairs]
    with_dag = [q for q in questions if q.hop_depth is not None]
    scenario_types = [q.scenario_type.value for q in questions if q.scenario_type is not None]
    tool_calls = [q.tool_calls for q in questions if q.tool_calls is not None]
    num_steps = sum(q.sub_questions for q in with_dag)

    def share_of_steps(parts: Iterable[int | None]) -> Share:
        return Share(part=sum(part or 0 for part in parts), whole=num_steps)

    return Statistics(
        environments=len(environments),
        verified=sum(e.is_verified for e in environments),
        questions=len(questions),
        domains=_ranked(e.domain for e, _ in pairs),
        languages=_ranked(e.language for e, _ in pairs),
        scenario_types=_ranked(scenario_types),
        families=_ranked(e.family for e, _ in pairs if e.family is not None),
        sub_questions=Distribution.of(q.sub_questions for q in questions),
        hop_depth=Distribution.of(q.hop_depth for q in with_dag if q.hop_depth is not None),
        tool_calls=Distribution.of(tool_calls),
        tools=Distribution.of(e.tools for e in environments),
        with_tool=Share(
            part=sum(q.with_tool for q in questions),
            whole=sum(q.sub_questions for q in questions),
        ),
        without_dependency=share_of_steps(q.without_dependency for q in with_dag),
        sharing_level=share_of_steps(q.sharing_level for q in with_dag),
        without_scenario_type=len(questions) - len(scenario_types),
        without_dag=len(questions) - len(with_dag),
        without_gold=len(questions) - len(tool_calls),
    )


def _ranked(names: Iterable[str]) -> dict[str, int]:
    """Count names, the most frequent first, equal ones by name."""
    return dict(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
