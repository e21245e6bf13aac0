"""What a family is: a maker of environments that vary in everything but how their parts hang together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["Family"]

_MAX_ATTEMPTS = 100
"""Worlds that are drawn for one brief."""
_MAX_SPARE = 8
"""Up to so many quarters of what is wanted are drawn beside it, where many questions prove to be unclear."""


@dataclass(frozen=True, slots=True)
class Family:
    """A parametrised generator of environments that needs no model."""

    name: str
    about: str
    """One sentence that says what its environments are about."""
    make: Callable[[Brief], Draft]
    """Writes one question over its world; the same brief gives the same draft, another turn another question over
    the same data and tools. Raises :class:`DrawError` where the question has several answers in that world."""
    bounds: Bounds = field(default_factory=Bounds)
    is_micro: bool = False
    """For small models: few, short tools over a closed vocabulary."""

    def drafts(self, brief: Brief) -> list[Draft]:
        """Write as many questions as the brief asks for, all over one world, the first in which they are clear.

        Raises:
            DrawError: No such world was drawn.
        """
        wanted = brief.questions
        for attempt in range(_MAX_ATTEMPTS):
            spare = 0 if wanted == 1 else (1 + wanted // 4) * min(attempt + 1, _MAX_SPARE)
            drawn = replace(brief, questions=wanted + spare, attempt=attempt)
            clear = [*self._clear(drawn, spare)]
            if len(clear) >= wanted:
                return clear[:wanted]
        raise DrawError("no world was drawn in which the question has one answer")

    def _clear(self, brief: Brief, spare: int) -> Iterator[Draft]:
        """The questions of one world that have one answer; ends early where too few of them do."""
        texts = set[str]()
        for turn in range(brief.questions):
            try:
                draft = self.make(replace(brief, turn=turn))
            except DrawError:
                draft = None
            if draft is not None and draft.question not in texts:
                texts.add(draft.question)
                yield draft
            elif (spare := spare - 1) < 0:
                return
