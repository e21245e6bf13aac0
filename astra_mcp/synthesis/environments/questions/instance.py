"""A main question with its answer and the sub-questions that lead there, as written and as checked."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from astra_mcp.domains import Domain
from astra_mcp.environments.bundle import ScenarioType, SubTask
from astra_mcp.environments.decomposition import depths_of, scenario_of
from astra_mcp.types import FrozenModel, json_fault

__all__ = [
    "Derivation",
    "Draft",
    "Drafts",
    "Formula",
    "Instance",
    "Origin",
    "QualityVote",
    "SubQuestion",
    "levels_of",
    "shape_of",
]


def _storable(number: int) -> int:
    if json_fault(number) is not None:
        raise ValueError("does not fit into 64 bits")
    return number


Number = Annotated[int, AfterValidator(_storable)]
"""An integer as a model writes it; a longer one could be neither hashed nor stored."""


class Formula(StrEnum):
    """How the main answer follows from answers of sub-questions: Phi of ASTRA eq. (12)."""

    JOIN = "join"
    """It states each of them."""
    SUM = "sum"
    DIFFERENCE = "difference"
    """The first less the others."""
    PRODUCT = "product"
    AVERAGE = "average"
    COUNT = "count"
    """How many of them there are."""
    MAX = "max"
    MIN = "min"
    OTHER = "other"
    """In words; a judge says whether it follows."""


class Derivation(FrozenModel):
    """A formula and what it takes."""

    formula: Formula = Formula.OTHER
    sub_questions: tuple[Number, ...] = ()
    """Ids, in the order in which the formula takes their answers."""


class SubQuestion(FrozenModel):
    """A sub-question with its answer and its dependencies: (q, a, d) of ASTRA eq. (13)."""

    id: Number
    question: str = ""
    answer: str = ""
    dependencies: tuple[Number, ...] = ()
    hop_level: Number | None = None
    """As the model says; a signal, for the dependencies decide."""
    is_parallel: bool | None = None
    """As the model says."""
    needs_tool: bool = True
    """Said by the stage of tool necessity; nobody asks the model for it before."""


class Draft(FrozenModel):
    """One instance as the model writes it; a field that it leaves out is found by the gate."""

    title: str = ""
    domain: str = ""
    scenario_type: str = ""
    main_question: str = ""
    final_answer: str = ""
    derivation: Derivation = Derivation()
    sub_questions: tuple[SubQuestion, ...] = ()


class Drafts(FrozenModel):
    """What the model answers: as many instances as it was asked for."""

    instances: tuple[Draft, ...]


class Origin(StrEnum):
    """Where an answer comes from."""

    FROM_CORPUS = "from_corpus"
    SYNTHESIZED = "synthesized"


class QualityVote(FrozenModel):
    """What one vote says on one dimension of quality."""

    dimension: str
    score: float
    """Mean over the sub-questions of eq. (14), (16) or (18), or eq. (20) itself."""
    reasons: tuple[str, ...] = ()
    """Of what does not hold."""


class Instance(Draft):
    """A draft on its way through the stages."""

    source: str
    """Id of what it was made from."""
    writer: str
    """Name of the model that wrote it."""
    asked_question: str | None = None
    """The main question, where it was given."""
    corpus: str = ""
    language: Literal["en", "zh"]
    label: Domain | None = None
    """The domain out of the one vocabulary."""
    shape: ScenarioType | None = None
    """The type that the dependencies make it."""
    origins: Mapping[int, Origin] = Field(default_factory=dict[int, Origin])
    """Of the answers, by id; empty where there is no corpus."""
    signals: tuple[str, ...] = ()
    """Where the model's own hop levels and flags differ from what the dependencies say."""
    is_derivation_open: bool = False
    """Code cannot say whether the main answer follows, so the judge of quality does."""
    gate_faults: tuple[str, ...] = ()
    """Reasons by which the topology gate would have refused it; only of a control run."""
    scores: Mapping[str, float] = Field(default_factory=dict[str, float])
    """DC, SA, SR, TC and QS of ASTRA eq. (15) to (21), once they are judged."""
    votes: tuple[QualityVote, ...] = ()
    """What the scores are made of."""

    def sub(self, id: int) -> SubQuestion:
        """The sub-question of an id."""
        return next(sub for sub in self.sub_questions if sub.id == id)


def levels_of(draft: Draft) -> dict[int, int]:
    """The hop level of each sub-question, by id; those on a cycle have none."""
    return depths_of(_as_sub_tasks(draft))


def shape_of(draft: Draft) -> ScenarioType:
    """The type that the dependencies make it."""
    return scenario_of(Counter(levels_of(draft).values()))


def _as_sub_tasks(draft: Draft) -> list[SubTask]:
    return [
        SubTask.model_construct(id=sub.id, dependencies=sub.dependencies)
        for sub in draft.sub_questions
    ]
