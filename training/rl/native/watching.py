"""What a native run sees of its policy's health: the form of its turns, probes by its logits, and alarms."""

from collections.abc import Mapping, Sequence
from typing import Any

from training.evaluation.sampler import ModelSampler
from training.render import Renderer, Tokenizer
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.measuring import Meter
from training.signals.health.alarms import AlarmBoard, AlarmSettings, Heard, Heeded
from training.signals.health.monitor import structure_figures, structures_of
from training.signals.health.probes import CallProbe
from training.signals.health.structure import Classifier

__all__ = ["Watch"]


class Watch:
    """Watches one run."""

    def __init__(
        self,
        settings: AlarmSettings,
        text: tuple[Renderer, Tokenizer],
        sampler: ModelSampler,
        hear: Heard,
    ) -> None:
        self._tokenizer = text[1]
        self._classifier = Classifier.of(text[0])
        self._probe = CallProbe.of(*text)
        self._sampler = sampler
        self._hear = hear
        self._board = AlarmBoard(settings)

    def look(self, played: Sequence[PolicyTrajectory]) -> dict[str, float]:
        """Give the figures of what was played for a step, by the policy as it is now."""
        spent = Meter()
        turns = [
            structures_of(one.ids, one.turns, self._classifier, self._tokenizer) for one in played
        ]
        figures = structure_figures(turns, self._classifier)
        if self._probe is not None:
            prompts = (one.ids[: one.num_prompt] for one in played if one.turns)
            contexts = self._probe.contexts(prompts)
            asked = [token for _, token in self._probe.tokens]
            figures |= self._probe.figures(self._sampler.probabilities(contexts, asked))
        return {**figures, "cpu_seconds/watching": spent.cpu_seconds}

    def heed(self, step: int, values: Mapping[str, float]) -> Heeded:
        """Ask the alarms about the figures of a step, from 1, and tell of those that are raised."""
        return self._board.heed(step, values, self._hear)

    def state(self) -> dict[str, Any]:
        """Give what a checkpoint has to hold."""
        return self._board.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with what a checkpoint held."""
        self._board.restore(state)
