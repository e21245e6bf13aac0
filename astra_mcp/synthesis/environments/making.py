"""Making environments: each is drawn, run through the acceptance, and published whole or not at all."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from astra_mcp.concurrency import map_concurrently
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.generation import Planned, make_planned
from astra_mcp.synthesis.environments.publication import Acceptance, Publisher

__all__ = ["Made", "make_environments"]

_MAX_ATTEMPTS = 4
"""Draws for one environment, before it is given up."""


class Listener(Protocol):
    """Hears of each environment that is done."""

    def __call__(self, name: str, *, accepted: bool) -> None:
        """Take note of one."""
        ...


@dataclass(slots=True)
class Made:
    """What became of an order."""

    accepted: int = 0
    """How many stand published, those that were there before included."""
    kept: int = 0
    """How many of them were there before."""
    questions: int = 0
    """How many they are asked, all together."""
    rejected: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    """Draws that were refused, by stage and by what refused them."""
    given_up: list[str] = field(default_factory=list[str])
    """Environments that no draw was accepted for."""

    def accept(self, bundle: Bundle) -> None:
        """Count one that stands published."""
        self.accepted += 1
        self.questions += len(bundle.asked)


async def make_environments(
    planned: Iterable[Planned],
    publisher: Publisher,
    accept: Acceptance | None,
    *,
    made: Made,
    hear: Listener,
    limit: int,
) -> None:
    """Make what is planned, several at once; what is published stays where the run is stopped.

    Args:
        planned: What to make.
        publisher: Takes what is accepted.
        accept: The acceptance; None publishes everything as ``unverified``.
        made: Counts what becomes of it, also when the run is stopped.
        hear: Told of each that is done.
        limit: How many are under way at once.

    Raises:
        ConfigError: The publisher holds something else of a name, or cannot write.
        SandboxError: The sandbox itself failed.
    """

    async def make(one: Planned) -> None:
        is_accepted = await _make_one(one, publisher, accept, made)
        hear(one.name, accepted=is_accepted)

    await map_concurrently(make, [*planned], limit=limit)


async def _make_one(
    planned: Planned, publisher: Publisher, accept: Acceptance | None, made: Made
) -> bool:
    for attempt in range(_MAX_ATTEMPTS):
        try:
            bundle = make_planned(planned.again(attempt) if attempt else planned)
        except DrawError:
            made.rejected.setdefault("draw", Counter())["no world with one answer"] += 1
            continue
        drawn = bundle if accept is not None else _unverified(bundle)
        if publisher.holds(drawn, planned.split):
            made.kept += 1
            made.accept(drawn)
            return True
        refusals = () if accept is None else await accept(drawn)
        if not refusals:
            publisher.publish(drawn, planned.split)
            made.accept(drawn)
            return True
        made.rejected.setdefault("acceptance", Counter()).update(
            {failed.check.value for failed in refusals}
        )
    made.given_up.append(planned.name)
    return False


def _unverified(bundle: Bundle) -> Bundle:
    document = bundle.document.model_copy(update={"status": "unverified"})
    return bundle.model_copy(update={"document": document})
