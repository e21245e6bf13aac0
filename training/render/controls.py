"""Control tokens that data spells out: a text of a user, a tool or a model never becomes one.

A tokenizer makes a control token of its spelling wherever that stands. So the places in data are found before
the template runs, marked by what stands nowhere else, and remembered in the finished text: it is
cut there before tokens are made, and each half is ordinary text.
"""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import chain, count, pairwise
from typing import Final, TypeVar, cast

__all__ = ["Controls", "Sign"]

_NONCHARACTERS: Final = [*map(chr, range(0xFDD0, 0xFDF0))]
"""Unicode keeps them for uses within a program."""
_MIN_LENGTH = 2
"""Of a spelling: one character has no inside to be cut at."""
_T = TypeVar("_T")


class Sign:
    """Marks a place within text; it stands nowhere in the texts that it is made for."""

    def __init__(self, *values: object) -> None:
        """Choose one that stands in none of these values."""
        whole = json.dumps(values, ensure_ascii=False)
        first, second, *_ = _NONCHARACTERS
        # One that begins with a character and goes on with another overlaps with no other one.
        longer = (first + second * length for length in count(1))
        signs = chain(_NONCHARACTERS, longer)
        self.text = next(s for s in signs if s not in whole and _escaped(s) not in whole)
        self._pattern = re.compile(f"{self.text}|{re.escape(_escaped(self.text))}")

    def take_out(self, text: str) -> tuple[str, tuple[int, ...]]:
        """Give a text without its signs, and the places at which they stood."""
        parts = self._pattern.split(text)
        places: list[int] = []
        at = 0
        for part in parts[:-1]:
            at += len(part)
            places.append(at)
        return "".join(parts), tuple(places)


class Controls:
    """The spellings of control tokens."""

    def __init__(self, spellings: Iterable[str]) -> None:
        """Take them."""
        self.spellings = frozenset(s for s in spellings if len(s) >= _MIN_LENGTH)
        choice = "|".join(map(re.escape, sorted(self.spellings, reverse=True)))
        self._pattern = re.compile(f"(?=({choice}))") if choice else None

    def found(self, value: object) -> list[str]:
        """Give the spellings that stand in a JSON value, keys included; each once, in their order."""
        if isinstance(value, str):
            return [] if self._pattern is None else [*dict.fromkeys(self._pattern.findall(value))]
        if isinstance(value, Mapping):
            row = cast("Mapping[str, object]", value)
            return [
                *dict.fromkeys(s for pair in row.items() for each in pair for s in self.found(each))
            ]
        if isinstance(value, list | tuple):
            items = cast("Iterable[object]", value)
            return [*dict.fromkeys(s for each in items for s in self.found(each))]
        return []

    def mark(self, value: _T, sign: Sign) -> _T:
        """Put a sign behind the first character of each spelling in a JSON value, keys included."""
        return cast("_T", self._marked(value, sign.text))

    def _marked(self, value: object, sign: str) -> object:
        if isinstance(value, str):
            return value if self._pattern is None else self._cut(self._pattern, value, sign)
        if isinstance(value, Mapping):
            row = cast("Mapping[str, object]", value)
            return {self._marked(k, sign): self._marked(v, sign) for k, v in row.items()}
        if isinstance(value, list | tuple):
            return [self._marked(each, sign) for each in cast("Iterable[object]", value)]
        return value

    @staticmethod
    def _cut(pattern: re.Pattern[str], text: str, sign: str) -> str:
        places = [match.start() + 1 for match in pattern.finditer(text)]
        edges = [0, *places, len(text)]
        return sign.join(text[a:b] for a, b in pairwise(edges))


def _escaped(sign: str) -> str:
    """Give it as JSON of ASCII has it."""
    return json.dumps(sign)[1:-1]
