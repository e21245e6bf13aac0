"""The same number or colour written in another way: bases, Roman numerals, hexadecimal colours."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from astra_mcp.types import JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    computation,
    digits,
    integer,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError
from servers.emulated.offline.computing.subjects.arithmetic import exact

__all__ = ["COMPUTATIONS", "between", "from_roman", "in_base", "to_roman"]

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_MAX_DIGITS: Final = 1000
_ROMAN: Final = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_BASES: Final = {
    "binary": 2, "bin": 2, "octal": 8, "oct": 8, "decimal": 10, "dec": 10, "hexadecimal": 16, "hex": 16, "int": 10,
    "integer": 10,
}  # fmt: skip
_ROMANS: Final = frozenset(("roman", "roman_numeral"))
_NUMBERS: Final = frozenset(("decimal", "integer", "int", "arabic", "number", "dec"))


def in_base(number: int, base: int) -> str:
    """A whole number in digits of a base, without a prefix."""
    rest, digits = abs(number), ""
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if number < 0 else digits


def _parsed(written: str, base: int) -> int:
    plain = written.strip().lower()
    if len(plain) > _MAX_DIGITS:
        raise UnfitError(f"A number of {len(plain)} digits is longer than {_MAX_DIGITS}")
    try:
        return int(plain, base)
    except ValueError:
        raise UnfitError(f"{written!r} is not a number in base {base}") from None


def _base(base: str) -> int:
    named = _BASES.get(base.strip().lower())
    found = named if named is not None else int(base) if base.strip().isdigit() else 0
    if not 2 <= found <= 36:
        raise UnfitError(f"The base must be between 2 and 36, not {base}")
    return found


def rewritten(number: str, source: str, target: str) -> JsonValue:
    """A number of one base in another one; a text, but for base 10."""
    value, base = _parsed(number, _base(source)), _base(target)
    return exact(value) if base == 10 else in_base(value, base)


def to_roman(number: int) -> str:
    """A number from 1 to 3999 in Roman numerals."""
    if not 1 <= number <= 3999:
        raise UnfitError("Roman numerals are defined for numbers from 1 to 3999")
    written = ""
    for value, letters in _ROMAN:
        times, number = divmod(number, value)
        written += letters * times
    return written


def from_roman(text: str) -> int:
    """The number that Roman numerals in their usual form write."""
    plain, total = text.strip().upper(), 0
    rest = plain
    for value, letters in _ROMAN:
        while rest.startswith(letters) and len(plain) <= 20:
            rest, total = rest[len(letters) :], total + value
    if rest or not plain or to_roman(total) != plain:
        raise UnfitError(f"Invalid Roman numeral: {text[:40]}")
    return total


def hex_to_rgb(text: str) -> JsonValue:
    """The three parts of a colour."""
    plain = text.strip().lstrip("#")
    plain = "".join(c * 2 for c in plain) if len(plain) == 3 else plain
    if not re.fullmatch("[0-9a-fA-F]{6}", plain):
        raise UnfitError(f"Invalid hex color: {text[:40]}")
    red, green, blue = (int(plain[at : at + 2], 16) for at in (0, 2, 4))
    return {"r": red, "g": green, "b": blue, "rgb": f"rgb({red}, {green}, {blue})"}


def rgb_to_hex(r: int, g: int, b: int) -> JsonValue:
    """A colour of three parts from 0 to 255."""
    if not all(0 <= part <= 255 for part in (r, g, b)):
        raise UnfitError("Colour values must be between 0 and 255")
    return f"#{r:02x}{g:02x}{b:02x}"


_WRITTEN: Final = "number value num n input text x digits"


def between(source: str, target: str) -> Computation | None:
    """What a tool does that is named for two notations, such as ``decimal_to_binary``; None for others."""
    if source in _NUMBERS and target in _ROMANS:
        return computation("", to_roman, integer("number", f"{_WRITTEN} {source}"))
    if source in _ROMANS and target in _NUMBERS:
        return computation("", from_roman, text("text", f"{_WRITTEN} roman roman_numeral numeral"))
    if source == "hex" and target == "rgb":
        return computation(
            "", hex_to_rgb, text("text", "hex color colour hex_color value hex_code")
        )
    if source == "rgb" and target == "hex":
        parts = (("r", "red"), ("g", "green"), ("b", "blue"))
        return computation("", rgb_to_hex, *(integer(name, key) for name, key in parts))
    if source in _BASES and target in _BASES:
        run: Callable[..., JsonValue] = partial(rewritten, source=source, target=target)
        return computation(
            "", run, digits("number", f"{_WRITTEN} {source} {source}_number {source}_string")
        )
    return None


_FROM: Final = "from_base source_base base_from input_base from"
_TO: Final = "to_base target_base base_to output_base to"
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("convert base, base conversion, base converter, number base, radix convert, convert number base", rewritten, digits("number", _WRITTEN),
                digits("source", _FROM), digits("target", _TO), beside="number radix convert"),
)  # fmt: skip
