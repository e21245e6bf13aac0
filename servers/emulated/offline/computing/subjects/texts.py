"""What is done to texts letter by letter and word by word."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    computation,
    flag,
    integer,
    items,
    option,
    text,
    texts,
)
from servers.emulated.offline.computing.operands import MAX_TEXT, UnfitError

__all__ = ["COMPUTATIONS", "levenshtein", "slugify"]

_MAX_COMPARED: Final = 2000
_WORD: Final = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_CASES: Final[dict[str, Callable[[list[str]], str]]] = {
    "camel": lambda w: "".join([*(x.lower() for x in w[:1]), *(x.capitalize() for x in w[1:])]),
    "pascal": lambda w: "".join(x.capitalize() for x in w),
    "snake": lambda w: "_".join(x.lower() for x in w),
    "kebab": lambda w: "-".join(x.lower() for x in w),
    "constant": lambda w: "_".join(x.upper() for x in w),
}
_PLAIN_CASES: Final[dict[str, Callable[[str], str]]] = {
    "upper": str.upper, "uppercase": str.upper, "lower": str.lower, "lowercase": str.lower, "title": str.title,
    "capitalize": str.capitalize, "sentence": str.capitalize, "swap": str.swapcase,
}  # fmt: skip


def in_case(text: str, case: str) -> str:
    """A text in one of the cases that people name.

    Raises:
        UnfitError: The case has another name.
    """
    plain = re.sub(r"[\s_\-]*case$", "", case.strip().lower()).removeprefix("to").strip("_- ")
    named = {
        "screaming_snake": "constant",
        "dash": "kebab",
        "param": "kebab",
        "upper_snake": "constant",
    }
    plain = named.get(plain, plain)
    if plain in _PLAIN_CASES:
        return _PLAIN_CASES[plain](text)
    if plain not in _CASES:
        raise UnfitError(f"Invalid case: {case[:40]}")
    return _CASES[plain](_PART.findall(text))


def slugify(text: str, separator: str) -> str:
    """Words of ASCII letters and digits in lower case, joined."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return (separator or "-").join(re.findall("[a-z0-9]+", re.sub("['’]", "", plain)))


def _figures(text: str) -> JsonObject:
    sentences = [part for part in re.split(r"[.!?。！？]+", text) if part.strip()]
    return {
        "characters": len(text),
        "characters_without_spaces": sum(not c.isspace() for c in text),
        "words": len(text.split()),
        "sentences": len(sentences),
        "lines": len(text.splitlines()),
        "paragraphs": len([part for part in re.split(r"\n\s*\n", text) if part.strip()]),
    }


def _replaced(text: str, old: str, new: str) -> str:
    if not old:
        raise UnfitError("The text to replace is empty")
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_TEXT:
        raise OverflowError
    return text.replace(old, new)


def _split(text: str, separator: str | None) -> JsonValue:
    if separator is None:
        return [*text.split()]
    named = {"comma": ",", "space": " ", "newline": "\n", "tab": "\t", "\\n": "\n", "\\t": "\t"}
    return [*text.split(named.get(separator, separator) or None)]


def _joined(parts: list[str], separator: str) -> str:
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_TEXT:
        raise OverflowError
    return separator.join(parts)


def _repeated(text: str, times: int, separator: str) -> str:
    if times < 0 or (len(text) + len(separator)) * times > MAX_TEXT:
        raise UnfitError(f"The text cannot be repeated {times} times")
    return separator.join([text] * times)


def _contains(text: str, part: str, is_exact: object) -> bool:
    return part in text if is_exact else part.casefold() in text.casefold()


def _is_palindrome(text: str) -> bool:
    letters = [c.casefold() for c in text if c.isalnum()]
    return letters == letters[::-1]


def _is_anagram(a: str, b: str) -> bool:
    first, second = (sorted(c for c in t.casefold() if c.isalnum()) for t in (a, b))
    return first == second


def levenshtein(a: str, b: str) -> int:
    """The fewest letters to put in, take out or change between two texts."""
    if max(len(a), len(b)) > _MAX_COMPARED:
        raise UnfitError(f"Texts of more than {_MAX_COMPARED} characters are not compared")
    row = list(range(len(b) + 1))
    for at, x in enumerate(a, start=1):
        before, row[0] = row[0], at
        for column, y in enumerate(b, start=1):
            before, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, before + (x != y)),
            )
    return row[-1]


