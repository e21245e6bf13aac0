"""What a tool computes, by the words of its name: all of them, so that ``add_task`` is no addition."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.nouns import singular, words_of
from servers.emulated.offline.computing.binding import Bound, bind
from servers.emulated.offline.computing.computation import Computation
from servers.emulated.offline.computing.subjects import COMPUTATIONS, between
from servers.emulated.parameters import Parameter

__all__ = ["Recognition"]


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS: Final = _word_set(
    """
    calculate compute calculator calculation calc get find perform do make determine
    evaluate check is run return math maths mathematic mathematical arithmetic operation
    tool function method api util utility helper mcp the a an of for to in two three
    multiple many all any given simple basic quick new with by from number num value
    list array data set input result text string str
    """
)
_CHOOSING: Final = (
    "operation", "operator", "op", "calculation", "calculation_type", "operation_type", "transformation",
    "transform", "function", "action", "mode", "method", "type", "stat", "statistic", "measure", "metric",
    "direction", "command",
)  # fmt: skip
"""Parameters that say what a tool is to do."""
_GENERAL: Final = _word_set(
    """
    transform convert process manipulate case statistic stat descriptive analyze
    analysis encode decode string text encoder decoder operate binary unary scientific
    trig trigonometry trigonometric vector matrix conversion generate crypto hash number
    date time and encoding codec
    """
)
"""Words of tools that are told by an argument what to do."""
_SIGNS: Final = {
    "+": "add", "-": "subtract", "*": "multiply", "\u00d7": "multiply", "/": "divide", "÷": "divide",
    "%": "modulo", "^": "power", "**": "power", "√": "sqrt", "!": "factorial",
}  # fmt: skip
_READ: Final = 400
"""So much of a description is read for the way to compute."""
_MAX_WORD: Final = 40
_JOINED: Final = re.compile(r"(?i)\b(sha|base|utf|crc|md|log|atan|uuid)[-_ ]?(\d+)\b")


class Recognition:
    """What the tools of one version of a server compute."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        """Read nothing but the names yet."""
        firsts = Counter(words[0] for tool in tools if len(words := words_of(tool.name)) > 1)
        word, number = max(firsts.items(), key=lambda item: item[1], default=("", 0))
        self._prefix = singular(word) if number >= 3 and number == len(tools) else ""
        self._known: dict[tuple[str, str], tuple[Bound, ...]] = {}

    def readings(
        self,
        tool: ToolSpec,
        parameters: Sequence[Parameter],
        arguments: Mapping[str, JsonValue],
    ) -> tuple[Bound, ...]:
        """What a call may compute, the likeliest first; nothing for most tools.

        Args:
            tool: Which is called.
            parameters: Its parameters.
            arguments: Of the call, of which one may say what is to be done.
        """
        found = self._read(tool, parameters, None, "")
        if found:
            return found
        for key in _CHOOSING:
            for parameter in parameters:
                said = arguments.get(parameter.name, parameter.schema.get("default"))
                if parameter.key == key and isinstance(said, str) and len(said) <= _MAX_WORD:
                    return self._read(tool, parameters, parameter, said)
        return ()

    def _read(
        self,
        tool: ToolSpec,
        parameters: Sequence[Parameter],
        choosing: Parameter | None,
        said: str,
    ) -> tuple[Bound, ...]:
        known = self._known.get((tool.name, said))
        if known is not None:
            return known
        found = tuple(self._bound(tool, parameters, choosing, said))
        if len(self._known) < 4096:  # arguments are of the caller's choice
            self._known[tool.name, said] = found
        return found

    def _bound(
        self,
        tool: ToolSpec,
        parameters: Sequence[Parameter],
        choosing: Parameter | None,
        said: str,
    ) -> list[Bound]:
        words = _words(tool.name) - ({self._prefix} if self._prefix else set())
        allowed = _FILLERS
        if choosing is not None:
            words, allowed = words | _words(_SIGNS.get(said.strip(), said)), _FILLERS | _GENERAL
        pair = _pair(tool.name) if choosing is None else None
        candidates = _candidates(words, allowed) if pair is None else (pair,)
        if not candidates:
            return []
        said_of = (str(p.schema.get("description", ""))[:_READ] for p in parameters)
        texts = (tool.name, *(p.key for p in parameters), *said_of, tool.description[:_READ])
        left = [p for p in parameters if p is not choosing]
        if choosing is not None:
            texts = (said, *texts)
        bound = [bind(each, left, _told(each, texts)) for each in candidates]
        found = [each for each in bound if each is not None]
        if choosing is None:
            return found
        # The argument that chooses is used up; a computation sees it among those that it knows.
        return [
            Bound(each.computation, {**each.places, "": (choosing,)}, each.told) for each in found
        ]


def _plain_words(text: str) -> tuple[str, ...]:
    return words_of(_JOINED.sub(r"\1\2", text).replace("%", " percent "))


def _words(name: str) -> frozenset[str]:
    return frozenset(map(singular, _plain_words(name)))


_TO: Final = re.compile(r"(?<=[a-z])2(?=[a-z])")
_ROUND_PAIRS: Final = _word_set(
    "convert converter conversion calculate tool unit temperature length"
    " distance weight mass number value"
)
"""Words that may stand around two forms."""


@lru_cache(4096)
def _pair(name: str) -> Computation | None:
    """What is named for two forms of the same, such as ``kg_to_lbs``."""
    words = [w for w in words_of(_TO.sub("_to_", name)) if singular(w) not in _ROUND_PAIRS]
    if words.count("to") != 1:
        return None
    at = words.index("to")
    return between("_".join(words[:at]), "_".join(words[at + 1 :]))


@lru_cache(4096)
def _candidates(words: frozenset[str], allowed: frozenset[str]) -> tuple[Computation, ...]:
    """What the words may mean: those of the longest phrases."""
    found: list[tuple[int, Computation]] = []
    for computation in COMPUTATIONS:
        beside = allowed | computation.beside | _ways(computation)
        longest = max(
            (len(p) for p in computation.phrases if p <= words and words - p <= beside), default=0
        )
        if longest:
            found.append((longest, computation))
    most = max((length for length, _ in found), default=0)
    return tuple(computation for length, computation in found if length == most)


@lru_cache(1024)
def _words_of_way(word: str) -> str:
    return singular(word)


def _ways(computation: Computation) -> frozenset[str]:
    return frozenset(_words_of_way(w) for o in computation.operands for w in o.told)


def _told(computation: Computation, texts: Sequence[str]) -> dict[str, object]:
    """The operands that words decide: those of the name first, those of the description last."""
    told: dict[str, object] = {}
    for operand in computation.operands:
        ways = {singular(word): choice for word, choice in operand.told.items()}
        for text in texts if ways else ():
            chosen = [ways[word] for word in map(singular, _plain_words(text)) if word in ways]
            if chosen and len(set(map(str, chosen))) == 1:
                told[operand.name] = chosen[0]
                break
    return told
