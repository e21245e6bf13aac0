"""Made-up people, as whom tasks are asked anew; none of them is anybody. They lie in ``personas.toml``."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from pydantic import Field

from astra_mcp.seeds import generator
from astra_mcp.types import FrozenModel

__all__ = ["Persona", "draw_personas", "load_personas", "personas_hash"]

_PACKAGE = "astra_mcp.synthesis.trajectories.tasks"
_OTHERWISE = "en"
"""Whose people ask in languages that have none of their own."""


class Persona(FrozenModel):
    """Somebody who might ask."""

    name: str
    """By which a task says as whom it is asked."""
    age: int = Field(ge=6, le=110)
    occupation: str = Field(min_length=1)
    education: str = Field(min_length=1)
    interests: tuple[str, ...] = Field(min_length=1)
    speech: str = Field(min_length=1)
    """How they write."""


@cache
def load_personas() -> Mapping[str, Sequence[Persona]]:
    """Load all, by the language that they are described in, in their order."""
    return {
        language: tuple(Persona(name=name, **row) for name, row in rows.items())
        for language, rows in tomllib.loads(_text()).items()
    }


def personas_hash() -> str:
    """Name what the people are, for the versions of stages that draw some."""
    return sha256(_text().encode()).hexdigest()[:16]


def draw_personas(item: str, language: str | None, num: int, *, seed: int) -> list[Persona]:
    """Draw different people, of the task's language where there are some.

    Args:
        item: Id of the item; the same one draws the same people in every run.
        language: ISO 639-1.
        num: How many; no more than there are come.
        seed: Of the run.
    """
    known = load_personas()
    among = known.get(language or _OTHERWISE, known[_OTHERWISE])
    return generator(seed, "personas", item).sample(among, min(num, len(among)))


def _text() -> str:
    return files(_PACKAGE).joinpath("personas.toml").read_text(encoding="utf-8")
