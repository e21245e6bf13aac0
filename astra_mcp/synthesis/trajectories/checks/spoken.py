"""The ways in which a user or a result may say a value that an argument has in a form of its own."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from astra_mcp.answers import tokenize
from astra_mcp.answers.tokens import CJK
from astra_mcp.environments.acceptance.grounding import is_code, spellings

__all__ = ["Claim", "claims_of", "is_in_another_script", "multiples", "stands_alone"]

Claim = Sequence[frozenset[str]]
"""A value is told where, of each group, one member stands in what is known."""

_WRITTEN: Final = 3
"""Words from which on a text is the assistant's own, of an argument that is for such a text."""
_MAX_AMOUNT: Final = 10_000
_MAX_DIGITS: Final = 9
_LINKING_WORDS = (
    "a an the of in on at to for and or by with from is are near about this that my 的 和 在 与"
)
_LINKING: Final = frozenset(_LINKING_WORDS.split())
_ENDINGS: Final = ("er", "est", "ing", "ed", "ly", "ian", "n", "al")
_MIN_ROOT: Final = 3
_UNITS: Final[Mapping[str, tuple[float, ...]]] = {
    "km": (1000,), "kilometers": (1000,), "kilometres": (1000,), "公里": (1000,), "千米": (1000,),
    "%": (0.01,), "percent": (0.01,), "k": (1e3,), "thousand": (1e3,), "million": (1e6,), "billion": (1e9,),
    "万": (1e4,), "亿": (1e8,), "hours": (60, 3600), "hour": (60, 3600), "小时": (60, 3600),
    "minutes": (60,), "minute": (60,), "分钟": (60,), "weeks": (7,), "week": (7,),
}  # fmt: skip
"""What a number before a unit comes to in the other units that tools take."""
_DAY_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        r"(?P<y>\d{4})[-/.](?P<m>\d\d?)[-/.](?P<d>\d\d?)",
        r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)",
        r"(?P<m>\d\d?)[-/.](?P<d>\d\d?)[-/.](?P<y>\d{4})",
        r"(?P<d>\d\d?)[-/.](?P<m>\d\d?)[-/.](?P<y>\d{4})",
        r"(?P<m>\d\d)[-/](?P<d>\d\d)",
    )
)
_MONTHS: Final = range(1, 13)
_NO_YEAR: Final = "2000"
_TIME: Final = re.compile(
    r"(?:[Tt ]|^)([01]?\d|2[0-3]):([0-5]\d)(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?$"
)
_ENDS_OF_DAY: Final = frozenset({(0, 0), (23, 59)})
_NOON: Final = 12
_SECONDS: Final = range(10**9, 10**10)
"""Numbers that are read as seconds since 1970: from 2001 on."""
_MAX_BETWEEN: Final = 4
"""Characters between two of one CJK word, as a user may put them: 买一些米 for 买米."""
_MAX_SPREAD: Final = 20_000
"""Characters of a text in which that is looked for; a longer one has them next to one another or not."""
_MAX_BEFORE: Final = 16
"""Characters before a name in which a place may begin."""
_PLACE_NAMES = """
    北京 上海 天津 重庆 河北 山西 辽宁 吉林 江苏 浙江 安徽 福建 江西 山东 河南 湖北 湖南 广东
    广西 海南 四川 贵州 云南 西藏 陕西 甘肃 青海 宁夏 新疆 台湾 香港 澳门 黑龙江 内蒙古 广州 深圳
    南京 杭州 成都 苏州 武汉 西安 厦门 青岛 长沙 昆明 宁波 合肥 大连 福州 无锡 珠海 济南 沈阳
    长春 太原 南昌 南宁 贵阳 兰州 郑州 东莞 海口 三亚 拉萨 东京 大阪 京都 首尔 曼谷 巴黎 伦敦
    柏林 罗马 纽约 东北 西北 华北 华东 华南 西南
"""
_PLACES: Final = re.compile("|".join(sorted(_PLACE_NAMES.split(), key=len, reverse=True)))
_LATIN: Final = re.compile(r"[A-Za-z]")
_CJK_TOKEN: Final = re.compile(f"[{CJK}]")
_NO_LATIN: Final = re.compile(rf"[{CJK}\u0370-\u0fff]")


def claims_of(
    value: str | float, known: Sequence[str] = (), *, is_written: bool = False
) -> Iterator[Claim]:
    """The ways in which a value may be told; one that holds is enough.

    Args:
        value: Of an argument.
        known: The texts that may tell it.
        is_written: The argument is for a text of the assistant's own, such as a message or a program.
    """
    yield [frozenset(spellings(value))]
    if isinstance(value, str):
        yield from _claims_of_text(value.strip(), known, is_written=is_written)
    else:
        yield from _timestamp_claims(value)


def multiples(value: str | float, text: str) -> Iterator[str]:
    """What comes to a number by a unit that stands in a text: ``5 km`` for 5000."""
    if isinstance(value, str):
        if not re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", value):
            return
        value = float(value)
    folded = text.casefold()
    for unit in (unit for unit in _UNITS if unit in folded):
        for factor in _UNITS[unit]:
            amount = round(value / factor, 6)
            if amount and abs(amount) < _MAX_AMOUNT:
                plain = int(amount) if amount == int(amount) else amount
                yield from (f"{spelling} {unit}" for spelling in spellings(plain))


