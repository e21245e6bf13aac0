"""Optional parameters that add something to the result of a tool, and that no question needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["Aside", "Asides"]


@dataclass(frozen=True, slots=True)
class Aside:
    """Something that a tool adds to its result where it is asked to."""

    name: str
    """What the added field may be called, between ``|``."""
    about: tuple[str, str]
    """What it is, in English and in Chinese."""
    value: str
    """An expression in the code of the tool."""


class Asides:
    """As many of several as a brief wants, for one tool."""

    def __init__(self, draft: Draft, several: Sequence[Aside]) -> None:
        draw = draft.brief.draw("asides")
        self._chosen = draw.some(several, min(draft.brief.knobs.options, len(several)))
        self._draft = draft
        verb = draw.pick(["with", "include", "show"])
        for place, aside in enumerate(self._chosen):
            draft.name(**{f"aside_{place}": aside.name, f"ask_{place}": f"{verb}_$aside_{place}"})

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Their parameters, each off where it is left out."""
        say = self._draft.say
        return {
            f"$ask_{n}": {
                "type": "boolean",
                "default": False,
                "description": say(f"Also give {a.about[0]}.", f"是否同时返回{a.about[1]}。"),
            }
            for n, a in enumerate(self._chosen)
        }

    @property
    def members(self) -> str:
        """What adds them to a dict display in the code of the tool, as its last members."""
        return "".join(
            f', **({{"$aside_{n}": {a.value}}} if $ask_{n} else {{}})'
            for n, a in enumerate(self._chosen)
        )

    def show(self, tool: str, **arguments: Any) -> None:
        """Show each of them by a call."""
        for place in range(len(self._chosen)):
            self._draft.example(tool, **arguments, **{f"$ask_{place}": True})
