r"""Texts that match a regular expression, for the expressions that schemas of tools hold.

Literals, classes, ``\d \w \s``, groups, alternatives, repetitions and anchors at the ends, in ECMA 262's
writing; what looks around itself or back is refused. Libraries that do this read Python's expressions, and
draw from generators of their own.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

from astra_mcp.values.random_stream import RandomStream

__all__ = ["PatternError", "matching_text"]

_DIGITS = "0123456789"
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_PRINTABLE = "".join(map(chr, range(32, 127)))
_CLASSES = {
    "d": _DIGITS,
    "w": _WORD,
    "s": " ",
    "D": "".join(c for c in _PRINTABLE if c not in _DIGITS),
    "W": "".join(c for c in _PRINTABLE if c not in _WORD),
    "S": "".join(c for c in _PRINTABLE if c != " "),
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_FEW = 6
"""An open repetition is made up to so many more times."""
_MOST = 4096
_LONGEST = 20_000
_DISTINCT = 1024


class _Drawing:
    """How one text is drawn."""

    __slots__ = ("left", "times")

    def __init__(self, times: int | None) -> None:
        self.times = times
        self.left = _LONGEST

    def spend(self) -> None:
        """Count a character."""
        self.left -= 1
        if self.left < 0:
            raise PatternError(f"it asks for more than {_LONGEST} characters")


_Part = Callable[[RandomStream, _Drawing], str]
"""Draws a text for a part of an expression."""


class PatternError(ValueError):
    """An expression is beyond what is read here, or none at all."""


def matching_text(pattern: str, rng: RandomStream, *, times: int | None = None) -> str:
    """Draw a text that matches.

    Args:
        pattern: The expression.
        rng: Decide it.
        times: How often each part is repeated, as far as it may be; thrown where it is None.

    Raises:
        PatternError: The expression cannot be followed.
    """
    return _compiled(pattern)(rng, _Drawing(times))


@lru_cache(_DISTINCT)
def _compiled(pattern: str) -> _Part:
    return _Reader(pattern).whole()


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def whole(self) -> _Part:
        """Read all of it."""
        part = self._alternatives()
        if self._at < len(self._text):
            raise PatternError(f"unbalanced ')' at {self._at}")
        return part

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, text: str) -> bool:
        is_there = self._text.startswith(text, self._at)
        self._at += len(text) if is_there else 0
        return is_there

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise PatternError("the expression ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _alternatives(self) -> _Part:
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return lambda rng, drawing: rng.choose(options)(rng.at("|"), drawing)

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")"):
            atom = self._atom()
            if atom is not None:
                parts.append(self._repeated(atom))
        if len(parts) == 1:
            return parts[0]
        return lambda rng, drawing: "".join(
            part(rng.at(at), drawing) for at, part in enumerate(parts)
        )

    def _atom(self) -> _Part | None:
        """One thing to match; None for what matches no text."""
        sign = self._next()
        match sign:
            case "^" | "$":
                return None
            case "(":
                return self._group()
            case "[":
                return _one_of(self._set())
            case "\\":
                return self._escape()
            case ".":
                return _one_of(_WORD)
            case "*" | "+" | "?" | "{":
                raise PatternError(f"nothing to repeat before {sign!r}")
            case _:
                return _one_of(sign)

    def _group(self) -> _Part:
        if self._take("?") and not self._take(":"):
            if not self._take("<") or self._peek() in ("=", "!"):
                raise PatternError("groups that look around are not followed")
            while self._next() != ">":
                pass
        part = self._alternatives()
        if not self._take(")"):
            raise PatternError("a group is not closed")
        return part

    def _escape(self) -> _Part | None:
        sign = self._next()
        if sign in "bB":
            return None
        if (sign.isdigit() and sign != "0") or sign == "k":
            raise PatternError("references back are not followed")
        return _one_of(self._escaped(sign))

    def _escaped(self, sign: str) -> str:
        """The characters that an escape stands for."""
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign in ("p", "P"):
            raise PatternError("Unicode properties are not followed")
        if sign in ("x", "u"):
            return self._code_point(2 if sign == "x" else 4)
        return _CONTROLS.get(sign, "\0" if sign == "0" else sign)

    def _code_point(self, length: int) -> str:
        if self._take("{"):
            digits = "".join(iter(self._next, "}"))
        else:
            digits = "".join(self._next() for _ in range(length))
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise PatternError(f"no code point: {digits!r}") from None

    def _set(self) -> str:
        """The characters of a class in brackets."""
        is_negated = self._take("^")
        members = "".join(self._members())
        if is_negated:
            members = "".join(c for c in _PRINTABLE if c not in members)
        if not members:
            raise PatternError("a class has no members")
        return members

    def _members(self) -> Iterator[str]:
        while not self._take("]"):
            first = self._member()
            if len(first) == 1 and self._peek() == "-" and self._text[self._at + 1 :][:1] != "]":
                self._next()
                last = self._member()
                if len(last) != 1 or last < first:
                    raise PatternError(f"no range: {first}-{last}")
                yield "".join(map(chr, range(ord(first), min(ord(last), ord(first) + 255) + 1)))
            else:
                yield first

    def _member(self) -> str:
        sign = self._next()
        if sign != "\\":
            return sign
        escape = self._next()
        return "\b" if escape == "b" else self._escaped(escape)

    def _repeated(self, part: _Part) -> _Part:
        least, most = self._bounds()
        if least is None:
            return part
        self._take("?")
        if self._peek() in ("*", "+", "?") or least > _MOST:
            raise PatternError("a repetition is repeated, or too long")
        top = least + _MOST if most is None else min(most, least + _MOST)
        if top < least:
            raise PatternError("a repetition ends before it begins")

        def draw(rng: RandomStream, drawing: _Drawing) -> str:
            number = rng.at("n").between(least, min(top, least + _FEW))
            if drawing.times is not None:
                number = min(max(drawing.times, least), top)
            return "".join(part(rng.at(i), drawing) for i in range(number))

        return draw

    def _bounds(self) -> tuple[int | None, int | None]:
        """Least and most times; no least where nothing is repeated."""
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self._take(sign):
                return least, most
        if not self._take("{"):
            return None, None
        low, comma, high = "".join(iter(self._next, "}")).partition(",")
        try:
            least = int(low)
            return least, (int(high) if high else None) if comma else least
        except ValueError:
            raise PatternError("a repetition without a number") from None


def _one_of(characters: str) -> _Part:
    def draw(rng: RandomStream, drawing: _Drawing) -> str:
        drawing.spend()
        return rng.choose(characters)

    return draw
