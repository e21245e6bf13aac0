"""Looking for answers in a text, at a cost that no text can drive up.

A text is read in slices. In each, the keys of an answer are looked for first, then its spellings, and only
where one stands the tokens around it are read. A text that would cost more is not matched, and the matching
says so: its normal form grows beyond four times its size, it has long runs of combining marks, or it has
very many near misses.
"""

import re
import threading
import unicodedata
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache

import anyio.lowlevel
import anyio.to_thread

from astra_mcp.answers.spelling import find_key, spell_answer
from astra_mcp.answers.tokens import CJK, fold, tokenize, tokenize_plain

__all__ = [
    "Matching",
    "contains_answer",
    "match_answers",
    "match_in_slices",
    "prepare_matching",
]

_SLICE = 32 << 10
"""Characters that are read without a pause."""
_CUT = 1 << 10
"""By so many a slice may be longer, to end between two tokens."""
_AROUND = 192
"""Characters read on either side of what may be an answer: several times the longest day."""
_SURE = 64
"""So far from where reading began or ended, that changes no token."""
_BEFORE = _SURE // 2
"""By so many a token may begin before what was looked for: with a sign, with the first word of several."""
_MAX_GROWTH = 4
_MAX_MARKS = 30
"""Combining marks in a row. Source: Unicode Standard Annex 15, stream-safe text."""
_MIN_MISSES, _CHARS_PER_MISS = 512, 1 << 10
_BETWEEN = re.compile(r"[\s\"'{}()\[\]:,;!?<>=|~*&#]")
_EDGE = re.compile(rf"[\s\"'{{}}()\[\],;!?<>=|~*&#]|[{CJK}](?<![年月日号])(?!\s*\d)")
_ENDS = frozenset(" \t\n\r\"'{}()[];!?<>=|~*&#")
"""No token but a day goes on beyond these."""
_END = re.compile(f"[{re.escape(''.join(sorted(_ENDS)))}]")
_DAY = re.compile("jan|feb|ma[ry]|apr|ju[nl]|aug|sep|oct|nov|dec|[年月日号]")


@dataclass(frozen=True, slots=True)
class Matching:
    """What was found in a text."""

    found: frozenset[str] = frozenset()
    """The answers that it contains."""
    refusal: str | None = None
    """Why the text was not matched to its end, so that nothing is found; None where it was."""


@dataclass(slots=True)
class _Wanted:
    """An answer that is looked for."""

    tokens: tuple[str, ...]
    keys: tuple[str, ...]

    def may_stand(self, text: str) -> bool:
        """Tell whether a text has the keys; where it has not, nothing else is looked for."""
        return all(key in text for key in self.keys)


class _TooCostlyError(Exception):
    """A text is made to be costly."""


def contains_answer(text: str, answer: str) -> bool:
    """Tell whether the answer's tokens stand together, and in order, in the text.

    An answer without tokens (empty, punctuation alone) is contained nowhere.
    """
    return answer in match_answers(text, (answer,)).found


def match_answers(text: str, answers: Collection[str]) -> Matching:
    """Look for all answers in one reading of the text."""
    if _is_ruled_out(text, answers):
        return _NOTHING
    search = _Search(text, answers)
    for _ in search.steps():
        pass
    return search.matching


async def prepare_matching() -> None:
    """Have the patterns ready, once in a process: to compile them takes a tenth of a second of a thread."""
    if not _ready:
        await anyio.to_thread.run_sync(_compile)


_ready: list[bool] = []
"""Empty until they are."""
_compiling = threading.Lock()


def _compile() -> None:
    with _compiling:  # many ask at once where many episodes begin; all but the first find it done
        tokenize("a word, 7 kg, 1 May 2025 \u2013 2026")  # beyond ASCII there is a pattern more
        tokenize("me@example.org")  # another pattern, longer by that of mail
        _ready[:] = [True]


async def match_in_slices(text: str, answers: Collection[str]) -> Matching:
    """Look for all answers, and let others have their turn between each 32,768 characters."""
    if _is_ruled_out(text, answers):
        return _NOTHING
    search = _Search(text, answers)
    for _ in search.steps():
        await anyio.lowlevel.checkpoint()
    return search.matching


_NOTHING = Matching()


def _is_ruled_out(text: str, answers: Collection[str]) -> bool:
    """Tell at a glance that a text of one slice, as nearly all are, has the keys of no answer.

    False says nothing.
    """
    if len(text) > _SLICE:
        return False
    try:
        plain, length = _plain(text)
    except _TooCostlyError:
        return False
    if length > _MAX_GROWTH * len(text):
        return False
    for keys in _keys(frozenset(answers)):
        for key in keys:
            if key not in plain:
                break
        else:
            return False
    return True


