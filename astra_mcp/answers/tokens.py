r"""Text becomes the tokens that answers are compared by, and an answer is weighed by its own.

What is normalised, and nothing else:

* Unicode by NFKC and case folding, so full-width and half-width forms are equal. Invisible characters
  (soft hyphens, zero-width spaces) are dropped; hyphens, dashes and minus signs are one character, and
  the decimal digits of all scripts are those of ASCII.
* Numbers: grouping commas, a leading plus, leading and trailing zeros (``1,234.50`` is ``1234.5``). A
  minus sign belongs to its number. A number and a unit written together are two tokens (``12kg``).
* Dates: ``2025-09-03``, ``2025/9/3``, ``September 3, 2025``, ``3 Sep 2025`` and ``2025年9月3日``
  are one date. Orders that are ambiguous (``03/09/2025``) stay as they are written.
* Times of day: ``9:05`` is ``09:05`` and ``09:05:00``. ``am`` and ``pm`` are words, not arithmetic; a
  time zone after a timestamp is dropped. A hyphen between two times and a slash between two dates
  separate them.
* Each CJK character is a token of its own, so 北京 is in 位于北京市.
* Codes stay whole: letters and digits joined by hyphens or underscores (``BK-20931``), addresses.
* Escapes of JSON strings (``\n``, ``\"``) separate, as the characters that they stand for would.
* Percent, degree and currency signs are tokens; other punctuation separates and is dropped.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

__all__ = ["CJK", "MONTHS", "SYMBOLS", "WORD", "answer_fault", "fold", "tokenize", "tokenize_plain"]

_MONTH_NAMES = """
    january jan, february feb, march mar, april apr, may, june jun, july jul, august aug, september sep sept,
    october oct, november nov, december dec
"""
MONTHS = {
    name: number
    for number, names in enumerate(_MONTH_NAMES.split(","), start=1)
    for name in names.split()
}
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?"
CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uac00-\ud7af\U00020000-\U0003ffff"
)
SYMBOLS = "%‰°$€£¥₹₩"
WORD = rf"[^\W_{CJK}]"
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!,?\d)|\d+)(?:\.\d+)?|\.\d+"
_LEFT = rf"(?<!{WORD})(?<!{WORD}[-_.:/])"
_RIGHT = rf"(?!{WORD})(?![-_.:/]{WORD})"
_SIGN = r"(?<![^\s\[({\"':,=<>$€£¥₹|])[-+]"
_ZONE = r"(?:z|[-+]\d{2}:?\d{2})?"

_PATTERNS = {
    # What cannot begin a token, and plain words, are most of a text: they need no second look.
    "gap": r"[\s\"'{}()\[\]:,;!?<>=|~*&#]+",
    "word": rf"(?!{_MONTH})[a-z]+(?![\w@.+-])",
    "iso": (
        r"(?:(?<!\d)(?<!\d[-/.])|(?<=-\d\d/)|(?<=\d{4}-\d\d-\d\d-))(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)"
        r"(?P<d>\d{1,2})"
        rf"(?:t(?P<ih>\d{{2}}):(?P<im>[0-5]\d)(?::(?P<is>[0-5]\d)(?:\.\d+)?)?{_ZONE})?"
        rf"(?!{WORD})(?![.:]\d)(?![-/](?!\d{{4}}-)\d)"
    ),
    "zh": r"(?P<zy>\d{4})\s*年\s*(?P<zm>\d{1,2})\s*月\s*(?P<zd>\d{1,2})\s*[日号]",
    "mdy": (
        rf"(?<!{WORD})(?P<mdy_m>{_MONTH})\s*(?P<mdy_d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+"
        rf"(?P<mdy_y>\d{{4}}){_RIGHT}"
    ),
    "dmy": (
        rf"{_LEFT}(?P<dmy_d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<dmy_m>{_MONTH}),?\s+"
        rf"(?P<dmy_y>\d{{4}}){_RIGHT}"
    ),
    "time": (
        rf"(?:{_LEFT}|(?<=:\d\d-))(?P<hh>\d{{1,2}}):(?P<mm>[0-5]\d)(?::(?P<ss>[0-5]\d))?"
        r"(?![_.:/]?\d)(?!-(?!\d{1,2}:\d)\d)"
    ),
    # The bounds keep the search linear in texts such as "a.a.a.a".
    "mail": rf"{WORD}[\w.+-]{{0,63}}@{WORD}{{1,63}}(?:[-.]{WORD}{{1,63}}){{0,15}}",
    "number": rf"(?P<sign>{_SIGN})?{_LEFT}(?P<digits>{_NUMBER}){_RIGHT}",
    "measure": (
        rf"(?P<msign>{_SIGN})?{_LEFT}(?P<amount>{_NUMBER})(?P<unit>(?:(?!\d){WORD})+)(?![-_]?{WORD})"
    ),
    "run": rf"{WORD}+(?:(?:[-_]|(?<=\d)[.:/](?=\d)){WORD}+)*",
    "cjk": rf"[{CJK}]",
    "symbol": f"[{SYMBOLS}]",
}
_JSON_ESCAPE = re.compile(r'\\[nrtbf"\\/]')
_TRUTH_WORDS = """
    true false yes yeah no nope y n t f on off ok okay none null nil na unknown undefined notfound
    notavailable 是 是的 不是 否 有 没有 没 无 对 对的 不对 错 真 假 好 好的 行 不行 能 不能 可以 不可以
    正确 错误 未知 不知道
