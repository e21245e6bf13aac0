"""A turn of a model as a value, and what a dialect has to do with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.errors import AstraError

__all__ = ["ControlTags", "Dialect", "ParsedCall", "ParsedTurn", "RenderError"]


class RenderError(AstraError, ValueError):
    """Messages cannot be rendered by this template and dialect; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A tool call that a turn holds."""

    name: str
    arguments: str
    """JSON text of an object, in the form of :func:`json.dumps`; in a turn that is written, maybe none."""
    id: str | None = None
    """As the model wrote it, where its dialect has ids."""


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """What a turn says. Its calls are whole and may be made; each fault is a part that could not be read."""

    content: str = ""
    """All words outside of thoughts and calls; those behind a call follow in a line of their own."""
    reasoning: str | None = None
    calls: tuple[ParsedCall, ...] = ()
    faults: tuple[str, ...] = ()
    """What is wrong, one sentence each, for the model that wrote it."""


@dataclass(frozen=True, slots=True)
class ControlTags:
    """What models of a dialect never say as words: the tags of calls, of turns, and of what is shown."""

    opening: str = ""
    """Before a call; empty where nothing has to stand there."""
    closing: str = ""
    """Behind a call; empty where the JSON says where it ends."""
    is_optional: bool = False
    """A call may stand without its opening, at the beginning of the turn."""
    ends: tuple[str, ...] = ()
    """Of a turn, the usual one first."""
    others: tuple[str, ...] = ()

    @property
    def all(self) -> frozenset[str]:
        """Each of them."""
        return frozenset(filter(None, (self.opening, self.closing, *self.ends, *self.others)))


class Dialect(Protocol):
    """One way to spell words and calls; thoughts and the end of a turn are the template's."""

    @property
    def name(self) -> str:
        """The name for people, such as ``hermes``."""
        ...

    @property
    def tags(self) -> ControlTags:
        """Those of the models that it is known from; a tokenizer may have further ones."""
        ...

    def write(self, content: str, calls: Sequence[ParsedCall]) -> str:
        """Spell a turn.

        Raises:
            RenderError: The dialect has no form for it.
        """
        ...

    def call_id(self, id: str) -> str:
        """Give the id of a call as the dialect has it, for the template too."""
        ...

    def read(self, text: str) -> ParsedTurn:
        """Read a turn without thoughts and end; reads anything, and never raises."""
        ...
