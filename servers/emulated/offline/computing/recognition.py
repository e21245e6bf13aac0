"""What a tool computes, by the words of its name: all of them, so that ``add_task`` is no addition."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.nouns import singular, words_of
from servers.emulated.offline.computing.binding import Bound, bind
from servers.emulated.offline.computing.computation import Computation
from servers.emulated.offline.computing.subjects import COMPUTATIONS, between
from servers.emulated.parameters import Parameter

__all__ = ["Naming", "Recognition"]


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


class Naming:
    """The names of computations, and the words that may stand beside them."""

    def __init__(
        self,
        computations: Sequence[Computation],
        fillers: frozenset[str],
        *,
        pair: Callable[[str, str], Computation | None] = lambda _, __: None,
    ) -> None:
        """Index the phrases.

        Args:
            computations: All that there are.
            fillers: Words of names that say nothing.
            pair: What is named for two forms of the same.
        """
        self.fillers = fillers
        self._pair = pair
        self._by_word: dict[str, list[tuple[int, frozenset[str], frozenset[str], Computation]]] = {}
        for at, each in enumerate(computations):
            ways = {singular(word) for operand in each.operands for word in operand.told}
            beside = fillers | each.beside | ways
            for phrase in each.phrases:
                self._by_word.setdefault(min(phrase), []).append((at, phrase, beside, each))

    def candidates(
        self, words: frozenset[str], more: frozenset[str] = frozenset()
    ) -> tuple[Computation, ...]:
        """What words may mean: those of the longest phrases, in the order in which they are described.

        Args:
            words: Of a name, in the singular.
            more: Others that say nothing here.
        """
        found: dict[int, tuple[int, Computation]] = {}
        for word in words:
            for at, phrase, beside, computation in self._by_word.get(word, ()):
                if phrase <= words and words - phrase <= beside | more:
                    length = max(len(phrase), found[at][0] if at in found else 0)
                    found[at] = (length, computation)
        most = max((length for length, _ in found.values()), default=0)
        return tuple(found[at][1] for at in sorted(found) if found[at][0] == most)

    def pair(self, name: str) -> Computation | None:
        """What is named for two forms of the same, such as ``kg_to_lbs``."""
        words = [w for w in words_of(_TO.sub("_to_", name)) if singular(w) not in _ROUND_PAIRS]
        if words.count("to") != 1:
            return None
        at = words.index("to")
        return self._pair("_".join(words[:at]), "_".join(words[at + 1 :]))


COMPUTING: Final = Naming(COMPUTATIONS, _FILLERS, pair=between)


class Recognition:
    """What the tools of one version of a server compute."""

    def __init__(self, tools: Sequence[ToolSpec], naming: Naming = COMPUTING) -> None:
        """Read nothing but the names yet."""
        self._naming = naming
        firsts = Counter(words[0] for tool in tools if len(words := words_of(tool.name)) > 1)
        word, number = max(firsts.items(), key=lambda item: item[1], default=("", 0))
        self._prefix = singular(word) if number >= 3 and number == len(tools) else ""
        self._known: dict[tuple[str, str], tuple[Bound, ...]] = {}
        self._choosing: dict[str, tuple[Parameter, ...]] = {}

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
        choosing = self._choosing.get(tool.name)
        if choosing is None:
            keyed = {p.key: p for p in reversed(parameters)}
            choosing = tuple(keyed[key] for key in _CHOOSING if key in keyed)
            self._choosing[tool.name] = choosing
        for parameter in choosing:
            said = arguments.get(parameter.name, parameter.schema.get("default"))
            if isinstance(said, str) and len(said) <= _MAX_WORD:
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

    def _candidates(self, name: str, said: str | None) -> tuple[Computation, ...]:
        """What a name may mean, and what an argument says where there is one that chooses."""
        pair = self._naming.pair(name) if said is None else None
        if pair is not None:
            return (pair,)
        words, more = _words(name), frozenset[str]()
        if said is not None:
            words, more = words | _words(_SIGNS.get(said.strip(), said)), _GENERAL
        found = self._naming.candidates(words, more)
        return found or self._naming.candidates(words - {self._prefix}, more)

    def _bound(
        self,
        tool: ToolSpec,
        parameters: Sequence[Parameter],
        choosing: Parameter | None,
        said: str,
    ) -> list[Bound]:
        candidates = self._candidates(tool.name, None if choosing is None else said)
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
