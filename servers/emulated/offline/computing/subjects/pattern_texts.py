"""What regular expressions find in texts, and what texts become by them."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import Computation, computation, text
from servers.emulated.offline.computing.operands import MAX_TEXT, UnfitError
from servers.emulated.offline.computing.subjects.patterns import (
    Found,
    Pattern,
    PatternRefusedError,
)

__all__ = ["COMPUTATIONS"]

_MAX_FOUND: Final = 1000
_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_REFERENCE: Final = re.compile(r"\\(\d)|\$(\d)|\\g<(\w+)>")
_EMAILS: Final = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
_URLS: Final = r"https?://[^\s<>\"')\]]+"
_NUMBERS: Final = r"-?\d+(?:\.\d+)?"


def _pattern(pattern: str, flags: str) -> Pattern:
    chosen = 0
    for flag in re.findall("[a-zA-Z]", flags):
        if flag.lower() not in "imsgu":
            raise UnfitError(f"Invalid flag: {flag}")
        chosen |= _FLAGS.get(flag.lower(), 0)
    try:
        return Pattern(pattern, flags=chosen)
    except PatternRefusedError as fault:
        raise UnfitError(f"Invalid regular expression: {fault}") from None


def _found(pattern: Pattern, text: str) -> Iterator[Found]:
    try:
        yield from islice(pattern.find_all(text), _MAX_FOUND)
    except PatternRefusedError as fault:
        raise UnfitError(f"The regular expression cannot be evaluated: {fault}") from None


def _matches(text: str, pattern: str, flags: str) -> JsonObject:
    compiled = _pattern(pattern, flags)
    rows: list[JsonValue] = [
        {
            "match": text[found.start : found.end],
            "start": found.start,
            "end": found.end,
            "groups": [None if g is None else text[g[0] : g[1]] for g in found.groups],
        }
        for found in _found(compiled, text)
    ]
    return {"is_match": bool(rows), "matches": rows, "count": len(rows)}


def _extracted(text: str, pattern: str, flags: str) -> JsonObject:
    found = [text[f.start : f.end] for f in _found(_pattern(pattern, flags), text)]
    return {"matches": [*found], "count": len(found)}


def _replaced(text: str, pattern: str, replacement: str, flags: str) -> JsonObject:
    compiled = _pattern(pattern, flags)
    pieces, at, number, length = list[str](), 0, 0, 0
    for found in _found(compiled, text):
        pieces += [text[at : found.start], _filled(replacement, compiled, found, text)]
        at, number, length = found.end, number + 1, length + len(pieces[-1])
        if length > MAX_TEXT:
            raise OverflowError
    return {"result": "".join([*pieces, text[at:]]), "replacements": number}


def _filled(replacement: str, pattern: Pattern, found: Found, text: str) -> str:
    """The replacement with what its references stand for."""

    def part(match: re.Match[str]) -> str:
        name = next(group for group in match.groups() if group is not None)
        number = int(name) if name.isdigit() else pattern.names.get(name, -1)
        if number == 0:
            return text[found.start : found.end]
        if not 1 <= number <= len(found.groups):
            raise UnfitError(f"Invalid group reference: {name}")
        place = found.groups[number - 1]
        return "" if place is None else text[place[0] : place[1]]

    return _REFERENCE.sub(part, replacement)


def _all_of(text: str, pattern: str, name: str) -> JsonObject:
    found = [text[f.start : f.end] for f in _found(_pattern(pattern, ""), text)]
    return {name: [*dict.fromkeys(found)], "count": len(set(found))}


_TEXT: Final = text()
_PATTERN: Final = text("pattern", "regex regexp expression regular_expression regex_pattern")
_FLAG: Final = text("flags", "flag options", default="")
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("regex match, match regex, regex test, test regex, regex search, regex find, find regex, regexp match", _matches, _TEXT, _PATTERN, _FLAG,
                beside="pattern all match"),
    computation("regex extract, extract regex, regex findall, extract pattern, regex find all", _extracted, _TEXT, _PATTERN, _FLAG, beside="pattern match all"),
    computation("regex replace, replace regex, regex substitute, regexp replace, regex sub", _replaced, _TEXT, _PATTERN,
                text("replacement", "replace replace_with new substitution repl replacement_text"), _FLAG, beside="pattern"),
    computation("extract email", partial(_all_of, pattern=_EMAILS, name="emails"), _TEXT, beside="address"),
    computation("extract url, extract link", partial(_all_of, pattern=_URLS, name="urls"), _TEXT),
    computation("extract number", partial(_all_of, pattern=_NUMBERS, name="numbers"), _TEXT),
)  # fmt: skip
