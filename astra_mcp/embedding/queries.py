"""What a query asks for: the words that carry it, and the words that tools would say instead.

A whole question has many words that say nothing of a tool: courtesies, names of days, relatives, an
address. And it says *photo* where a tool says *image*. Short queries are taken as they are written.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from astra_mcp.embedding.words import STOP_WORDS, split_words

__all__ = ["QueryWords", "query_words"]

_MAX_ASKED = 32
_MAX_MEANT = 20
"""Words of each kind that are searched for; each costs a look into the index."""
_SHORT = 6
"""A query of so many distinct words is no question: each of them was chosen."""
_MEANT_IN_QUESTION = 0.5
_MEANT_IN_SHORT = 0.25
_PARTICULAR = re.compile(r"https?://\S+|\S+@\S+\.\S+|\b0x[0-9a-fA-F]+\b")
"""Addresses of pages, people and accounts: what a tool is given, and nothing that it says of itself."""
_NUMBERED = re.compile(r"(?<=[A-Za-z])-(?=[0-9])")
"""Joins a name with its number, as names of tools do: ``SHA-256``."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """Distinct words as :func:`~astra_mcp.embedding.words.split_words` gives them, in their order."""

    asked: tuple[str, ...]
    """What the query says."""
    meant: tuple[str, ...]
    """What tools say for it; none of them is asked."""
    meant_weight: float
    """What one of them counts where an asked one counts 1."""

    @property
    def weights(self) -> Mapping[str, float]:
        """What each word counts."""
        return dict.fromkeys(self.asked, 1.0) | dict.fromkeys(self.meant, self.meant_weight)


def query_words(query: str) -> QueryWords:
    """Take the words out of a query that say what is searched for.

    Words that say nothing are left out where others remain.

    Args:
        query: Of any length, in any language.
    """
    text = _NUMBERED.sub("", _PARTICULAR.sub(" ", query))
    forms = _irregular_forms()
    words = tuple(dict.fromkeys(forms.get(word, word) for word in split_words(text)))
    telling = tuple(word for word in words if word not in STOP_WORDS)
    is_short = len(words) <= _SHORT
    if not is_short:
        telling = tuple(word for word in telling if _tells(word)) or telling
    asked = (telling or words or tuple(dict.fromkeys(split_words(query))))[:_MAX_ASKED]
    meant_weight = _MEANT_IN_SHORT if is_short else _MEANT_IN_QUESTION
    return QueryWords(asked, tuple(_meant(asked))[:_MAX_MEANT], meant_weight)


def _tells(word: str) -> bool:
    return word not in _QUESTION_WORDS and not word.isdecimal()


def _meant(asked: tuple[str, ...]) -> Iterator[str]:
    everyday = _everyday_words()
    meant = dict.fromkeys(tool_word for word in asked for tool_word in everyday.get(word, ()))
    return (word for word in meant if word not in asked)


@cache
def _everyday_words() -> Mapping[str, tuple[str, ...]]:
    """Read the list once: what tools say, by each everyday word for it."""
    said: dict[str, dict[str, None]] = {}
    lines = files("astra_mcp.embedding").joinpath("everyday.tsv").read_text("utf-8").splitlines()
    for everyday, _, of_tools in (line.partition("\t") for line in lines):
        for word in split_words(everyday):
            said.setdefault(word, {}).update(dict.fromkeys(split_words(of_tools)))
    return {word: tuple(tool_words) for word, tool_words in said.items()}


@cache
def _irregular_forms() -> Mapping[str, str]:
    """Read the forms once: each one's base form, both as words."""
    pairs = (pair.split("-") for pair in _IRREGULAR.split())
    return {_first(form): _first(base) for form, base in pairs}


def _first(word: str) -> str:
    return next(split_words(word))


_IRREGULAR = """
ate-eat began-begin begun-begin bought-buy broke-break broken-break brought-bring built-build came-come
caught-catch children-child chose-choose chosen-choose dealt-deal drank-drink drawn-draw drew-draw
driven-drive drove-drive eaten-eat fallen-fall fed-feed feet-foot fell-fall flew-fly flown-fly fought-fight
forgot-forget forgotten-forget found-find froze-freeze frozen-freeze gave-give given-give gone-go grew-grow
grown-grow heard-hear held-hold hid-hide hidden-hide indices-index kept-keep knew-know known-know
led-lead left-leave lent-lend lost-lose made-make matrices-matrix men-man met-meet mice-mouse paid-pay
ran-run rang-ring ridden-ride rode-ride rung-ring said-say sang-sing saw-see seen-see sent-send shot-shoot
shown-show slept-sleep sold-sell sought-seek spent-spend spoke-speak spoken-speak stole-steal
stolen-steal stood-stand sung-sing swam-swim taken-take taught-teach teeth-tooth thought-think
threw-throw thrown-throw told-tell took-take understood-understand vertices-vertex went-go woke-wake
women-woman won-win wore-wear worn-wear written-write wrote-write
"""
"""English forms that no ending tells: tools say the base form."""

_ENGLISH = """
about above across after afterwards again against ago ah along alone already also although always am among
another anybody anyone anything anyway anywhere apart around aside away
back bad because become before begin behind believe belong below besides best better between beyond big bit
both bring came cannot certain come could couple course
dear definitely despite did didn different doing don done down during
each early either else enough especially even ever every everybody everyone everything everywhere exactly
far fear feel felt few for forget friend further
getting give glad go good got great guess guy
had half happen hard hardly hello help her here hers herself hey hi him himself his hope how however hundred
idea inside instead itself just keep kind know
large last late later least leave left less let like likely little live ll long look lot lovely luck
main make many maybe mean mind mine moment month more morning most mostly much must myself
near nearly neither never nice nine nobody nor nothing now
obviously off often oh ok okay old once one only onto other otherwise ought ours ourselves over own
part particular past perhaps person place plenty please point possible possibly pretty probably put
quite rather re ready real really reason recent recently regarding right
same say second see seem several shall she should since small some somebody somehow someone something
sometime sometimes somewhere soon sorry still stuff such suggest suppose sure
take talk tell ten thank thanks themselves therefore thing think though thousand three through thus till
together too toward towards try twelve twice two under unless until upon usually
various ve very via wanna want was way well whatever whenever whether while whole whose why wish within
without wonder work worth would wrong
yeah yes yet yours yourself aren doesn hadn hasn haven isn shouldn wasn weren won wouldn
afternoon day evening hour midnight minute night noon today tomorrow tonight week weekend year yesterday
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
first third four five six seven eight
aunt boss brother child colleague cousin dad daughter father grandma grandpa husband kid man mom mother mum
neighbor neighbour nephew niece parent people sister son uncle wife woman
"""
_CHINESE = """
昨天 今天 明天 后天 现在 最近 上周 下周 上个月 下个月 上午 下午 晚上 早上 这个 那个 哪些 哪个 多少
有没有 能不能 是不是 看看 告诉 给我 顺便 然后 一些 几个 觉得 知道 需要 想要 我想 谢谢 麻烦
"""
_QUESTION_WORDS = frozenset(split_words(f"{_ENGLISH} {_CHINESE}"))
"""Words of people who ask a person, which say nothing of the tool that would help."""
