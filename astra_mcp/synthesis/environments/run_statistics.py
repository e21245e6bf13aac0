"""What a run of synthesis tells beside its yield: examples, attempts, origins, signals, scores, kinds.

Hears the events of a run, so outcomes of earlier runs that are recalled count as those of this one. Keeps
counts, and few examples of each reason, however long the run is; of a control run also the ids of instances
that the topology gate would have refused.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from astra_mcp.environments.statistics import (
    Distribution,
    EnvironmentCounts,
    QuestionCounts,
    Statistics,
    summarise,
)
from astra_mcp.pipeline import ItemStatus, Loss, Outcome, Progress, Settled
from astra_mcp.synthesis.environments.building.publishing import Published
from astra_mcp.synthesis.environments.building.tool import Built
from astra_mcp.synthesis.environments.gate_comparison import GateComparison
from astra_mcp.synthesis.environments.questions.instance import Instance, Origin, levels_of
from astra_mcp.types import JsonObject

__all__ = ["AcceptedExample", "RunStatistics", "Signals"]

_BEFORE_GATE = {"decompose", "topology"}
_LAST = "publish"
_SCORE_DIGITS = 4
_MAX_EXAMPLES = 40


@dataclass(slots=True)
class Signals:
    """How often the model's own hop levels and flags differ from what the dependencies say."""

    instances: int = 0
    differing_instances: int = 0
    said: Counter[str] = field(default_factory=Counter[str])
    """Sub-questions that state ``hop_level`` or ``is_parallel``, by which."""
    differing: Counter[str] = field(default_factory=Counter[str])
    """Those that state another value than the dependencies', by which."""

    def take(self, instance: Instance) -> None:
        """Count those of one instance."""
        self.instances += 1
        self.differing_instances += bool(instance.signals)
        self.said["hop_level"] += sum(s.hop_level is not None for s in instance.sub_questions)
        self.said["is_parallel"] += sum(s.is_parallel is not None for s in instance.sub_questions)
        self.differing.update(signal.split(" ", 1)[0] for signal in instance.signals)

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {
            "instances": self.instances,
            "differing_instances": self.differing_instances,
            **{
                name: {"said": self.said[name], "differing": self.differing[name]}
                for name in ("hop_level", "is_parallel")
            },
        }


class AcceptedExample(NamedTuple):
    """An environment that was accepted."""

    name: str
    question: str


class RunStatistics:
    """Hears a run and adds up."""

    def __init__(self, *, is_control: bool) -> None:
        """Begin with nothing.

        Args:
            is_control: The run has no topology gate, so what that would have refused is compared.
        """
        self.rejected: dict[tuple[str, str], Loss] = {}
        """By stage and reason."""
        self.failed: dict[tuple[str, str], Loss] = {}
        """By stage and kind of failure."""
        self.written = 0
        """Instances that the model wrote."""
        self.signals = Signals()
        self.origins = Counter[Origin]()
        """Of the answers of all instances that went on from the gate and have a corpus."""
        self.accepted_origins = Counter[Origin]()
        self.scores: dict[str, Counter[float]] = {}
        """Of instances that went on, by dimension of quality."""
        self.attempts = Counter[int]()
        """How many accepted environments had so many failed attempts on their way."""
        self.attempts_by_step = Counter[str]()
        self.gate = GateComparison() if is_control else None
        self._accepted = Counter[EnvironmentCounts]()
        self.examples: list[AcceptedExample] = []
        """The environments that were accepted first, but few."""

    def hear(self, event: Progress) -> None:
        """Take an event of the run."""
        if not isinstance(event, Settled):
            return
        stage, outcome = event.stage, event.outcome
        if self.gate is not None and stage not in _BEFORE_GATE:
            self.gate.settle(stage, outcome, is_last=stage == _LAST)
        match outcome.status:
            case ItemStatus.FINISHED:
                self._take(stage, outcome)
            case ItemStatus.REJECTED:
                self.rejected.setdefault((stage, outcome.reason), Loss()).take(outcome)
            case ItemStatus.FAILED:
                self.failed.setdefault((stage, outcome.reason), Loss()).take(outcome)

    @property
    def accepted(self) -> Statistics:
        """What the accepted environments hold."""
        return summarise([*self._accepted.elements()])

    @property
    def attempts_per_accepted(self) -> Distribution | None:
        """Failed attempts on the way of an accepted environment; None where there is none."""
        return Distribution.of(self.attempts.elements())

    def as_json(self) -> JsonObject:
        """Render what stands beside the yield in ``--json``."""
        attempts = self.attempts_per_accepted
        return {
            "origins": {
                "gated": {origin.value: self.origins[origin] for origin in Origin},
                "accepted": {origin.value: self.accepted_origins[origin] for origin in Origin},
            },
            "signals": self.signals.as_json(),
            "attempts_per_accepted": None
            if attempts is None
            else {**attempts.as_json(), "by_step": {**self.attempts_by_step}},
            "gate": None if self.gate is None else self.gate.as_json(),
        }

    def _take(self, stage: str, outcome: Outcome) -> None:
        for output in outcome.outputs:
            match stage:
                case "decompose":
                    self.written += 1
                case "topology":
                    self._admit(output.id, Instance.model_validate(output.value))
                case "quality":
                    self._score(Instance.model_validate(output.value))
                case "publish":
                    self._accept(Published.model_validate(output.value))
                case _:
                    pass

    def _admit(self, id: str, instance: Instance) -> None:
        self.signals.take(instance)
        self.origins.update(instance.origins.values())
        if self.gate is not None:
            self.gate.admit(id, instance)

    def _score(self, instance: Instance) -> None:
        for name, score in instance.scores.items():
            self.scores.setdefault(name, Counter())[round(score, _SCORE_DIGITS)] += 1

    def _accept(self, published: Published) -> None:
        built = published.built
        self.attempts[len(built.attempts)] += 1
        self.attempts_by_step.update(attempt.step for attempt in built.attempts)
        self.accepted_origins.update(built.instance.origins.values())
        self._accepted[_counts_of(built)] += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append(AcceptedExample(published.name, built.instance.main_question))


def _counts_of(built: Built) -> EnvironmentCounts:
    """Count one without its name, so that those that are alike are kept once."""
    instance = built.instance
    width = Counter(levels_of(instance).values())
    subs = instance.sub_questions
    solved = {id for tool in built.tools for id in tool.solves}
    question = QuestionCounts(
        sub_questions=len(subs),
        with_tool=len(solved),
        scenario_type=instance.shape,
        hop_depth=max(width),
        without_dependency=sum(not sub.dependencies for sub in subs),
        sharing_level=sum(num for num in width.values() if num > 1),
        tool_calls=sum(len(tool.calls) for tool in built.tools),
    )
    return EnvironmentCounts(
        name="",
        title="",
        domain="unlabelled" if instance.label is None else instance.label.value,
        language=instance.language,
        is_verified=True,
        tools=len(built.tools),
        questions=(question,),
    )
