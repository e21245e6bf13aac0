"""Regular expressions whose cost is bounded: all ways to match are followed at once, letter by letter.

The syntax is Python's, read by its own parser; what cannot be matched so (look-around, back references) is
refused. Of several matches the one is found that Python finds. After Pike, see Russ Cox, "Regular Expression
Matching: the Virtual Machine Approach", 2009.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

__all__ = ["Found", "Pattern", "PatternRefusedError"]

_ops: Any = import_module("re._constants")
_parser: Any = import_module("re._parser")
_MAX_PATTERN: Final = 500
_MAX_PROGRAM: Final = 2000
_MAX_STEPS: Final = 1_500_000
"""Of one question; some two seconds."""


class PatternRefusedError(Exception):
    """A pattern is no regular expression, or one beyond what is matched here; the message says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """A match."""

    start: int
    end: int
    groups: tuple[tuple[int, int] | None, ...]
    """Where each group stands, from the first on."""


_CHARACTER, _SPLIT, _JUMP, _SAVE, _ASSERT, _DONE = range(6)
_Takes = Callable[[str], bool]
Saved = tuple[int, ...]


class Pattern:
    """A compiled pattern, and the steps that are left to match it."""

    def __init__(self, pattern: str, *, flags: int = 0) -> None:
        """Compile it.

        Raises:
            PatternRefusedError: It cannot be.
        """
        if len(pattern) > _MAX_PATTERN:
            raise PatternRefusedError(f"the pattern is longer than {_MAX_PATTERN} characters")
        try:
            parsed: Any = _parser.parse(pattern, flags)
        except (re.error, RecursionError, OverflowError) as fault:
            raise PatternRefusedError(str(fault)) from None
        self._flags: int = parsed.state.flags | flags
        self.num_groups: int = parsed.state.groups - 1
        self.names: dict[str, int] = dict(parsed.state.groupdict)
        self._program: list[tuple[Any, ...]] = []
        self._left = _MAX_STEPS
        self._emit(parsed)
        self._add(_DONE)

    def find_all(self, text: str) -> Iterator[Found]:
        """All matches from the left that do not overlap.

        Raises:
            PatternRefusedError: It takes too many steps.
        """
        at = 0
        while at <= len(text):
            found = self._search(text, at)
            if found is None:
                return
            yield found
            at = found.end if found.end > found.start else found.end + 1

    def _search(self, text: str, start: int) -> Found | None:
        """The first match from a place on; ways are kept in the order in which Python would try them."""
        num_slots = 2 * self.num_groups + 2
        ways: list[tuple[int, Saved]] = []
        best: Saved | None = None
        for at in range(start, len(text) + 1):
            seen: set[int] = set()
            following: list[tuple[int, Saved]] = []
            for place, saved in ways:
                self._follow(place, saved, text, at, seen, following)
            if best is None:
                first = (at, *(-1,) * (num_slots - 1))
                self._follow(0, first, text, at, seen, following)
            ways = []
            letter = text[at] if at < len(text) else ""
            for place, saved in following:
                op = self._program[place]
                if op[0] == _DONE:
                    best = (saved[0], at, *saved[2:])
                    break
                if letter and op[1](letter):
                    ways.append((place + 1, saved))
            if not ways and best is not None:
                break
        return None if best is None else _found(best)

    def _follow(  # noqa: PLR0917 - an inner loop
        self,
        place: int,
        saved: Saved,
        text: str,
        at: int,
        seen: set[int],
        out: list[tuple[int, Saved]],
    ) -> None:
        """Go on until a letter is needed, or the end is reached."""
        pending = [(place, saved)]
        while pending:
            place, saved = pending.pop()
            self._left -= 1
            if self._left < 0:
                raise PatternRefusedError("matching takes too many steps")
            if place in seen:
                continue
            seen.add(place)
            op = self._program[place]
            if op[0] == _JUMP:
                pending.append((op[1], saved))
            elif op[0] == _SPLIT:
                pending += [(op[2], saved), (op[1], saved)]
            elif op[0] == _SAVE:
                pending.append((place + 1, (*saved[: op[1]], at, *saved[op[1] + 1 :])))
            elif op[0] == _ASSERT:
                if op[1](text, at):
                    pending.append((place + 1, saved))
            else:
                out.append((place, saved))

    def _add(self, *op: Any) -> int:
        if len(self._program) >= _MAX_PROGRAM:
            raise PatternRefusedError("the pattern has too many parts")
        self._program.append(op)
        return len(self._program) - 1

    def _emit(self, items: Any) -> None:
        for name, value in items:
            if name is _ops.BRANCH:
                self._branch(value[1])
            elif name is _ops.SUBPATTERN:
                self._group(value)
            elif name in (_ops.MAX_REPEAT, _ops.MIN_REPEAT):
                self._repeat(*value, is_greedy=name is _ops.MAX_REPEAT)
            elif name is _ops.AT:
                self._add(_ASSERT, self._place(value))
            elif name in (_ops.LITERAL, _ops.NOT_LITERAL, _ops.ANY, _ops.IN):
                self._add(_CHARACTER, self._letter(name, value))
            else:
                kind = str(name).lower().replace("_", " ")
                raise PatternRefusedError(f"{kind} is not supported")

    def _branch(self, branches: Any) -> None:
        ends: list[int] = []
        for branch in branches[:-1]:
            split = self._add(_SPLIT, 0, 0)
            self._emit(branch)
            ends.append(self._add(_JUMP, 0))
            self._program[split] = (_SPLIT, split + 1, len(self._program))
        self._emit(branches[-1])
        for end in ends:
            self._program[end] = (_JUMP, len(self._program))

    def _group(self, value: Any) -> None:
        number, added, removed, items = value
        if added or removed:
            raise PatternRefusedError("flags inside of a pattern are not supported")
        if number is not None:
            self._add(_SAVE, 2 * number)
        self._emit(items)
        if number is not None:
            self._add(_SAVE, 2 * number + 1)

    def _repeat(self, least: int, most: Any, items: Any, *, is_greedy: bool) -> None:
        for _ in range(least):
            self._emit(items)
        if most is _ops.MAXREPEAT:
            split = self._add(_SPLIT, 0, 0)
            self._emit(items)
            self._add(_JUMP, split)
            self._aim(split, is_greedy=is_greedy)
            return
        splits: list[int] = []
        for _ in range(int(most) - least):
            splits.append(self._add(_SPLIT, 0, 0))
            self._emit(items)
        for split in splits:
            self._aim(split, is_greedy=is_greedy)

    def _aim(self, split: int, *, is_greedy: bool) -> None:
        inner, after = split + 1, len(self._program)
        self._program[split] = (_SPLIT, inner, after) if is_greedy else (_SPLIT, after, inner)

    def _place(self, where: Any) -> Callable[[str, int], bool]:
        if self._flags & re.MULTILINE:
            where = {_ops.AT_BEGINNING: "line", _ops.AT_END: "line end"}.get(where, where)
        places: dict[Any, Callable[[str, int], bool]] = {
            _ops.AT_BEGINNING: lambda _, at: at == 0,
            _ops.AT_BEGINNING_STRING: lambda _, at: at == 0,
            _ops.AT_END: lambda text, at: (
                at == len(text) or (at == len(text) - 1 and text[at] == "\n")
            ),
            _ops.AT_END_STRING: lambda text, at: at == len(text),
            _ops.AT_BOUNDARY: _is_edge,
            _ops.AT_NON_BOUNDARY: lambda text, at: not _is_edge(text, at),
            "line": lambda text, at: at == 0 or text[at - 1] == "\n",
            "line end": lambda text, at: at == len(text) or text[at] == "\n",
        }
        return places[where]

    def _letter(self, name: Any, value: Any) -> _Takes:
        """Whether one letter fits; one that Python itself decides, as it is of one letter alone."""
        if name is _ops.ANY:
            return (lambda _: True) if self._flags & re.DOTALL else (lambda letter: letter != "\n")
        takes = _member((name, value)) if name is not _ops.IN else _any_of(value)
        if not self._flags & re.IGNORECASE:
            return takes
        return lambda letter: takes(letter) or takes(letter.lower()) or takes(letter.upper())


