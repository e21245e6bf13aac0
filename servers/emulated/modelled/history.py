"""What was called and answered in a session: the recent calls in their words, the older ones as a state.

The history is bounded in characters, not in calls. It says when calls have to be folded into the state, and
which; :mod:`servers.emulated.modelled.asking` has the model do it. When that is depends on the calls alone,
so a session that is restored comes to the questions that it had asked before.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from astra_mcp.types import JsonValue
from servers.emulated.modelled.excerpts import MAX_NAME, arguments_text, cut

__all__ = ["MAX_STATE", "History", "told_call"]

MAX_STATE: Final = 4000
"""Characters of the compact state."""
_MAX_RECENT: Final = 16_000
"""Of the calls in their words; beyond it, the older ones are folded."""
_MAX_KEPT: Final = 8000
"""So much of them stays unfolded at the most, so that not every further call has to be folded again."""
_MAX_ARGUMENTS: Final = 3000
_MAX_ANSWER: Final = 4500
"""Of one call in the history; what is longer is cut, with a mark. Together less than what is kept, so that
the last call always is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Never changes: a call that fails half-way leaves what was before."""

    state: str = ""
    """Covers all calls but the recent ones; written by the model."""
    recent: tuple[str, ...] = ()
    """Each call with its answer, as the model is shown it; the oldest first."""

    def with_call(self, told: str) -> Self:
        """Add a call that was answered."""
        return replace(self, recent=(*self.recent, told))

    def with_state(self, state: str, num_folded: int) -> Self:
        """Put a state in the place of the one before and of the oldest calls."""
        return replace(self, state=state, recent=self.recent[num_folded:])

    def to_fold(self) -> Sequence[str]:
        """Say which calls, the oldest, have to be folded before anything is asked; none while they fit.

        Where a whole life was taken over at once, these are the first that were folded in it.
        """
        length = 0
        for number, told in enumerate(self.recent, start=1):
            length += len(told) + 1
            if length > _MAX_RECENT:
                return self.recent[: self._num_folded(number)]
        return ()

    def _num_folded(self, num_calls: int) -> int:
        """Of so many calls, which are too long together, count those that make room for the rest."""
        kept = 0
        for number in range(num_calls, 0, -1):
            kept += len(self.recent[number - 1]) + 1
            if kept > _MAX_KEPT:
                return number
        return 0


def told_call(tool: str, arguments: Mapping[str, JsonValue], answer: str, *, is_error: bool) -> str:
    """Write a call and its answer down for the model."""
    outcome = "failed" if is_error else "answered"
    if "\n" in answer:  # that no answer looks like a call
        answer = json.dumps(answer, ensure_ascii=False)
    call = f"call: {cut(tool, MAX_NAME)} {arguments_text(dict(arguments), _MAX_ARGUMENTS)}"
    return f"{call}\n{outcome}: {cut(answer, _MAX_ANSWER)}"
