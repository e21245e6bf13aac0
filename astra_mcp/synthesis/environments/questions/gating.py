"""The second stage: the topology gate and the near-duplicates, all in code."""

from dataclasses import dataclass

from astra_mcp.answers import contains_answer
from astra_mcp.domains import Domain
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.duplicates import SourceOrder
from astra_mcp.synthesis.environments.asking import stage_version
from astra_mcp.synthesis.environments.questions.formulas import check_derivation
from astra_mcp.synthesis.environments.questions.instance import (
    Instance,
    Origin,
    levels_of,
    shape_of,
)
from astra_mcp.synthesis.environments.questions.topology import Wanted, signals_of, topology_faults
from astra_mcp.synthesis.texts import Fault

__all__ = ["TopologyGate"]

_RULES = "4"
"""Of the rules of the gate; a change of theirs decides anew."""


@dataclass(frozen=True, slots=True)
class TopologyGate:
    """Lets instances through that are sound and not there yet."""

    wanted: Wanted
    order: SourceOrder
    is_open: bool = False
    """A control run: faults are noted, and the instance goes on."""
    name = "topology"
    takes = Instance

    @property
    def version(self) -> str:
        """Of the rules, of what is asked for, and of this run."""
        return stage_version(
            rules=_RULES, wanted=self.wanted, is_open=self.is_open, opened=self.order.opened
        )

    async def run(self, item: Item[Instance]) -> Made[Instance] | Rejected:
        """Judge one instance, once all before it are decided.

        Raises:
            UndecidedError: One before it failed or was not begun, and could keep it out.
        """
        instance = _labelled(item.value)
        faults = [*_faults(instance, self.wanted)]
        await self.order.turn(item.id)
        if faults and not self.is_open:
            return Rejected(faults[0].reason, "; ".join(f.detail for f in faults))
        alike = self.order.find(item.id, instance.main_question)
        if alike is not None:
            return Rejected("near_duplicate", f"nearly the same was asked before, as {alike}")
        reasons = tuple(dict.fromkeys(fault.reason for fault in faults))
        return Made.of(Item(id=item.id, value=_described(instance, reasons)))


def _labelled(instance: Instance) -> Instance:
    label = instance.domain.strip().lower().replace("-", "_").replace(" ", "_")
    return instance.model_copy(update={"label": Domain(label) if label in {*Domain} else None})


def _faults(instance: Instance, wanted: Wanted) -> list[Fault]:
    found = [*topology_faults(instance, wanted, instance.corpus)]
    if instance.label is None:
        found.append(Fault("unknown_domain", f"{instance.domain!r} is none of the labels"))
    asked = instance.asked_question
    if asked is not None and " ".join(asked.split()) != " ".join(instance.main_question.split()):
        found.append(Fault("other_question", "the main question is not the one that was given"))
    return found


def _described(instance: Instance, reasons: tuple[str, ...]) -> Instance:
    """Note what the dependencies make of it, and where its answers come from."""
    corpus = instance.corpus
    origins = {
        sub.id: Origin.FROM_CORPUS if contains_answer(corpus, sub.answer) else Origin.SYNTHESIZED
        for sub in instance.sub_questions
        if corpus
    }
    is_ordered = len(levels_of(instance)) == len(instance.sub_questions) > 0
    return instance.model_copy(
        update={
            "shape": shape_of(instance) if is_ordered else None,
            "origins": origins,
            "signals": tuple(signals_of(instance)),
            "is_derivation_open": check_derivation(instance).is_open,
            "gate_faults": reasons,
        }
    )
