"""The table of kinds: each makes bundles of one sort, honest ones or such as one check refuses."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from astra_mcp.environments.bundle import Bundle
from astra_mcp.seeds import generator

Honest = Callable[[Random], Bundle]
Pair = Callable[[Random, bool], Bundle]
_ROOT = 20261123


@dataclass(frozen=True, slots=True)
class Kind:
    """A sort of bundles, by the name of the function that makes them."""

    name: str
    about: str
    """What is wrong with them, or what they are about."""
    checks: tuple[str, ...]
    """Checks of which one at least refuses them; none for honest ones."""
    make: Pair
    """Makes a bundle; mended where the flag says so."""

    def bundle(self, variant: int, *, mended: bool = False) -> Bundle:
        """One bundle; the mended one of the same variant differs by the named change alone."""
        made = self.make(generator(_ROOT, self.name, variant), mended)
        short = self.name.replace("_", "-")[:36].rstrip("-")
        name = f"{short}-{'ok-' if mended and self.checks else ''}{variant}"
        server = {**made.server, "name": f"example.org/{name}"}
        document = made.document.model_copy(update={"name": name})
        return Bundle(document=document, code=made.code, server=server)


KINDS: dict[str, Kind] = {}
"""Every kind by its name, in the order of definition."""


def cheat(*checks: str) -> Callable[[Pair], Pair]:
    """Register a kind that one of these checks refuses, but not once it is mended."""

    def register(make: Pair) -> Pair:
        _add(make.__name__, make.__doc__, checks, make)
        return make

    return register


def honest(make: Honest) -> Honest:
    """Register a kind that is verified."""
    _add(make.__name__, make.__doc__, (), lambda rng, _: make(rng))
    return make


def _add(name: str, about: str | None, checks: tuple[str, ...], make: Pair) -> None:
    if name in KINDS or not about:
        msg = f"{name} needs a name of its own and a docstring"
        raise ValueError(msg)
    KINDS[name] = Kind(name, about.partition("\n")[0], checks, make)
