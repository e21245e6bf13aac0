"""How the tokens of an answer may stand in a plain text: patterns that miss none of their spellings.

They may match where the answer does not stand (after a sign, within a longer code): who searches by them
reads the tokens there. Each begins with a letter or digit that must stand there, and looks back afterwards,
since a search by such a pattern skips all other text. The *keys* of an answer are texts that stand in every
spelling of it.
"""

import re
from functools import lru_cache
from itertools import pairwise

from astra_mcp.answers.tokens import CJK, MONTHS, SYMBOLS, WORD

__all__ = ["find_key", "spell_answer"]

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_TIME = re.compile(r"(\d{2,}):(\d{2})(?::(\d{2}))?")
_NUMBER = re.compile(r"-?(\d+)(?:\.(\d+))?")
_CODE = re.compile(r"(?=[a-z_-]*\d)[a-z\d]+(?:[-_][a-z\d]+)*")
_LETTER = rf"[^\W\d_{CJK}]"
_WORD_BUT_ZERO = rf"[^\W_0{CJK}]"
_GAP = rf"[^\w{SYMBOLS}]*(?:_[^\w{SYMBOLS}]*)*"
_ORDINAL = "(?:st|nd|rd|th)?"
# How a code, or one that ends with a digit, and a number go on: then it is no token.
_GOES_ON = rf"(?![-_]{WORD})"
_DIGIT_GOES_ON = rf"{_GOES_ON}(?![.:/]\d)"
_SIGNED = r"[\s\[({\"':,=<>$€£¥₹|]-"


def find_key(token: str) -> str:
    """Find a text that is part of every spelling of a token, as long as possible."""
    if date := _DATE.fullmatch(token):
        return date[1]
    if _TIME.fullmatch(token):
        return token[token.index(":") :]
    if number := _NUMBER.fullmatch(token):
        whole, fraction = number.groups()
        whole = "" if fraction and whole == "0" else whole[-3:]
        return f"{whole}.{fraction}" if fraction else whole
    return token


@lru_cache(maxsize=4096)
def spell_answer(tokens: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile patterns, any of which may find the tokens of an answer next to one another."""
    rest = "".join(
        _gap(before, token) + _any_of(_spellings(token)) for before, token in pairwise(tokens)
    )
    return tuple(re.compile(first + rest) for first in _spellings(tokens[0]))


def _any_of(spellings: tuple[str, ...]) -> str:
    return f"(?:{'|'.join(spellings)})"


def _gap(before: str, token: str) -> str:
    """What may stand between two tokens: nothing that is one, but leading zeros and parts of a timestamp."""
    zeros = "[0,]*" if token[-1].isdigit() else ""
    if _TIME.fullmatch(before):
        return rf"(?:\.\d+)?(?:z|[-+]\d{{2}}:?\d{{2}})?{_GAP}{zeros}"
    if _DATE.fullmatch(before) and _TIME.fullmatch(token):
        return f"{_GAP}t?{_GAP}{zeros}"
    return _GAP + zeros


def _spellings(token: str) -> tuple[str, ...]:
    if date := _DATE.fullmatch(token):
        return _date_spellings(*date.groups())
    if time := _TIME.fullmatch(token):
        hours, minutes, seconds = time.groups()
        return (
            rf"{int(hours)}:{minutes}" + (f":{seconds}" if seconds else "(?::00)?") + r"(?!:?\d)",
        )
    if number := _NUMBER.fullmatch(token):
        return (_spell_number(number[1], number[2], is_negative=token[0] == "-"),)
    return (_spell_text(token),)


def _date_spellings(year: str, month: str, day: str) -> tuple[str, ...]:
    names = [name for name, number in MONTHS.items() if number == int(month)]
    m, d, name = f"0?{int(month)}", f"0?{int(day)}", _any_of((*names,))
    numeric = (
        rf"{year}[-/.]{m}[-/.]{d}(?!\d)",
        rf"{year}\s*年\s*{m}\s*月\s*{d}\s*[日号]",
    )
    if not names:
        return numeric
    first, rest = str(int(day))[0], str(int(day))[1:]
    return (
        *numeric,
        rf"{name}\.?\s*{d}{_ORDINAL},?\s+{year}(?!{WORD})",
        rf"{first}(?<![1-9]{first}){rest}{_ORDINAL}\s+(?:of\s+)?{name}\.?,?\s+{year}(?!{WORD})",
    )


def _spell_number(whole: str, fraction: str | None, *, is_negative: bool) -> str:
    """A number without its sign, and without zeros that lead it."""
    rest = (rf"\.{fraction}0*(?!\d)" if fraction else r"(?:\.0+)?(?!\d)") + _DIGIT_GOES_ON
    if fraction and whole == "0":
        return rf"\.(?<![1-9]\.)(?<![1-9]0\.){rest[2:]}"
    head = len(whole) % 3 or 3
    groups = [whole[:head], *(whole[i : i + 3] for i in range(head, len(whole), 3))]
    digits = ",?".join(groups)
    first = digits[0]
    begins = rf"(?<!\d[-.]{first})(?<!\d[-.]0{first})(?<![a-y]-{first})"
    unsigned = rf"(?:(?<!{_SIGNED}{first})|(?=\d*+(?:[.,]\d++)*+(?:{_LETTER}|[.:/]{WORD})))"
    if whole == "0":
        return rf"0(?<![0-9a-z]0)(?<!{WORD}0){begins}0*{rest}"
    begins += "" if is_negative else unsigned
    return rf"{first}(?<![1-9a-z]{first}){begins}(?<!{_WORD_BUT_ZERO}{first}){digits[1:]}{rest}"


def _spell_text(token: str) -> str:
    """A word, a code, a unit, a character: whole, but a unit may follow its number."""
    first, rest = re.escape(token[0]), re.escape(token[1:])
    if not re.match(WORD, token):
        return first + rest
    before = WORD if token[0].isdigit() else _LETTER
    after = f"(?!{WORD})" if re.match(WORD, token[-1]) else ""
    if token.isascii() and token.isalpha():  # the first part of an address, but for a unit
        after += rf"(?:(?<=\d{first}{rest})|(?!@{WORD}))"
    if _CODE.fullmatch(token):
        after += _DIGIT_GOES_ON if token[-1].isdigit() else _GOES_ON
    return f"{first}{rest}(?<!{before}{first}{rest}){after}"