def _frequencies(text: str, *, of_words: bool) -> JsonObject:
    parts = _WORD.findall(text.casefold()) if of_words else list(text)
    return {"frequencies": dict(Counter(parts).most_common())}


def _ordered(items: list[JsonValue], order: str, reverse: object) -> JsonValue:
    is_down = order.lower().startswith("desc") or bool(reverse)
    numbers = [i for i in items if isinstance(i, int | float) and not isinstance(i, bool)]
    if len(numbers) == len(items):
        return [*sorted(numbers, reverse=is_down)]
    if all(isinstance(i, str) for i in items):
        return sorted(items, key=str, reverse=is_down)
    raise UnfitError("Only lists of numbers or of texts can be sorted")


def _distinct(items: list[JsonValue]) -> JsonValue:
    seen: dict[str, JsonValue] = {}
    for item in items:
        seen.setdefault(repr(item), item)
    return [*seen.values()]


def _sorted_lines(text: str) -> str:
    return "\n".join(sorted(text.splitlines()))


def _cut(text: str, length: int, suffix: str) -> str:
    if length < 0:
        raise UnfitError("The length must not be negative")
    return text if len(text) <= length else text[: max(length - len(suffix), 0)] + suffix


def _found_at(text: str, part: str) -> JsonValue:
    return {"index": text.find(part), "count": text.count(part) if part else 0}


def _shifted(text: str, shift: int, way: str) -> str:
    move = -shift if way == "decrypt" else shift

    def moved(letter: str) -> str:
        first = "A" if letter.isupper() else "a"
        return chr((ord(letter) - ord(first) + move) % 26 + ord(first))

    return "".join(moved(c) if c.isascii() and c.isalpha() else c for c in text)


def _on_text(run: Callable[[str], JsonValue]) -> Callable[..., JsonValue]:
    """A function of one text, whatever it calls it."""

    def on_text(text: str) -> JsonValue:
        return run(text)

    return on_text


def _of_two(run: Callable[[str, str], JsonValue]) -> Callable[..., JsonValue]:
    def on_two(text: str, part: str) -> JsonValue:
        return run(text, part)

    return on_two


def _together(a: str, b: str) -> str:
    return _joined([a, b], "")


def _backwards(items: list[JsonValue]) -> JsonValue:
    return items[::-1]


