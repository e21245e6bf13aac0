"""What a family is: a maker of environments that vary in everything but how their parts hang together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["Family", "first_clear"]

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Family:
    """A parametrised generator of environments that needs no model."""

    name: str
    about: str
    """One sentence that says what its environments are about."""
    make: Callable[[Brief], Draft]
    """Writes one environment; the same brief gives the same draft."""
    bounds: Bounds = field(default_factory=Bounds)
    is_micro: bool = False
    """For small models: few, short tools over a closed vocabulary."""


def first_clear(worlds: Iterable[W], is_clear: Callable[[W], bool]) -> W:
    """The first of several worlds in which what is asked has one answer.

    Raises:
        DrawError: There is none among them.
    """
    for world in worlds:
        if is_clear(world):
            return world
    raise DrawError("no world was drawn in which the question has one answer")