def _any_of(items: Any) -> _Takes:
    is_negated = bool(items) and items[0][0] is _ops.NEGATE
    members = [_member(item) for item in (items[1:] if is_negated else items)]
    return lambda letter: any(member(letter) for member in members) is not is_negated


def _member(item: Any) -> _Takes:
    name, value = item
    if name is _ops.LITERAL:
        return lambda letter: ord(letter) == value
    if name is _ops.NOT_LITERAL:
        return lambda letter: ord(letter) != value
    if name is _ops.RANGE:
        return lambda letter: value[0] <= ord(letter) <= value[1]
    kinds: dict[Any, _Takes] = {
        _ops.CATEGORY_DIGIT: str.isdecimal,
        _ops.CATEGORY_SPACE: str.isspace,
        _ops.CATEGORY_WORD: _is_word,
        _ops.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdecimal(),
        _ops.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
        _ops.CATEGORY_NOT_WORD: lambda letter: not _is_word(letter),
    }
    if value not in kinds:
        raise PatternRefusedError("this class of characters is not supported")
    return kinds[value]


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _is_edge(text: str, at: int) -> bool:
    before = at > 0 and _is_word(text[at - 1])
    return before != (at < len(text) and _is_word(text[at]))


def _found(saved: Saved) -> Found:
    pairs = [(saved[at], saved[at + 1]) for at in range(2, len(saved), 2)]
    return Found(saved[0], saved[1], tuple(pair if min(pair) >= 0 else None for pair in pairs))
