"""What a user knows and no person would say: names of tools, whole results, and ids that results issue."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, cast

from astra_mcp.synthesis.trajectories.chain import ExecutedCall

__all__ = ["Secrets"]

MIN_TEXT: Final = 24
"""Characters of a result in plain words, without spaces, that nobody says by chance."""
MIN_ID: Final = 6
"""Letters and digits of an id; shorter ones are said by chance."""
MIN_JOINED: Final = 8
"""Letters of a tool's name that is no word where its words are written as one."""
_PARTICLES: Final = frozenset(("back", "by", "down", "in", "off", "on", "out", "over", "to", "up"))
_COMPOUND: Final = re.compile(r"\w+(?:[-\u2010-\u2015./:]+\w+)*")
"""A word with what joins words to the name of a tool."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINER: Final = re.compile(r"[^\w]+|_+")
_TOKEN: Final = re.compile(r"[a-z0-9]+(?:[-_]+[a-z0-9]+)*")
_NO_ID: Final = re.compile(
    r"\d+(?:-\d+)+(?:t\d+z?)?"  # dates and ranges
    r"|\d+-?(?![0-9a-f]+$)[a-z]+"  # figures with their units
    r"|\d+-[a-z]+(?:-[a-z]+)*"
)
_QUOTES: Final = str.maketrans("", "", "\"'`\u2018\u2019\u201c\u201d\\")


class Secrets:
    """What came of a task, as far as it must not be told to an agent."""

    def __init__(self, calls: Sequence[ExecutedCall]) -> None:
        """Take the calls by which the request was fulfilled once, in their order.

        What a call was given is the user's to say, unless an earlier result issued it.
        """
        self._names = {words for call in calls if len(words := _words(call.step.tool)) > 1}
        self._results = {
            result for call in calls for result in _results(call) if re.search(r"\w", result)
        }
        self._ids: set[str] = set()
        given: set[str] = set()
        for call in calls:
            given |= _ids(_json(call.arguments)) - self._ids
            structured = _json(call.structured) if call.structured is not None else ""
            self._ids |= _ids(f"{call.result}\n{structured}") - given

    def told_by(self, message: str, known: str) -> str:
        """Say what a message gives away; nothing where it gives away nothing.

        Args:
            message: Of the user.
            known: What the agent may hear, or has said itself: that is no secret.
        """
        if _ids(message) & (self._ids - _ids(known)):
            return "an id that a result issued"
        said, heard = _squeezed(message), _squeezed(known)
        if any(result in said and result not in heard for result in self._results):
            return "a whole result"
        if any(self._is_told(name, message, known) for name in self._names):
            return "a tool's name"
        return ""

    @staticmethod
    def _is_told(name: tuple[str, ...], message: str, known: str) -> bool:
        said, heard = (
            {each.casefold() for each in _COMPOUND.findall(_plain(text)) if _spells(each, name)}
            for text in (message, known)
        )
        if name[-1] in _PARTICLES:  # "check-in" is everyday language
            said = {each for each in said if re.search(r"[_./:]", each)}
        return bool(said - heard)


def _spells(compound: str, name: tuple[str, ...]) -> bool:
    """Tell whether words are the tool's name, whatever joins them; "search books" is everyday language."""
    words = _words(compound)
    starts = range(len(words) - len(name) + 1)
    joined = "".join(name)
    is_joined = len(joined) >= MIN_JOINED and words == (joined,)
    return is_joined or any(words[at : at + len(name)] == name for at in starts)


def _words(name: str) -> tuple[str, ...]:
    parts = _JOINER.split(_HUMP.sub("_", _plain(name)))
    return tuple(part.casefold() for part in parts if part)


def _results(call: ExecutedCall) -> Iterator[str]:
    """Give a result as it came, and JSON also as others write it; not a few words, which anybody says."""
    for text in (call.result, _json(call.structured) if call.structured is not None else ""):
        squeezed = _squeezed(text)
        value = _parsed(text)
        if isinstance(value, dict | list):
            yield from (squeezed, _squeezed(_json(cast("object", value))))
        elif len(squeezed) >= MIN_TEXT:
            yield squeezed


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _ids(text: str) -> set[str]:
    """Find ids and their parts, without the signs that join these."""
    found: set[str] = set()
    text = re.sub(r"\\(?:[nrtbf]|u[0-9a-fA-F]{4})", " ", text)  # as JSON writes them in texts
    for token in _TOKEN.findall(_plain(text).casefold()):
        for each in (token, *re.split(r"[-_]+", token)):
            bare = re.sub(r"[-_]+", "", each)
            if len(bare) >= MIN_ID and re.search(r"\d", bare) and not _NO_ID.fullmatch(each):
                found.add(bare)
    return found


def _plain(text: str) -> str:
    """Leave out what nobody sees, and what escapes other signs."""
    normal = unicodedata.normalize("NFKC", text).replace("\\", "")
    return "".join(c for c in normal if unicodedata.category(c) != "Cf")


def _squeezed(text: str) -> str:
    return "".join(_plain(text).translate(_QUOTES).casefold().split())
