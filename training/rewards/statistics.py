"""What scored trajectories hold, in the figures that the paper gives of its SFT data set."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final, NamedTuple

from astra_mcp.trajectory import Trajectory
from astra_mcp.types import JsonObject
from training.rewards.score import Dimension, Score, State
from training.rewards.shown import calls_of

__all__ = ["PAPER", "DimensionSummary", "Figures", "PaperFigures", "ScoreSummary"]


class PaperFigures(NamedTuple):
    """What the paper says of its data set. Source: ASTRA, A.1.1."""

    samples: int
    messages: int
    mean_messages: float
    mean_calls: float
    few_calls: float
    """The share of samples with one to five calls."""
    functions: int
    roles: Mapping[str, float]
    """The shares that it gives, of messages."""


PAPER: Final = PaperFigures(
    samples=54_885,
    messages=580_983,
    mean_messages=10.59,
    mean_calls=4.42,
    few_calls=0.722,
    functions=6_765,
    roles={"tool": 0.418, "assistant": 0.393},
)
_FEW: Final = range(1, 6)


@dataclass(slots=True)
class Figures:
    """Counts of trajectories, taken one by one."""

    messages: Counter[int] = field(default_factory=Counter[int])
    """Trajectories by their number of messages, and below of calls."""
    calls: Counter[int] = field(default_factory=Counter[int])
    roles: Counter[str] = field(default_factory=Counter[str])
    functions: set[tuple[str | None, str]] = field(default_factory=set[tuple[str | None, str]])
    """Server and tool; the name that the agent used, where the record does not say them."""
    domains: Counter[str] = field(default_factory=Counter[str])

    def add(self, trajectory: Trajectory) -> None:
        """Count one."""
        calls = calls_of(trajectory)
        self.messages[len(trajectory.messages)] += 1
        self.calls[len(calls)] += 1
        self.roles.update(message.role for message in trajectory.messages)
        self.domains[trajectory.labels.get("domain", "not stated")] += 1
        notes = {note.tool_call_id: note for note in trajectory.calls}
        for call in calls:
            note = notes.get(call.id)
            known = note is not None and note.tool is not None
            self.functions.add(
                (note.server, note.tool or "") if known and note else (None, call.function.name)
            )

    @property
    def trajectories(self) -> int:
        """How many were counted."""
        return self.messages.total()

    @property
    def mean_messages(self) -> float | None:
        """Messages of a trajectory, the system's included."""
        return _mean(self.messages)

    @property
    def mean_calls(self) -> float | None:
        """Calls of a trajectory."""
        return _mean(self.calls)

    @property
    def few_calls(self) -> float | None:
        """The share of trajectories with one to five calls."""
        few = sum(self.calls[number] for number in _FEW)
        return few / self.trajectories if self.trajectories else None

    @property
    def role_shares(self) -> dict[str, float]:
        """Of all messages."""
        total = self.roles.total()
        return {role: num / total for role, num in self.roles.most_common()}

    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {
            "trajectories": self.trajectories,
            "messages": sum(number * times for number, times in self.messages.items()),
            "mean_messages": self.mean_messages,
            "mean_calls": self.mean_calls,
            "share_1_to_5_calls": self.few_calls,
            "functions": len(self.functions),
            "roles": {**self.role_shares},
            "domains": dict(self.domains.most_common()),
        }


def _mean(counts: Counter[int]) -> float | None:
    return fmean(counts.elements()) if counts else None


@dataclass(frozen=True, slots=True)
class DimensionSummary:
    """What many scores say in one dimension."""

    values: tuple[float, ...]
    """Where it is defined."""
    mean_variance: float | None
    """Of the repetitions; None without any."""
    undefined: Mapping[str, int]
    """By reason."""

    @property
    def mean(self) -> float | None:
        """None where it is defined nowhere."""
        return fmean(self.values) if self.values else None


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """What many scores say."""

    states: Mapping[State, int]
    reasons: Mapping[str, int]
    """Why some have no total."""
    totals: tuple[float, ...]
    mean_total_variance: float | None
    with_rules: tuple[float, ...]
    dimensions: Mapping[Dimension, DimensionSummary]
    tcs_without_injected: tuple[float, ...]
    other_language: int
    unseen_urls: int
    """Trajectories whose answer has an address that nobody told."""
    cut: int
    """Trajectories of which a judge was not shown all."""

    @classmethod
    def of(cls, scores: Iterable[Score]) -> "ScoreSummary":
        """Sum up; values are of what was scored alone."""
        found = list(scores)
        scored = [score for score in found if score.state is State.SCORED]
        return cls(
            states={state: sum(s.state is state for s in found) for state in State},
            reasons=Counter(s.reason for s in found if s.reason is not None),
            totals=tuple(s.total for s in scored if s.total is not None),
            mean_total_variance=_mean_of([s.total_variance for s in scored]),
            with_rules=tuple(s.total_with_rules for s in scored if s.total_with_rules is not None),
            dimensions={dimension: _summary(dimension, scored) for dimension in Dimension},
            tcs_without_injected=tuple(
                s.tcs_without_injected for s in scored if s.tcs_without_injected is not None
            ),
            other_language=sum(s.rules is not None and s.rules.languages.differ for s in scored),
            unseen_urls=sum(s.rules is not None and bool(s.rules.unseen_urls) for s in scored),
            cut=sum(
                any(a.cut for d in s.dimensions.values() for a in d.assessments) for s in scored
            ),
        )

    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {
            **{state.value: num for state, num in self.states.items()},
            "reasons": {**self.reasons},
            "total": _mean_of(self.totals),
            "total_variance": self.mean_total_variance,
            "total_with_rules": _mean_of(self.with_rules),
            "dimensions": {
                dimension.value: {
                    "mean": each.mean,
                    "defined": len(each.values),
                    "variance": each.mean_variance,
                    "undefined": {**each.undefined},
                }
                for dimension, each in self.dimensions.items()
            },
            "tcs_without_injected": _mean_of(self.tcs_without_injected),
            "other_language": self.other_language,
            "unseen_urls": self.unseen_urls,
            "cut": self.cut,
        }


def _summary(dimension: Dimension, scored: Iterable[Score]) -> DimensionSummary:
    found = [s.dimensions[dimension] for s in scored if dimension in s.dimensions]
    return DimensionSummary(
        values=tuple(each.value for each in found if each.value is not None),
        mean_variance=_mean_of([each.variance for each in found]),
        undefined=Counter(each.undefined for each in found if each.undefined is not None),
    )


def _mean_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
