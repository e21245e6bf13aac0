"""Which identifiers were given out: all words of the documents, the request and the answers so far."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

__all__ = ["GivenWords", "words_in"]

_WORD: Final = re.compile(r"[^\s\"'`<>()\[\]{},;|]+")
_PARTS: Final = re.compile(r"[/?=&#:@.]+")
_MAX_WORDS: Final = 200_000
"""Beyond these, every identifier may have been given out."""
_MAX_WORD: Final = 200


def words_in(*values: Any) -> frozenset[str]:
    """Find what may be an identifier in JSON values, names of members included."""
    return frozenset(word for value in values for word in _words(value))


class GivenWords:
    """Of one session."""

    def __init__(self, *known: frozenset[str]) -> None:
        """Begin with what is known beforehand."""
        self._known = known
        self._words = set[str]()

    def add(self, words: Iterable[str]) -> None:
        """Take words over, up to a bound."""
        if len(self._words) <= _MAX_WORDS:
            self._words |= frozenset(words)

    def may_hold(self, id: str) -> bool:
        """Say whether an identifier may have been given out, alone or as a part of something."""
        if len(self._words) > _MAX_WORDS:
            return True
        return all(self._holds(word) for word in _WORD.findall(id.casefold()))

    def _holds(self, word: str) -> bool:
        word = word.strip("._-:!?#*")
        return word in self._words or any(word in known for known in self._known)


def _words(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += [*item.keys(), *item.values()]  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(item, list | tuple):
            pending += item  # pyright: ignore[reportUnknownArgumentType]
        elif item is not None and not isinstance(item, bool):
            for word in _WORD.findall(str(item).casefold()):
                yield from (
                    part.strip("._-:!?#*")[:_MAX_WORD] for part in (word, *_PARTS.split(word))
                )