@lru_cache(maxsize=4096)
def _keys(answers: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(wanted.keys for a in answers if (wanted := _wanted(a)) is not None)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a text in one spelling; what stands near its ends may go on beyond them."""

    text: str
    is_first: bool
    is_last: bool

    def around(self, start: int, end: int) -> tuple[str, int, int]:
        """What stands around a place, and the span of it in which tokens are sure."""
        low, high = max(0, start - _AROUND), end + _AROUND
        if not _DAY.search(self.text, low, high):
            near = self._near(start, end)
            if near is not None:
                return near, 0, len(near)
        is_whole = low == 0 and self.is_first
        edge = None if is_whole else _EDGE.search(self.text, low, max(low, start - _SURE))
        cut = edge.start() if edge else low
        is_end = self.is_last and high >= len(self.text)
        last = len(self.text) if is_end else high - _SURE
        return self.text[cut:high], 0 if is_whole else start - cut - _BEFORE, last - cut

    def _near(self, start: int, end: int) -> str | None:
        """The text from the last end of a token before a place to the first after it."""
        after = _END.search(self.text, end, end + _SURE)
        low = max(0, start - _SURE)
        while start > low and self.text[start - 1] not in _ENDS:
            start -= 1
        return None if after is None or start == low else self.text[start - 1 : after.end()]


@dataclass(slots=True)
class _Search:
    text: str
    answers: Collection[str]
    matching: Matching = Matching()
    _num_misses: int = field(default=0, init=False)
    """Places where an answer might have stood and did not."""

    def steps(self) -> Generator[None]:
        """Read the text; yields between two slices."""
        missing = {a: w for a in self.answers if (w := _wanted(a)) is not None}
        found = set[str]()
        carry = 2 * (_AROUND + max(map(len, missing), default=0))
        try:
            for piece in self._pieces(carry):
                for answer, wanted in [*missing.items()]:
                    if wanted.may_stand(piece.text) and self._stands(piece, wanted):
                        found.add(answer)
                        del missing[answer]
                if not missing or piece.is_last:
                    break
                yield
        except _TooCostlyError as error:
            self.matching = Matching(refusal=str(error))
        else:
            self.matching = Matching(frozenset(found))

    def _pieces(self, carry: int) -> Iterator[_Piece]:
        """The text in normal form and folded, slice by slice, each with the end of the one before."""
        grown, before = 0, None
        for start, end in _slices(self.text):
            plain, length = _plain(self.text[start:end])
            grown += length
            if grown > _MAX_GROWTH * len(self.text):
                msg = f"its normal form is more than {_MAX_GROWTH} times as long"
                raise _TooCostlyError(msg)
            text = plain if before is None else before + plain
            yield _Piece(text, is_first=before is None, is_last=end >= len(self.text))
            before = text[-carry:]

    def _stands(self, piece: _Piece, wanted: _Wanted) -> bool:
        """Read the tokens around each place where the answer may stand."""
        for pattern in spell_answer(wanted.tokens):
            # What stands before was read with the last piece.
            start = 0 if piece.is_first else _SURE
            while place := pattern.search(piece.text, start):
                if self._is_at(piece, place, wanted):
                    return True
                start = place.start() + 1
        return False

    def _is_at(self, piece: _Piece, place: re.Match[str], wanted: _Wanted) -> bool:
        if _holds(piece.around(*place.span()), wanted.tokens):
            return True
        self._num_misses += 1
        if self._num_misses > _MIN_MISSES + len(self.text) // _CHARS_PER_MISS:
            msg = "it has more near misses of an answer than are read"
            raise _TooCostlyError(msg)
        return False


@lru_cache(maxsize=4096)
def _wanted(answer: str) -> _Wanted | None:
    tokens = tokenize(answer)
    if not tokens:
        return None
    keys = sorted(set(map(find_key, tokens)), key=len, reverse=True)
    return _Wanted(tokens, tuple(keys))


def _holds(around: tuple[str, int, int], wanted: tuple[str, ...]) -> bool:
    text, first, last = around
    tokens = [t for start, end, t in tokenize_plain(text) if first <= start and end <= last]
    return any(
        token == wanted[0] and tuple(tokens[i : i + len(wanted)]) == wanted
        for i, token in enumerate(tokens)
    )


def _slices(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = start + _SLICE
        edge = _BETWEEN.search(text, end, end + _CUT) if end < len(text) else None
        end = edge.end() if edge else end
        yield start, end
        start = end


@lru_cache(maxsize=1)
def _plain(piece: str) -> tuple[str, int]:
    """A slice as answers are compared, and its length in normal form.

    The answers of a job are looked for in one text after another, or one after another in one text.
    """
    if not piece.isascii() and any(_has_marks(run) for run in _marks().findall(piece)):
        msg = f"it has more than {_MAX_MARKS} combining marks in a row"
        raise _TooCostlyError(msg)
    normal = unicodedata.normalize("NFKC", piece)
    return fold(normal), len(normal)


@cache
def _marks() -> re.Pattern[str]:
    """A long run of what may be combining marks: those of the astral planes are not told apart."""
    marks = filter(unicodedata.combining, map(chr, range(0x80, 0x10000)))
    return re.compile(f"[{''.join(marks)}\U00010000-\U0010ffff]{{{_MAX_MARKS + 1},}}")


def _has_marks(run: str) -> bool:
    """Tell whether many combining marks stand in a row."""
    count = 0
    for char in run:
        count = count + 1 if unicodedata.combining(char) else 0
        if count > _MAX_MARKS:
            return True
    return False
