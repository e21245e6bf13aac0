"""Names of people, places and firms, and codes: new in each world, and shared by no two splits."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files

from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.draw import Draw

__all__ = ["Entities", "Split", "closed_vocabulary"]

_PARTS = 100
_MAX_TRIES = 10_000
_TRIES_EACH = 60
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxyz", "aeiou"
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Split:
    """A part of all names and codes, in hundredths."""

    name: str
    begin: int
    end: int

    def holds(self, entity: str) -> bool:
        """Whether the entity belongs to it: by its spelling alone, so to exactly one of those that share 0 to 100."""
        digest = blake2b(entity.encode(), digest_size=8).digest()
        return self.begin <= int.from_bytes(digest, "big") % _PARTS < self.end


@cache
def _words(language: str) -> Mapping[str, tuple[str, ...]]:
    file = files("astra_mcp.synthesis.environments.families") / "words" / f"{language}.toml"
    return {
        kind: tuple(text.split("|"))
        for kind, text in tomllib.loads(file.read_text("utf-8")).items()
    }


def closed_vocabulary(language: str) -> tuple[str, ...]:
    """The names that all micro environments share, in English or Chinese."""
    return _words(language)["micro"]


class Entities:
    """Draws entities of one world, none of them twice; ``DrawError`` where a split holds too few."""

    def __init__(self, draw: Draw, language: str, split: Split | None = None) -> None:
        """Begin a world.

        Args:
            draw: What decides them.
            language: ``en`` or ``zh``.
            split: The part that they may belong to; None for all.
        """
        self._draw = draw
        self._language = language
        self._split = split
        self._used: set[str] = set()

    def people(self, count: int) -> list[str]:
        """Full names."""
        return self._several(count, self._person)

    def relatives(self, name: str, count: int) -> list[str]:
        """People with the last name of another: near misses of it."""
        words = _words(self._language)["first_names"]
        if self._language == "zh":
            return self._several(count, lambda: name[0] + self._draw.pick(words))
        last = name.rpartition(" ")[2]
        return self._several(count, lambda: f"{self._draw.pick(words)} {last}")

    def firms(self, count: int, *kinds: str) -> list[str]:
        """Names of firms that end in one of the kinds, such as ``Clinic``; without any, in a usual one."""
        ends = kinds or _words(self._language)["firm_kinds"]
        return self._several(count, lambda: self._joined(self._proper(), self._draw.pick(ends)))

    def places(self, count: int, *kinds: str) -> list[str]:
        """Names of places: towns, or with kinds what lies in them, such as ``Quay`` or ``Street``."""
        if not kinds:
            return self._several(count, self._proper)
        return self._several(count, lambda: self._joined(self._proper(), self._draw.pick(kinds)))

    def micro(self, count: int) -> list[str]:
        """Short names for micro environments: those that all of them share, or made-up ones where there are splits.

        No made-up name is one of those that are shared.
        """
        if self._split is None:
            return self._draw.some(closed_vocabulary(self._language), count)
        return self._several(count, self._made_up)

    def codes(self, pattern: str, count: int) -> list[str]:
        """Codes of a pattern: ``#`` stands for a digit, ``@`` for a letter but I and O, ``?`` for one of both."""
        return self._several(count, lambda: "".join(map(self._sign, pattern)))

    def _sign(self, sign: str) -> str:
        match sign:
            case "#":
                return str(self._draw.below(10))
            case "@":
                return self._draw.pick(_LETTERS)
            case "?":
                return self._draw.pick(_LETTERS + "23456789")
            case _:
                return sign

    def _made_up(self) -> str:
        """Two syllables, or two signs; another one where that is a name which micro environments share."""
        shared = closed_vocabulary(self._language)
        while True:
            if self._language == "zh":
                # No sign twice in one world: each is a word of its own to whoever compares answers.
                taken = "".join(self._used)
                left = [sign for sign in dict.fromkeys("".join(shared)) if sign not in taken]
                name = "".join(self._draw.some(left, 2))
            else:
                parts = (_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS)
                name = "".join(self._draw.pick(letters) for letters in parts).capitalize()
            if name not in shared:
                return name

    def _person(self) -> str:
        words = _words(self._language)
        first, last = self._draw.pick(words["first_names"]), self._draw.pick(words["last_names"])
        return last + first if self._language == "zh" else f"{first} {last}"

    def _proper(self) -> str:
        words = _words(self._language)
        return self._draw.pick(words["starts"]) + self._draw.pick(words["ends"])

    def _joined(self, name: str, kind: str) -> str:
        return name + kind if self._language == "zh" else f"{name} {kind}"

    def _several(self, count: int, make: Callable[[], str]) -> list[str]:
        found: list[str] = []
        for _ in range(max(_MAX_TRIES, _TRIES_EACH * count)):
            if len(found) == count:
                break
            name = make()
            if name not in self._used and (self._split is None or self._split.holds(name)):
                self._used.add(name)
                found.append(name)
        if len(found) < count:
            raise DrawError(f"only {len(found)} of {count} names or codes are left for one world")
        return found
