"""One thing that can be computed: what tools call it, what it takes, and how it is done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import singular
from astra_mcp.values.random_stream import RandomStream
from servers.emulated.offline.computing import operands
from servers.emulated.offline.computing.operands import Reader

__all__ = [
    "REQUIRED",
    "Computation",
    "Moment",
    "Operand",
    "computation",
    "digits",
    "flag",
    "integer",
    "items",
    "matrix",
    "number",
    "numbers",
    "option",
    "text",
    "texts",
]

REQUIRED: Final = object()
"""The default of an operand that has none."""
MAX_BITS: Final = 8192
"""Of whole numbers on the way to a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When in a session something is computed."""

    now: int
    """Seconds since 1970 by the session's clock."""
    rng: RandomStream
    """Decide what is thrown; others at each call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """What a computation takes."""

    name: str
    """The keyword of the function that computes."""
    keys: tuple[str, ...]
    """Parameters that hold it, in normal form, the likeliest first."""
    read: Reader
    types: frozenset[str]
    """JSON types by which it may come."""
    default: object = REQUIRED
    told: Mapping[str, object] = field(default_factory=dict[str, object])
    """Words of a tool's name or description that say what it is where no argument does."""
    is_neutral: bool = False
    """It may also come as ``a``, ``x`` or ``number1``, by its place among the operands."""
    takes_many: bool = False
    """Several arguments may hold it together."""

    @property
    def is_required(self) -> bool:
        """There is nothing to compute without it."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """A function and how to know it."""

    phrases: tuple[frozenset[str], ...]
    """Words that name it, in any order; the words of a tool's name hold all of one phrase."""
    beside: frozenset[str]
    """Words that may stand beside a phrase."""
    operands: tuple[Operand, ...]
    run: Callable[..., JsonValue]
    """Takes the operands by their names; an object is an answer of several members."""
    is_of_session: bool = False
    """It takes the session's :class:`Moment` as ``moment``."""
    is_sure: bool = True
    """The phrase says enough: an argument that does not fit is the caller's mistake, not another reading."""


def computation(
    phrases: str,
    run: Callable[..., JsonValue],
    *operands: Operand,
    beside: str = "",
    is_of_session: bool = False,
    is_sure: bool = True,
) -> Computation:
    """Describe a computation.

    Args:
        phrases: Between commas; nouns in the singular.
        run: Computes it.
        operands: In the order in which neutral names are given out.
        beside: Words that may stand beside the phrases.
        is_of_session: See :attr:`Computation.is_of_session`.
        is_sure: See :attr:`Computation.is_sure`.
    """
    named = [frozenset(singular(word) for word in phrase.split()) for phrase in phrases.split(",")]
    return Computation(
        phrases=tuple(named),
        beside=frozenset(singular(word) for word in beside.split()),
        operands=operands,
        run=run,
        is_of_session=is_of_session,
        is_sure=is_sure,
    )


_NUMERIC: Final = frozenset(("number", "integer", "string"))
_TEXTUAL: Final = frozenset(("string",))
_LISTED: Final = frozenset(("array", "string"))


def _operand(
    name: str, keys: str, read: Reader, types: frozenset[str], more: dict[str, Any]
) -> Operand:
    names = tuple(dict.fromkeys((name, *keys.split())))
    return Operand(name=name, keys=names, read=read, types=types, **more)


def number(name: str, keys: str = "", **more: Any) -> Operand:
    """An operand that is a number."""
    return _operand(name, keys, operands.number, _NUMERIC, more)


def integer(name: str, keys: str = "", **more: Any) -> Operand:
    """An operand that is a whole number."""
    return _operand(name, keys, operands.integer, _NUMERIC, more)


_LISTS: Final = (
    "numbers values list array data dataset data_points items nums number_list input elements"
)


def numbers(name: str = "numbers", keys: str = _LISTS, **more: Any) -> Operand:
    """An operand that is a list of numbers; several arguments may hold them."""
    return _operand(name, keys, operands.numbers, _LISTED, {"takes_many": True, **more})


_TEXTS: Final = (
    "text input string str content message sentence value s input_text input_string source data word"
    " words phrase txt body input_str text_input original paragraph document"
)


def text(name: str = "text", keys: str = _TEXTS, **more: Any) -> Operand:
    """An operand that is a text."""
    return _operand(name, keys, operands.text, _TEXTUAL, more)


def digits(name: str, keys: str = "", **more: Any) -> Operand:
    """An operand that is a number in any notation."""
    return _operand(name, keys, operands.text, _NUMERIC, more)


def texts(name: str, keys: str = "", **more: Any) -> Operand:
    """An operand that is a list of texts."""
    return _operand(name, keys, operands.texts, _LISTED, more)


def items(name: str = "items", keys: str = f"{_LISTS} options", **more: Any) -> Operand:
    """An operand that is a list."""
    return _operand(name, keys, operands.items, frozenset(("array",)), more)


def matrix(name: str = "matrix", keys: str = "m data values array", **more: Any) -> Operand:
    """An operand that is rows of numbers."""
    return _operand(name, keys, operands.matrix, _LISTED, more)


def flag(name: str, keys: str = "", **more: Any) -> Operand:
    """An operand that is true or false."""
    return _operand(name, keys, operands.flag, frozenset(("boolean", "string")), more)


def option(name: str, keys: str, default: object, told: str = "") -> Operand:
    """A text that chooses a way; words of the tool choose it, too.

    Args:
        name: Of the operand.
        keys: Of parameters.
        default: Where nothing says it; :data:`REQUIRED` where it must be said.
        told: The words, each choosing itself, or ``word=choice``.
    """
    pairs = (word.partition("=") for word in told.split())
    choices: dict[str, object] = {word: choice or word for word, _, choice in pairs}
    return _operand(name, keys, operands.text, _TEXTUAL, {"default": default, "told": choices})
