"""What an episode knows of its answers: which were solved, told by the agent, or shown to it.

An answer that the agent sends before any result showed it solves nothing from then on. Everything here
follows from the record: a result counts as shown where its line stands before that of the call. Knows
sub-tasks and the record's lines; knows neither servers nor the order of calls.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import anyio

from astra_mcp.sent_answers import NOTHING_SENT, Sent, sent_in_slices, shown_by
from astra_mcp.types import JobItem, ToolResult

ShownBefore = Callable[[int], Iterable[tuple[int, ToolResult]]]
"""The results before a byte of the record, each with the byte at which it begins."""


@dataclass(slots=True, kw_only=True)
class KnownAnswers:
    """The answers of one episode, by the ids of its sub-tasks."""

    job: Sequence[JobItem]
    shown_before: ShownBefore
    """Reads what the agent was shown back from the record."""
    solved: set[int] = field(default_factory=set[int])
    told: set[int] = field(default_factory=set[int])
    """Sent before any result showed them."""
    _shown: dict[int, int] = field(default_factory=dict[int, int], init=False)
    """Where the first result that shows an answer begins in the record, in bytes, as far as it was read."""

    async def told_by(self, texts: Iterable[str], *, began_at: int) -> Sent:
        """Find the answers that a call tells; the record is read only where it sends one not yet known.

        Args:
            texts: The free texts of the call.
            began_at: Where the record says that the call began, in bytes.

        Raises:
            RecordError: The record cannot be read.
        """
        unknown = [i for i in self.job if not self._is_known(i.id, began_at)]
        if not unknown:
            return NOTHING_SENT
        sent = await sent_in_slices(unknown, texts)
        suspected = [i for i in unknown if i.id in sent.ids]
        if not suspected:
            return sent
        shown = await anyio.to_thread.run_sync(_first_shown, self.shown_before(began_at), suspected)
        self._shown |= shown
        return sent._replace(ids=sent.ids - shown.keys())

    def _is_known(self, id: int, began_at: int) -> bool:
        return id in self.solved or id in self.told or self._shown.get(id, began_at) < began_at


def _first_shown(
    results: Iterable[tuple[int, ToolResult]], items: Sequence[JobItem]
) -> dict[int, int]:
    """Find the first of some results that shows each of the answers."""
    missing, places = {i.id: i for i in items}, dict[int, int]()
    for begin, result in results:
        for id in shown_by(tuple(missing.values()), result):
            places[id] = begin
            del missing[id]
        if not missing:
            break
    return places