"""
_TRUTH_VALUES = frozenset(_TRUTH_WORDS.split())
_Parts = Mapping[str, Any]
"""Named groups of a match; those of the pattern that matched are texts."""
_MIN_LENGTH = 3
_MIN_CJK_LENGTH = 2


@cache
def _token(*, has_mail: bool) -> re.Pattern[str]:
    """Compile the patterns at the first text: that takes as long as all the rest of a short command."""
    names = (name for name in _PATTERNS if has_mail or name != "mail")
    return re.compile("|".join(f"(?P<{name}>{_PATTERNS[name]})" for name in names))


def tokenize(text: str) -> tuple[str, ...]:
    """Split a text into the normalised tokens that answers are compared by."""
    return tuple(t for _, _, t in tokenize_plain(fold(unicodedata.normalize("NFKC", text))))


def tokenize_plain(text: str) -> Iterator[tuple[int, int, str]]:
    """Split a text that is folded already; each token with the span of characters that it is read from."""
    for match in _token(has_mail="@" in text).finditer(text):
        if match.lastgroup != "gap":
            start, end = match.span()
            for token in _normalize(match):
                yield start, end, token


def answer_fault(answer: str) -> str | None:
    """Say why an answer is too weak to be checked by containment, or None where it is specific.

    Truth values and answers under 3 characters (2 in CJK) are found by chance; a number with a unit
    and a date are specific at any length. Judged is what is compared: ``(42)`` and ``42.0`` are ``42``.
    """
    tokens = tokenize(answer)
    if not tokens:
        return "the answer is empty"
    joined = "".join(tokens)
    if joined in _TRUTH_VALUES or all(t in _TRUTH_VALUES for t in tokens):
        return f"the answer {answer!r} is a truth value"
    if _is_amount(tokens) or any(_DATE.fullmatch(t) for t in tokens[:1]):
        return None
    has_cjk = any(_CJK_TOKEN.fullmatch(t) for t in tokens)
    shortest = _MIN_CJK_LENGTH if has_cjk else _MIN_LENGTH
    if len(joined) < shortest:
        return f"the answer {answer!r} has fewer than {shortest} characters that count, and no unit"
    return None


def _is_amount(tokens: tuple[str, ...]) -> bool:
    """Tell whether the tokens are a number and its unit, in either order."""
    if len(tokens) < 2:
        return False
    first, second, *_ = tokens
    if _NUMERIC.fullmatch(first):
        return not _NUMERIC.fullmatch(second)
    return first in _CURRENCIES and _NUMERIC.fullmatch(second) is not None


_CURRENCIES = frozenset("$€£¥₹₩")
_NUMERIC = re.compile(r"-?\d+(?:\.\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_CJK_TOKEN = re.compile(f"[{CJK}]")


def fold(normal: str) -> str:
    """Give what looks the same one spelling, in a text in normal form KC."""
    if not normal.isascii():
        for char in sorted(set(_foldable().findall(normal))):
            normal = normal.replace(char, _folded(char))
    return _JSON_ESCAPE.sub(" ", normal).casefold()


def _folded(char: str) -> str:
    """What becomes of an invisible character, a digit or a dash; others stay."""
    match unicodedata.category(char):
        case "Cf":
            return ""
        case "Nd":
            return str(unicodedata.decimal(char))
        case _:
            return "-" if "\u2010" <= char <= "\u2015" or char == "\u2212" else char


@cache
def _foldable() -> re.Pattern[str]:
    """The characters above ASCII that may become others: those of the astral planes are not told apart."""
    changed = (char for char in map(chr, range(0x80, 0x10000)) if _folded(char) != char)
    return re.compile(f"[{''.join(changed)}\U00010000-\U0010ffff]")


def _normalize(match: re.Match[str]) -> tuple[str, ...]:
    normalize = _NORMALIZERS.get(match.lastgroup or "")
    return normalize(match.groupdict()) if normalize else (match.group(),)


def _iso(part: _Parts) -> tuple[str, ...]:
    date = _date(part["y"], part["m"], part["d"])
    return (date, _time(part["ih"], part["im"], part["is"])) if part["ih"] else (date,)


def _run(part: _Parts) -> tuple[str, ...]:
    run = part["run"]
    return (run,) if any(c.isdigit() for c in run) else tuple(re.split(r"[-_]", run))


_NORMALIZERS: dict[str, Callable[[_Parts], tuple[str, ...]]] = {
    "iso": _iso,
    "zh": lambda part: (_date(part["zy"], part["zm"], part["zd"]),),
    "mdy": lambda part: (_date(part["mdy_y"], _month(part["mdy_m"]), part["mdy_d"]),),
    "dmy": lambda part: (_date(part["dmy_y"], _month(part["dmy_m"]), part["dmy_d"]),),
    "time": lambda part: (_time(part["hh"], part["mm"], part["ss"]),),
    "number": lambda part: (_number(part["sign"], part["digits"]),),
    "measure": lambda part: (_number(part["msign"], part["amount"]), part["unit"]),
    "run": _run,
}


def _month(name: str) -> str:
    return str(MONTHS[name.rstrip(".")])


def _date(year: str, month: str, day: str) -> str:
    return f"{year}-{int(month):02d}-{int(day):02d}"


def _time(hours: str, minutes: str, seconds: str | None) -> str:
    return f"{int(hours):02d}:{minutes}" + (f":{seconds}" if seconds not in (None, "00") else "")


def _number(sign: str | None, digits: str) -> str:
    whole, _, fraction = digits.replace(",", "").partition(".")
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    value = f"{whole}.{fraction}" if fraction else whole
    return f"-{value}" if sign == "-" and value != "0" else value