_TEXT: Final = text()
_PART_KEYS: Final = (
    "substring search pattern needle search_text sub term find target search_string query keyword"
)
_SEPARATOR: Final = "delimiter sep split_by by delim joiner glue"
_PAIR: Final = (
    text("a", "text1 string1 first source s1 str1 word1 first_text text_a", is_neutral=True),
    text("b", "text2 string2 second target s2 str2 word2 second_text text_b", is_neutral=True),
)
_ALL: Final[tuple[tuple[str, Callable[[str], JsonValue], str], ...]] = (
    ("uppercase, upper, upper case, text uppercase, capitalize all", str.upper, "letter"),
    ("lowercase, lower, lower case", str.lower, "letter"),
    ("title case, titlecase", str.title, "word"),
    ("capitalize", str.capitalize, "first letter"),
    ("swap case, swapcase", str.swapcase, ""),
    ("reverse", lambda text: text[::-1], "character letter word sentence"),
    ("reverse word", lambda text: " ".join(text.split()[::-1]), "order sentence"),
    ("length, len, text length, string length", len, "character"),
    ("count character, character count, char count, count char, count letter", len, ""),
    ("count word, word count, wordcount", lambda text: len(text.split()), ""),
    ("count line, line count", lambda text: len(text.splitlines()), ""),
    ("count vowel, vowel count", lambda text: sum(c in "aeiou" for c in text.casefold()), ""),
    ("count sentence, sentence count", lambda text: _figures(text)["sentences"], ""),
    ("trim, strip", str.strip, "whitespace space"),
    ("remove space, remove whitespace, strip space", lambda text: "".join(text.split()), ""),
    ("palindrome", _is_palindrome, "test"),
    ("text statistic, analyze text, text analysis, text stat, string statistic, count text, text count, text analyzer", _figures, ""),
    ("word frequency, count word frequency", partial(_frequencies, of_words=True), "count"),
    ("character frequency, letter frequency, char frequency", partial(_frequencies, of_words=False), "count"),
    ("sort line", _sorted_lines, ""),
)  # fmt: skip
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    *(computation(phrases, _on_text(run), _TEXT, beside=f"{beside} convert change transform case sentence word") for phrases, run, beside in _ALL),
    *(computation(f"{name} case, {name}case", partial(in_case, case=name), _TEXT)
      for name in _CASES),
    computation("convert case, case convert, change case, case converter, case conversion, transform case, case", in_case, _TEXT,
                text("case", "target_case case_type to_case style format to type target mode"), beside="text"),
    computation("slugify, slug", slugify, text("text", "title string input name content"), text("separator", _SEPARATOR, default="-"),
                beside="generate create url make"),
    computation("replace, find replace, substitute", _replaced, _TEXT,
                text("old", "find search search_text from pattern target old_text old_string substring search_string"),
                text("new", "replace replacement replace_with to new_text new_string with replacement_text replace_text")),
    computation("split", _split, _TEXT, text("separator", _SEPARATOR, default=None), beside="by"),
    computation("join", _joined, texts("parts", "strings items list texts words values array elements input"),
                text("separator", _SEPARATOR, default=" ")),
    computation("concatenate, concat", _joined, texts("parts", "strings items list texts words values array elements"),
                text("separator", _SEPARATOR, default="")),
    computation("concatenate, concat", _together, *_PAIR),
    computation("repeat", _repeated, _TEXT, integer("times", "count n repeat repetitions number num_times"), text("separator", _SEPARATOR, default="")),
    computation("contain, contain substring, include", _contains, _TEXT, text("part", _PART_KEYS),
                flag("is_exact", "case_sensitive", default=True), beside="string text"),
    computation("start with", _of_two(str.startswith), _TEXT, text("part", f"prefix {_PART_KEYS}"), beside="prefix"),
    computation("end with", _of_two(str.endswith), _TEXT, text("part", f"suffix {_PART_KEYS}"), beside="suffix"),
    computation("index of, find substring, count substring, count occurrence", _found_at, _TEXT, text("part", f"{_PART_KEYS} word character char"),
                beside="word character"),
    computation("truncate", _cut, _TEXT, integer("length", "max_length limit max max_len n"), text("suffix", "ellipsis", default="")),
    computation("anagram", _is_anagram, *_PAIR),
    computation("levenshtein, levenshtein distance, edit distance, string distance", levenshtein, *_PAIR, beside="distance"),
    computation("sort", _ordered, items(), option("order", "direction sort_order", "asc", "descending=desc"),
                flag("reverse", "descending desc", default=False), beside="ascending descending"),
    computation("deduplicate, dedupe, unique, remove duplicate, distinct", _distinct, items(), beside="item element"),
    computation("reverse", _backwards, items()),
    computation("caesar cipher, caesar, caesar encrypt, caesar decrypt", _shifted, _TEXT, integer("shift", "key offset n"),
                option("way", "mode operation direction", "encrypt", "decrypt decode=decrypt encrypt encode=encrypt"), beside="cipher"),
)  # fmt: skip
