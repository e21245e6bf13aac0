"""Whether the words of an answer say that what was asked for does not exist.

Errors for any other reason are none of this: of permission, of a rule, of something else that is missing.
Where the words leave a doubt, they say nothing.
"""

import re
from collections.abc import Iterable
from typing import Final

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import key_of, singular, words_of
from servers.emulated.modelled.excerpts import answer_text
from servers.emulated.modelled.vocabulary import ReadCall, id_text, noun_of_field

__all__ = ["denies"]

_MISSING: Final = re.compile(
    r"\bnot[ _-]?(?:be )?found\b|\bno such\b|\b(?:does|do|did)(?:n[o']t| not) exist\b|\bnon-?existent\b"
    r"|\bunknown\b|\b(?:could|can|was)(?:n[o']t| not|not)(?: be)? (?:find|found|locate|located)\b"
    r"|\bno \w+(?: \w+)? (?:with|has|having|for|matching|by|was found|were found|found|exists)\b|\b404\b"
    r"|未找到|没有找到|找不到|未能找到|不存在|查无|無法找到"
    r"|見つかりません|存在しません|찾을 수 없|존재하지 않",
    re.IGNORECASE,
)
_OTHER_REASON: Final = re.compile(
    r"permission|\baccess\b|forbidden|unauthori[sz]|denied|allowed|authenticat|authori[sz]|credential"
    r"|权限|授权|禁止|拒绝|無權",
    re.IGNORECASE,
)
_MAX_LENGTH: Final = 400
"""Longer texts are answers, not refusals."""
_MIN_VALUE: Final = 3
"""Shorter values stand in texts by chance."""


def denies(value: JsonValue, call: ReadCall, nouns: Iterable[str], *, is_error: bool) -> bool:
    """Say whether an answer tells that the entity of its call does not exist.

    Args:
        value: The answer.
        call: Of which the entity is known.
        nouns: Of everything else that there may be: what names another may be about that.
        is_error: A success denies only where it holds an error in its place.
    """
    text = answer_text(value) if is_error else _error_in(value)
    if call.entity is None or not text or len(text) > _MAX_LENGTH:
        return False
    if not _MISSING.search(text) or _OTHER_REASON.search(text):
        return False
    return not _is_about_another(text, call, nouns)


def _error_in(value: JsonValue) -> str:
    """Find the error that a success holds; empty where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        error = value.get("error")
        return answer_text(error) if error else ""
    return ""


def _is_about_another(text: str, call: ReadCall, nouns: Iterable[str]) -> bool:
    """Say whether the words name another argument of the call, or something else that there is."""
    if call.entity is None:
        return True
    said = text.casefold()
    rest = said.replace(call.entity.id.casefold(), " ")
    words = {singular(word) for word in words_of(rest)}
    own = {*words_of(call.entity.noun), "id"}
    for name, value in call.arguments.items():
        given = id_text(value)
        if key_of(name) == call.id_field or given is None:
            continue
        if len(given) >= _MIN_VALUE and given.casefold() in rest:
            return True
        if words.intersection(words_of(noun_of_field(name) or name)) - own:
            return True
    others = {word for noun in nouns for word in words_of(noun)} - own
    return not words.isdisjoint(others)
