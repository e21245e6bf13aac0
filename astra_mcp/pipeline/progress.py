"""What a run tells while it goes on: one event for every step of every item."""

from dataclasses import dataclass

from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline.item import Outcome

__all__ = ["Begun", "Given", "Interrupted", "Progress", "Settled"]


@dataclass(frozen=True, slots=True)
class Given:
    """The source gave an item to the first stage."""

    item: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A stage began to work on an item; :class:`Settled` or :class:`Interrupted` follows."""

    stage: str
    item: str


@dataclass(frozen=True, slots=True)
class Settled:
    """It is known, and saved, what became of an item in a stage."""

    stage: str
    outcome: Outcome
    usage: Usage
    """Of this run alone; that of the outcome counts failed attempts of earlier runs too."""
    is_recalled: bool
    """True where an earlier run did the work, so that nothing was begun."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run was stopped at once while a stage worked on an item; nothing of it was saved."""

    stage: str
    item: str
    usage: Usage


Progress = Given | Begun | Settled | Interrupted
"""The outputs of a settled item are given to the next stage; no event of their own says so."""
