"""When reinforcement learning is interrupted for a supervised phase.

A phase comes behind a step of reinforcement learning, and belongs to it: whoever keeps a checkpoint of that
step keeps one in which the phase is done. So what is planned follows from the number of a step, and only what
alarms brought on has to be remembered.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate

from training.signals.supervision.settings import ScheduleSettings

__all__ = ["Schedule"]


class Schedule:
    """The phases of a run: those that are planned, and those that alarms bring on."""

    def __init__(self, settings: ScheduleSettings, done: Iterable[int] = ()) -> None:
        """Go on.

        Args:
            settings: Say when.
            done: Steps behind which phases were, as :attr:`done` gave them.
        """
        self._settings = settings
        self._done = sorted(set(done))

    @property
    def done(self) -> tuple[int, ...]:
        """Steps behind which phases were; it goes into a checkpoint."""
        return tuple(self._done)

    def is_due(self, step: int, holding: Collection[str] = ()) -> bool:
        """Say whether a phase comes behind a step; asking changes nothing.

        An alarm that keeps holding brings on one phase after the other, as far apart as the settings say.

        Args:
            step: Steps that are made, from 1.
            holding: Names of the alarms whose condition holds with the step.
        """
        if step in self._done:
            return False
        if step in self.planned(step):
            return True
        last = max(self._done, default=None)
        is_far = last is None or step - last >= self._settings.least_gap
        return is_far and not set(self._settings.alarms).isdisjoint(holding)

    def note(self, step: int) -> None:
        """Take down that the phase behind a step is done; twice is once."""
        self._done = sorted({*self._done, step})

    def planned(self, up_to: int) -> tuple[int, ...]:
        """Give the steps behind which phases are planned, up to that step."""
        return tuple(self._plan(up_to))

    def _plan(self, up_to: int) -> Iterator[int]:
        for step in accumulate(self._stretches()):
            if step > up_to:
                return
            yield step

    def _stretches(self) -> Iterator[int]:
        """Give the steps of each stretch that a phase follows."""
        yield from self._settings.stages[:-1]
        length = self._settings.first
        while length is not None:
            yield length
            length = round(length * self._settings.growth)
