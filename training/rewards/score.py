"""What is said of one trajectory: a value in each dimension or why there is none, and a line of a file."""

import json
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from statistics import fmean
from typing import Literal, Self, cast

from pydantic import Field

from astra_mcp.call_record import upgraded
from astra_mcp.trajectory import Trajectory
from astra_mcp.types import FrozenModel, JsonObject

__all__ = [
    "SCORES_VERSION",
    "Assessment",
    "Dimension",
    "DimensionScore",
    "Languages",
    "Method",
    "RuleChecks",
    "Score",
    "State",
    "digest_of",
    "mean_of",
]

SCORES_VERSION = 1
"""Of the lines of score files."""
_TOLERANCE = 1e-9
"""Of a total that another program rounded."""


class Dimension(StrEnum):
    """One of the seven dimensions of the reward, in the paper's order. Source: ASTRA sec. 2.1.5."""

    QU = "QU"
    """Query understanding, eq. (3)."""
    QP = "QP"
    """Query planning, eq. (4)."""
    TCU = "TCU"
    """Tool-response context understanding, eq. (6)."""
    TCP = "TCP"
    """Tool-response context-conditioned planning, eq. (7)."""
    TCS = "TCS"
    """Tool call status, eq. (8)."""
    TC = "TC"
    """Tool conciseness, eq. (9)."""
    FA = "FA"
    """Final answer, eq. (10)."""


class Assessment(FrozenModel):
    """One thing that was decided: of the trajectory, of a round, of a call or of the answer."""

    what: str
    """``query``, ``round 2``, ``call 3``, ``correlation`` or ``summary``."""
    value: float = Field(ge=0, le=1)
    reason: str
    by: Literal["judge", "code"] = "judge"
    sample: int = 0
    """Number of the repetition; code decides for all of them."""
    cut: int = 0
    """Characters that the judge was not shown, since they did not fit into its prompt."""


class DimensionScore(FrozenModel):
    """What is said of a trajectory in one dimension."""

    value: float | None = Field(default=None, ge=0, le=1)
    """The mean over the repetitions; None where it is not defined, or the judge failed."""
    variance: float | None = None
    """Of the repetitions, divided by one less than their number; None for a single one."""
    undefined: str | None = None
    """Why the dimension is not defined for the trajectory."""
    failed: str | None = None
    """Why the judge did not decide."""
    assessments: tuple[Assessment, ...] = ()


class Languages(FrozenModel):
    """The languages of the first question and of the final answer, as ISO 639-1."""

    question: str | None
    """None, like the other, where there is too little text to tell."""
    answer: str | None

    @property
    def differ(self) -> bool:
        """Whether both are known and differ."""
        return None not in (self.question, self.answer) and self.question != self.answer


class RuleChecks(FrozenModel):
    """What code finds in the final answer; the reward does not know it unless it is asked to."""

    languages: Languages
    unseen_urls: tuple[str, ...] = ()
    """Addresses in the answer that nobody told the agent: no message before, and no document of a tool."""


class Method(FrozenModel):
    """How trajectories were scored: scores of one file are of one method."""

    judge: str
    """The model, and its revision where one is configured."""
    prompts: str
    """A hash of the prompts and of the rules around them."""
    repeat: int = Field(ge=1)
    max_prompt_bytes: int
    rule_total: bool = False


class State(StrEnum):
    """What became of a trajectory."""

    SCORED = "scored"
    UNSCORED = "unscored"
    """The judge failed somewhere: the next run tries again."""
    SKIPPED = "skipped"
    """It is not to be scored, which is final."""


class Score(FrozenModel):
    """What is said of one trajectory; a line of a score file."""

    schema_version: Literal[1] = 1
    episode_id: str | None
    digest: str
    """Of the trajectory's content, see :func:`digest_of`."""
    state: State
    reason: str | None = None
    """Why there is no total."""
    total: float | None = Field(default=None, ge=0, le=1)
    """The mean of the dimensions that are defined."""
    defined: int = 0
    """How many those are, of seven."""
    total_variance: float | None = None
    """Of the repetitions' totals, as that of a dimension."""
    total_with_rules: float | None = Field(default=None, ge=0, le=1)
    """The same with a correlation of 0 where the language is another one, and a summary of 0 where an address
    comes from nowhere; None unless it was asked for."""
    dimensions: dict[Dimension, DimensionScore] = Field(
        default_factory=dict[Dimension, DimensionScore]
    )
    tcs_without_injected: float | None = Field(default=None, ge=0, le=1)
    """The tool call status without calls that failed on purpose; None where no other is left."""
    rules: RuleChecks | None = None
    method: Method

    @classmethod
    def from_line(cls, line: object) -> Self:
        """Read a line, as JSON has it.

        Raises:
            ValueError: It is none, or its fields contradict one another; pydantic's own error where one is
                wrong.
        """
        if not isinstance(line, Mapping) or not {"schema_version", "digest"} <= line.keys():
            raise ValueError("this is no line of a score file")
        score = cls.model_validate(upgraded(cast("JsonObject", line), SCORES_VERSION, {}))
        if (fault := _fault(score)) is not None:
            raise ValueError(fault)
        return score

    def as_line(self) -> JsonObject:
        """Give the line."""
        return self.model_dump(mode="json")

    def values(self) -> dict[Dimension, float]:
        """The dimensions that have a value."""
        return {d: s.value for d, s in self.dimensions.items() if s.value is not None}


def mean_of(values: Mapping[Dimension, float]) -> float | None:
    """Average the dimensions that are defined; None where none is. Source: ASTRA sec. 2.1.5."""
    return fmean(values.values()) if values else None


def _fault(score: Score) -> str | None:
    """Say which field of a line contradicts the others; None where none does."""
    values = score.values()
    if score.defined != len(values):
        return f"defined: is {score.defined}, and {len(values)} dimensions have a value"
    if score.state is not State.SCORED:
        return None if score.total is None else f"total: what is {score.state} has none"
    for dimension in Dimension:
        found = score.dimensions.get(dimension, DimensionScore())
        if (found.value is None) == (found.undefined is None) or found.failed is not None:
            return f"dimensions.{dimension}: has a value or is undefined where the state is scored"
    mean = mean_of(values)
    if mean is None or score.total is None or abs(score.total - mean) > _TOLERANCE:
        return f"total: is {score.total}, and the mean of the dimensions is {mean}"
    return None


def digest_of(trajectory: Trajectory) -> str:
    """Hash the content of a trajectory, whatever version of the schema its line has.

    Fields of the schema that are None, and members of the trajectory that are empty, are left out, so that
    one that later versions add changes no digest. In JSON of others, such as tools, everything counts.
    """
    fields = trajectory.model_dump(mode="json", exclude_none=True)
    told = {name: value for name, value in fields.items() if value != {}}
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
