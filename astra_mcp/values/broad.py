"""Values that may find more than one record, or any: what a caller tries who does not know the right one.

Nothing, signs that stand for all, single letters, beginnings and ranges of the right value, words that a
person might type, values of other types, names of fields. Knows schemas and words alone; whether a schema
takes such a value is for who sends it.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.merging import kinds_of
from astra_mcp.values.neighbours import folded, known_values
from astra_mcp.values.nouns import words_of
from astra_mcp.values.vocabulary import words_in

__all__ = ["broad_values", "few_values", "is_page", "other_spellings", "same_shape", "shape_of"]

_SIGNS = ("", " ", "*", "%", ".", "?", "_", ".*", "-", "all", "any", "' OR '1'='1")
_REPEATED = ("*", "%", ".", "?", ".*", " ")
"""Signs that stand for all as often as a schema asks for."""
_OTHER_TYPES: tuple[JsonValue, ...] = (None, True, False, 0, 1, -1, "", [], {})
_NOT_A_DAY = ("2025-02-30", "0000-00-00", "2025-13-45")
_ALIASES = (
    *(
        "default",
        "latest",
        "last",
        "first",
        "current",
        "recent",
        "me",
        "my",
        "this",
        "main",
        "none",
    ),
    *("0", "1", "2", "3", "-1", "最近", "默认", "当前", "最新", "全部", "任意", "我的", "本人"),
)
_WORDS = (
    "all",
    "none",
    "id",
    "key",
    "raw",
    "full",
    "debug",
    "admin",
    "test",
    "internal",
    "default",
)
_MAX_LETTERS = 4
_MAX_FIELDS = 12
_MAX_PAGES = 20
_MAX_SMALL = 40
_MIN_NAME = 6
_PAGE = re.compile(
    "page|offset|start|skip|cursor|index|from|after|next|token|页|起|游标", re.IGNORECASE
)
_MASKS = "_?*.#xX"
_WORD = re.compile(r"\w[\w-]{1,15}")
_MAX_WORDS = 24
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SPACES = re.compile(r"\s+")


def broad_values(
    schema: Mapping[str, Any], value: JsonValue, fields: Sequence[str], random: Random
) -> list[JsonValue]:
    """Values for a place that picks a record, other than the one that picks it.

    Args:
        schema: Of the place.
        value: The one that picks the record.
        fields: Names that a tool might know: its own, those of its parameters, and in its results.
        random: Draws words that a person might type.
    """
    made: list[JsonValue] = [*_OTHER_TYPES]
    if isinstance(value, str) and not schema.get("enum"):
        made += [*_SIGNS, *_ALIASES, *_parts(value), *_masks(value), *_ranges(value)]
        made += [*_phrases(random), *_WORD.findall(str(schema.get("description", "")))[:_MAX_WORDS]]
        made += dict.fromkeys(w for f in fields for w in (f, *words_of(f)))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        made += [schema.get("minimum"), schema.get("maximum"), str(value)[:1], -value]
    low = schema.get("minLength", 0)
    made += [sign * -(-low // len(sign)) for sign in _REPEATED if low > len(sign)]
    own = folded(value)
    fresh = {canonical_json(v): v for v in made}
    return [v for v in fresh.values() if folded(v) != own]


def _parts(text: str) -> Iterator[str]:
    """Single letters, and beginnings of at most half."""
    letters = dict.fromkeys(c for c in text.casefold() if c.isalnum())
    yield from itertools.islice(letters, _MAX_LETTERS)
    is_code = any(c.isdigit() for c in text)
    lengths = (1, 2, 3, len(text) // 2) if is_code else (1, 2)  # a name may have a short form
    yield from dict.fromkeys(text[:n] for n in lengths if n <= len(text) // 2)
    if _DAY.match(text):
        yield from (text[:4], text[:7])
    if text.isascii() and len(text) >= _MIN_NAME and not is_code:
        yield "".join(c for c in text if c in "aeiouAEIOU")
        yield "".join(c for c in text if c not in "aeiouAEIOU")


def _masks(text: str) -> Iterator[str]:
    """The text with a sign that may stand for any in the place of its digits, or of all letters too."""
    for sign in _MASKS:
        yield re.sub(r"[^\W_]", sign, text)
        yield re.sub(r"\d", sign, text)


def _ranges(text: str) -> Iterator[str]:
    """From the least to the greatest value of its shape, as many tools would read it; and lists."""
    if not any(c.isdigit() for c in text):
        return
    low, high = re.sub(r"\d", "0", text), re.sub(r"\d", "9", text)
    yield from (f"{low}{sign}{high}" for sign in ("-", "..", ":", ",", " to ", "~"))
    yield re.sub(r"\d+", "*", text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*", text):
        yield from _NOT_A_DAY


def _phrases(random: Random) -> Iterator[str]:
    """What a person might type: a name, a place, two plain words, a sentence, a number."""
    english, chinese = words_in("en"), words_in("zh")
    yield " ".join(random.choice(english[key]) for key in ("first_names", "last_names"))
    yield random.choice(english["cities"])
    for key in ("phrases", "tags", "streets"):
        yield f"my {random.choice(english[key]).casefold()}"
    yield " ".join(random.choice(english["tags"]) for _ in range(2))
    yield random.choice(english["sentences"])
    yield random.choice(chinese["cities"])
    yield str(random.randrange(10, 10**6))


def is_page(name: str) -> bool:
    """Tell whether a place says where in a list to begin."""
    return _PAGE.search(name) is not None


def few_values(name: str, schema: Mapping[str, Any], fields: Sequence[str]) -> list[JsonValue]:
    """Values for a place that picks no record, beside those that its schema names.

    Args:
        name: Of the place.
        schema: Of the place.
        fields: Names that a tool might know: of its parameters, and in its results.
    """
    kinds = {*kinds_of(schema)}
    made: list[JsonValue] = []
    if kinds & {"integer", "number"}:
        bounds = (schema.get("minimum"), schema.get("maximum"))
        made += [b for b in bounds if b is not None]
        made += [*range(_MAX_PAGES if is_page(name) else 6), 10, 1_000_000, -1]
    if "string" in kinds and not schema.get("enum"):
        made += ["", "a", "*", *_WORDS, *fields[:_MAX_FIELDS]]
    if "array" in kinds:
        items = known_values(schema.get("items") or {})
        made += [[], *([v] for v in items), [*items]]
    return made


def same_shape(value: JsonValue, texts: Iterable[str]) -> list[JsonValue]:
    """Values of the shape of one: from texts, small numbers, and with other last digits."""
    text = str(value)
    if not any(c.isdigit() for c in text) or isinstance(value, bool | list | dict | float):
        return []
    found = shape_of(text)
    made = [m for t in texts for m in found.findall(t)]
    places = [i for i, c in enumerate(text) if c.isdigit()][-2:]
    for digits in itertools.product("0123456789", repeat=len(places)):
        chars = list(text)
        for place, digit in zip(places, digits, strict=True):
            chars[place] = digit
        made.append("".join(chars))
    made += map(str, range(-_MAX_SMALL, _MAX_SMALL))
    unique = [m for m in dict.fromkeys(made) if m != text]
    return [int(m) for m in unique] if isinstance(value, int) else [*unique]


def shape_of(text: str) -> re.Pattern[str]:
    """What finds texts with digits and letters in the same places."""
    shape = "".join(
        r"\d" if c.isdigit() else "[A-Za-z]" if c.isalpha() else re.escape(c) for c in text
    )
    return re.compile(rf"(?<!\w){shape}(?!\w)")


def other_spellings(value: JsonValue) -> list[JsonValue]:
    """The same value in the eyes of a tool that forgives case, space and width."""
    if not isinstance(value, str):
        return []
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in value)
    made = (
        value.lower(),
        value.upper(),
        f" {value} ",
        _SPACES.sub("", value),
        value.replace("-", ""),
        wide,
    )
    return [v for v in dict.fromkeys(made) if v != value]
