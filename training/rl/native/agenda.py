"""What the groups of a run play: which question each, and with which seeds and distractors."""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.seeds import derive_seed, generator
from astra_mcp.types import JsonObject
from gateway.api.wire import DistractorRequest, FailureRequest
from training.rl.native.settings import DistractorShare, RlSettings
from training.rollout.plan import Rollout, Source

__all__ = ["DISTRACTORS", "Agenda", "Question"]

DISTRACTORS = "distractors"
"""Label that names the mode of distractors, where the run asked for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a group plays."""

    source: Source
    version: str | None
    distractors: DistractorRequest | None = None
    """None, like the next: the gateway decides."""
    failures: FailureRequest | None = None
    mixture: tuple[DistractorShare, ...] = ()
    """In the place of the one kind of distractors: several, of which each group gets one."""

    def as_json(self) -> JsonObject:
        """Give all of it."""
        asked = {"distractors": self.distractors, "failures": self.failures}
        return {
            "source": self.source.model_dump(mode="json"),
            "version": self.version,
            **{name: each and each.model_dump(mode="json") for name, each in asked.items()},
            "mixture": [each.model_dump(mode="json") for each in self.mixture],
        }

    def drawn(self, draw: float) -> DistractorRequest | None:
        """Give the distractors of one group.

        Args:
            draw: In [0, 1).
        """
        for each in self.mixture:
            draw -= each.share
            if draw < 0 or each is self.mixture[-1]:
                return DistractorRequest(mode=each.mode, k=each.k)
        return self.distractors


class Agenda:
    """All groups of a run, by their numbers from 0: all that one plays follows from its number."""

    def __init__(self, settings: RlSettings, questions: Sequence[Question]) -> None:
        self._settings = settings
        self._questions = questions

    def group(self, number: int, step: int) -> list[Rollout]:
        """Give the episodes of a group.

        Args:
            number: Of the group.
            step: Of training, from 0, for which it is played.
        """
        settings = self._settings
        asked = self._questions[self._place(number)]
        distractors = asked.drawn(generator(settings.seed, "rl", DISTRACTORS, number).random())
        labels = {"run": settings.out.name, "step": str(step), "group": str(number)}
        if distractors is not None:
            labels[DISTRACTORS] = distractors.mode
        return [
            Rollout(
                source=asked.source,
                version=asked.version,
                root_seed=derive_seed(settings.seed, "rl", "episodes") >> 1,
                index=number,
                sample=sample,
                distractors=distractors,
                failures=asked.failures,
                labels=labels,
            )
            for sample in range(settings.training.group_size)
        ]

    def _place(self, number: int) -> int:
        """Give the question of a group: all questions in an order of each epoch's own."""
        epoch, place = divmod(number, len(self._questions))
        order = [*range(len(self._questions))]
        generator(self._settings.seed, "rl", "order", epoch).shuffle(order)
        return order[place]
