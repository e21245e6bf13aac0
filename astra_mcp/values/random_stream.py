"""Chance that depends on a place alone: equal seeds and equal paths throw alike, in any order.

:func:`astra_mcp.seeds.derive_seed` names the root; below it thousands of throws are made for one answer,
each of them one hash.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

__all__ = ["RandomStream"]

T = TypeVar("T")

_BYTES = 16


class RandomStream:
    """One throw, and the way to others."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        """Begin at a place.

        Args:
            key: Up to 64 bytes that say which place it is.
        """
        self._key = key

    @classmethod
    def of_seed(cls, seed: int) -> "RandomStream":
        """Begin at a derived seed."""
        return cls(seed.to_bytes(8, "big"))

    def at(self, *names: str | int) -> "RandomStream":
        """Go on to the place of a name under this one."""
        path = str(names[0]) if len(names) == 1 else "\0".join(map(str, names))
        text = path.encode("utf-8", "surrogatepass")
        return RandomStream(blake2b(text, key=self._key, digest_size=_BYTES).digest())

    @property
    def key(self) -> bytes:
        """Names the place among all places of all seeds."""
        return self._key

    @property
    def number(self) -> int:
        """What is thrown here, in [0, 2**64)."""
        return int.from_bytes(self._key[:8], "big")

    def below(self, limit: int) -> int:
        """Throw in [0, limit); the same at every question."""
        return self.number % limit

    def between(self, low: int, high: int) -> int:
        """Throw in [low, high]; the same at every question."""
        return low + self.number % (high - low + 1)

    def choose(self, options: Sequence[T]) -> T:
        """Choose one of several; the same at every question."""
        return options[self.number % len(options)]

    def fraction(self) -> float:
        """Throw in [0, 1); the same at every question."""
        return (self.number >> 11) / (1 << 53)

    def digits(self, length: int, alphabet: str = "0123456789abcdef") -> str:
        """Throw a text of so many characters."""
        number, base, text = int.from_bytes(self._key, "big"), len(alphabet), ""
        for at in range(length):
            if at % 16 == 15:
                number = int.from_bytes(self.at("more", at)._key, "big")
            number, place = divmod(number, base)
            text += alphabet[place]
        return text