def is_in_another_script(text: str, source: str) -> bool:
    """True where one of two names is in Latin letters, and the other in some that are none."""
    return any(
        _LATIN.search(one) and _NO_LATIN.search(other) and not _LATIN.search(other)
        for one, other in ((text, source), (source, text))
    )


def _claims_of_text(text: str, known: Sequence[str], *, is_written: bool) -> Iterator[Claim]:
    yield from _day_claims(text)
    bare = re.sub(r"^https?://(?:www\.)?|/$", "", text)
    if bare != text:
        yield [frozenset({bare})]
    if is_code(text):
        return
    tokens = tokenize(text)
    num_words = sum(0.5 if re.match(f"[{CJK}]", token) else 1 for token in tokens)
    told = [token for token in tokens if token not in _LINKING]
    if is_written and num_words >= _WRITTEN:
        told = [token for token in tokens if re.search(r"[\d@_/]", token)]
    around = [[*pairwise(told[max(0, place - 1) : place + 2])] for place in range(len(told))]
    together = [[pair for pair in pairs if _is_of_one_word(pair, text)] for pairs in around]
    yield [
        frozenset(_told_together(pairs, known) or _forms(token))
        for token, pairs in zip(told, together, strict=True)
    ]


def _is_of_one_word(pair: tuple[str, str], text: str) -> bool:
    """True of two CJK characters that stand next to one another in a text.

    The matcher has a token of each character, and one alone is of many words: 北京东站 does not tell 东京.
    """
    return all(map(_CJK_TOKEN.fullmatch, pair)) and "".join(pair) in text


def _told_together(pairs: Iterable[tuple[str, str]], known: Sequence[str]) -> list[str]:
    """How texts may say a character together with one beside it."""
    return [text for pair in pairs for text in ("".join(pair), *_spread(pair, known))]


def _spread(pair: tuple[str, str], known: Sequence[str]) -> Iterator[str]:
    """Where two characters stand in their order, with few between them."""
    first, second = pair
    spread = re.compile(f"{first}[{CJK}]{{1,{_MAX_BETWEEN}}}?{second}")
    for text in known:
        is_short = len(text) <= _MAX_SPREAD
        if is_short and first in text and second in text and (found := spread.search(text)):
            yield found[0]


def stands_alone(name: str, texts: Sequence[str]) -> bool:
    """Tell whether a text has a CJK name otherwise than out of the end of a place and what follows it.

    What is read from 北京东站 is 北京 and 东站, not 京东. Names of few places are known, so that most of what
    a reader would divide is left to others.
    """
    if len(name) < 2 or not all(map(_CJK_TOKEN.fullmatch, name)):
        return True
    is_divided = False
    for text in texts:
        for found in re.finditer(name, text):
            if not _divides_place(text, *found.span()):
                return True
            is_divided = True
    return not is_divided


def _divides_place(text: str, start: int, end: int) -> bool:
    before = max(0, start - _MAX_BEFORE)
    places = (found.span() for found in _PLACES.finditer(text[before:end]))
    return any(before + begins < start < before + ends < end for begins, ends in places)


def _forms(token: str) -> Iterator[str]:
    """A word in the forms that its root has; a number in words; a code has no others."""
    if token.isdecimal() and len(token) <= _MAX_DIGITS:
        yield from spellings(int(token))
        return
    yield from spellings(token)
    if not token.isalpha() or not token.isascii():
        return
    for ending in _ENDINGS:
        yield token + ending
        if token.endswith(ending) and len(token) >= len(ending) + _MIN_ROOT:
            yield token.removesuffix(ending)


def _day_claims(text: str) -> Iterator[Claim]:
    """A day in any form is told by the day; its time has to be told too, unless it stands for all the day."""
    time = _TIME.search(text)
    rest = text[: time.start()] if time else text
    hour, minute = (int(time[1]), int(time[2])) if time else (0, 0)
    spoken = frozenset(_times(hour, minute))
    if time and not rest:
        yield [spoken]
        return
    more = [spoken] if time and (hour, minute) not in _ENDS_OF_DAY else []
    for form in _DAY_FORMS:
        day = form.fullmatch(rest)
        if day and int(day["m"]) in _MONTHS:
            year = day.groupdict().get("y") or _NO_YEAR
            written = f"{year}-{int(day['m']):02}-{int(day['d']):02}"
            yield [frozenset(spellings(written)), *more]


def _times(hour: int, minute: int) -> Iterator[str]:
    """A time of day by 24 hours and by 12."""
    half, short = ("am" if hour < _NOON else "pm"), hour % _NOON or _NOON
    dotted = f"{half[0]}.{half[1]}."
    yield f"{hour}:{minute:02}"
    yield from (f"{short}:{minute:02} {half}", f"{short}:{minute:02} {dotted}")
    if not minute:
        yield from (f"{short} {half}", f"{short} {dotted}", f"{hour}点", f"{short}点", f"{hour}时")
    if (hour, minute) == (_NOON, 0):
        yield "noon"


def _timestamp_claims(value: float) -> Iterator[Claim]:
    """Seconds or milliseconds since 1970 are told by their day."""
    for factor in (1, 1000):
        if int(value / factor) in _SECONDS:
            day = datetime.fromtimestamp(value / factor, UTC)
            yield [frozenset(spellings(day.strftime("%Y-%m-%d")))]
