"""What an agent that does not think remembers of what it saw: the strings and words of results."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import orjson

from astra_mcp.answers.tokens import CJK, WORD
from astra_mcp.types import JsonValue
from training.rollout.agent import Answered

__all__ = ["find_strings", "find_texts", "remembered"]

MAX_KNOWN = 2000
"""Texts that an agent remembers, the latest ones."""
_MAX_FOUND = 500
"""Texts of one result, the first ones."""
_TOKEN = re.compile(rf"{WORD}(?:(?:(?![{CJK}])[\w.:/-])*{WORD})?|[{CJK}]+")


def remembered(
    known: Mapping[str, None], answers: Iterable[Answered], find: Callable[[str], Sequence[str]]
) -> dict[str, None]:
    """Add the texts of results, in the order in which they came; what tools say of errors is no knowledge."""
    texts = dict(known)
    for answer in answers:
        if answer.result is not None and not answer.result.is_error:
            texts |= dict.fromkeys(find(answer.text))
    return dict.fromkeys(list(texts)[-MAX_KNOWN:])


def find_strings(text: str) -> list[str]:
    """Find the first 500 strings of a result: those of its JSON, names of fields included, else its words."""
    try:
        found = list(_strings_in(orjson.loads(text)))
    except orjson.JSONDecodeError:
        found = text.split()
    return list(dict.fromkeys(found))[:_MAX_FOUND]


def find_texts(text: str) -> list[str]:
    """Find the first 500 texts: the whole, the strings of its JSON, and the words and numbers in it."""
    return list(dict.fromkeys((text, *find_strings(text), *_TOKEN.findall(text))))[:_MAX_FOUND]


def _strings_in(value: JsonValue) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _strings_in(item)
