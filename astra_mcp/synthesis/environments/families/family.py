"""What a family is: a maker of environments that vary in everything but how their parts hang together."""

from collections.abc import Callable
from dataclasses import dataclass, field

from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.draft import Draft

__all__ = ["Family"]


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
