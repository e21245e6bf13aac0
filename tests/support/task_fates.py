"""What became of each flaw that was planted in a run of task synthesis, read off the run's outcomes."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import create_engine, text

from astra_mcp.pipeline import ItemStatus, Outcome, YieldTable

from scripted_tasks import Planted, chain_key

__all__ = ["Fates", "Outcomes", "is_accounted_for", "read_outcomes"]

Outcomes = Mapping[tuple[str, str], Outcome]
"""By stage and item."""
_KEPT = "kept"


def read_outcomes(url: str, run: str) -> dict[tuple[str, str], Outcome]:
    """Read what a registry keeps of a run."""
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            rows = connection.execute(
                text("SELECT stage, item, outcome FROM item WHERE run = :run"), {"run": run}
            )
            return {(r.stage, r.item): Outcome.model_validate(json.loads(r.outcome)) for r in rows}
    finally:
        engine.dispose()


def is_accounted_for(table: YieldTable) -> bool:
    """True where each item of each stage is in exactly one sum, and what is made is what is received."""
    rows = {row.stage: row for row in table.stages}
    for row in table.stages:
        sums = row.finished + row.num_rejected + row.num_failed + row.interrupted + row.not_begun
        if sums != row.received or row.running:
            return False
    made = rows["server_task"].outputs + rows["execute"].outputs
    return (
        rows["augment"].received == made
        and rows["store"].received == rows["near_duplicate"].outputs
    )


@dataclass
class Fates:
    """Compares what was planted with what was refused."""

    outcomes: Outcomes
    planted: Mapping[str, Planted]
    own: Counter[str] = field(default_factory=Counter[str])
    """Flaws that were refused for their own reason."""
    other: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Flaws that were refused for another one, with it."""
    kept: list[str] = field(default_factory=list[str])
    """Flawed ones that were kept."""
    unflawed: Counter[str] = field(default_factory=Counter[str])
    """What became of those without a flaw."""

    def __post_init__(self) -> None:
        self._ends = {
            outcome.item: (stage, outcome.reason or str(outcome.status))
            for (stage, _), outcome in self.outcomes.items()
            if outcome.status is not ItemStatus.FINISHED
        }
        self._stored = {item for stage, item in self.outcomes if stage == "store"}
        for key, item in self._named():
            self._compare(item, self.planted.get(key))

    def _named(self) -> Iterator[tuple[str, str]]:
        """The key of a flaw and the item that would have it, for all that a model wrote."""
        for (stage, item), outcome in self.outcomes.items():
            outputs = [(each.id, cast("dict[str, Any]", each.value)) for each in outcome.outputs]
            match stage:
                case "proposal" | "server_task":
                    yield f"item {item}", item
                case "walk":
                    for id, value in outputs:
                        steps = value["chain"]["steps"]
                        yield chain_key([(s["server"], s["tool"]) for s in steps]), id
                case "augment":
                    for id, value in outputs:
                        if value["axis"] != "original":
                            yield f"{value['axis']} of {value['original']['query']}", id
                case _:
                    pass

    def _compare(self, item: str, planted: Planted | None) -> None:
        stage, reason = self._ends.get(item, ("", _KEPT))
        if planted is None:
            self.unflawed[f"{stage} {reason}".strip()] += 1
        elif reason == _KEPT:
            self.kept.append(f"{planted.flaw}: {item}")
        elif reason in planted.reasons:
            self.own[planted.flaw] += 1
        else:
            self.other[planted.flaw, reason] += 1


def kept_tasks(outcomes: Outcomes) -> Iterable[dict[str, Any]]:
    """The tasks that a run kept."""
    for (stage, _), outcome in outcomes.items():
        if stage == "store":
            yield from (cast("dict[str, Any]", output.value) for output in outcome.outputs)
