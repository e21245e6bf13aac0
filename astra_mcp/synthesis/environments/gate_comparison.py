"""What instances came to that the topology gate would have refused, beside all others.

Only a control run tells: there the gate notes its faults, and everything goes on. It answers what ASTRA
leaves open: whether judging the topology first pays.
"""

from collections import Counter
from dataclasses import dataclass, field

from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline import ItemStatus, Outcome
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import JsonObject

__all__ = ["GateComparison", "Passage"]


@dataclass(slots=True)
class Passage:
    """What a group of instances came to behind the gate, and what that cost."""

    instances: int = 0
    accepted: int = 0
    rejected: Counter[str] = field(default_factory=Counter[str])
    """By stage."""
    failed: Counter[str] = field(default_factory=Counter[str])
    """By stage; the next run tries them again."""
    usage: Usage = field(default_factory=Usage)
    """Of all runs, behind the gate alone: what wrote them is not known of each."""

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted ones of all; None where there are none."""
        return self.accepted / self.instances if self.instances else None

    def take(self, stage: str, outcome: Outcome, *, is_last: bool) -> None:
        """Count what became of one of the group in a stage."""
        self.usage += outcome.usage
        match outcome.status:
            case ItemStatus.FINISHED:
                self.accepted += is_last
            case ItemStatus.REJECTED:
                self.rejected[stage] += 1
            case ItemStatus.FAILED:
                self.failed[stage] += 1

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {
            "instances": self.instances,
            "accepted": self.accepted,
            "yield": self.acceptance_rate,
            "rejected": {**self.rejected},
            "failed": {**self.failed},
            **self.usage.as_json(),
        }


class GateComparison:
    """Tells apart, by the first reason of the gate, what becomes of instances behind it."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.sound = Passage()
        """Those that the gate lets through."""
        self.refused = Passage()
        """Those that it would have refused."""
        self.by_reason: dict[str, Passage] = {}
        """The refused ones, by what they would have been refused for."""
        self._reasons: dict[str, str] = {}
        """By id of the instance."""

    def admit(self, id: str, instance: Instance) -> None:
        """Take note of an instance that goes on from the gate."""
        if instance.gate_faults:
            self._reasons[id] = instance.gate_faults[0]
            self.by_reason.setdefault(instance.gate_faults[0], Passage())
        for group in self._groups(id):
            group.instances += 1

    def settle(self, stage: str, outcome: Outcome, *, is_last: bool) -> None:
        """Take note of what became of an instance in a stage behind the gate."""
        for group in self._groups(outcome.item):
            group.take(stage, outcome, is_last=is_last)

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {
            "would_refuse": self.refused.as_json(),
            "others": self.sound.as_json(),
            "by_reason": {name: self.by_reason[name].as_json() for name in sorted(self.by_reason)},
        }

    def _groups(self, id: str) -> list[Passage]:
        reason = self._reasons.get(id)
        return [self.sound] if reason is None else [self.refused, self.by_reason[reason]]
