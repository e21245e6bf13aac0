"""Can an agent know what the gold calls are given?

A code or a name stands, by the matcher's tokens, in the main question, in the result of an earlier gold
call, or in the tools' own texts. What is worked out from one of those says so (``from``), and the span that
it names must be there; whether the working out is right is for the second tier.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, cast

from astra_mcp.answers import tokenize
from astra_mcp.answers.tokens import MONTHS
from astra_mcp.environments.acceptance.planned import GoldStep, Slot
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.neighbours import known_values

__all__ = ["grounding_failures", "is_code", "spellings"]

_MIN_CODE = 5
_HUNDRED, _MOST_IN_WORDS = 100, 10_000
_DAY_OR_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d)?")
_DAY = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_ONES, _TEENS, _TENS, _ORDINALS = (
    words.split()
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    )
)
_TO_NINETEEN = (*_ONES, *_TEENS)
_CHINESE = "零一二三四五六七八九"
_CHINESE_UNITS = ("", "十", "百", "千")
_REMEDY = 'say it in the question, let an earlier call return it, or name what it is worked out from ("from")'


_Told = dict[str, list[tuple[str, ...]]]
"""What an agent was told: each token, with those that begin with it wherever it stands."""
_LONGEST = 24
"""Tokens of a value that are compared."""


def _indexed(text: str) -> _Told:
    tokens = tokenize(text)
    told: _Told = {}
    for index, token in enumerate(tokens):
        told.setdefault(token, []).append(tokens[index : index + _LONGEST])
    return told


async def grounding_failures(player: Player) -> AsyncIterator[FailedCheck]:
    """Look for each gold value in what an agent has been told by then."""
    document = player.bundle.document
    shown = " \n ".join(_texts([t.model_dump(mode="json") for t in document.tools]))
    told = _indexed(f"{document.prompt}\n{shown}")
    for step in player.gold:
        for index, call in enumerate(step.before):
            if index == len(step.before) - 1:
                seen = await player.observe(call, step.before[:index])
                for token, places in _indexed(seen.result.text).items():
                    told.setdefault(token, []).extend(places)
        for name, slot in step.slots.items():
            fault = _source_fault(player, step, slot)
            if fault is None and not await _is_known(player, step, name, told):
                fault = "which nothing tells the agent"
                if slot.derived_from:
                    fault = "a code, which cannot be worked out"
            if slot.forgiving and is_code(slot.value):
                detail = f"{step.call}: {name} is a code, which nobody misspells; remove forgiving"
                yield FailedCheck.of(Check.IDENTIFYING_ARGUMENT, detail)
            if fault is not None:
                detail = f"{step.call}: {name} is {_shown(slot.value)}, {fault}; {_REMEDY}"
                yield FailedCheck.of(Check.UNGROUNDED_ARGUMENT, detail)


def _source_fault(player: Player, step: GoldStep, slot: Slot) -> str | None:
    """What a value is worked out from must be there."""
    question = _plain(player.bundle.document.prompt)
    solved = {i for s in player.gold[: step.index] for i, _ in s.answers}
    for source in slot.derived_from:
        if isinstance(source, str) and (not source.strip() or _plain(source) not in question):
            return f"worked out from {source!r}, which is no span of the question"
        if isinstance(source, int) and source not in solved:
            return f"worked out from sub-task {source}, which no earlier call solves"
    return None


async def _is_known(player: Player, step: GoldStep, name: str, told: _Told) -> bool:
    slot = step.slots[name]
    schema = player.property_of(step.call, name)
    leaves = [*_leaves(slot.value)]
    unknown = [v for v in leaves if not _stands(v, told, schema)]
    if not unknown or (slot.derived_from and not any(map(is_code, unknown))):
        return True
    return not step.is_identifying(name) and await _is_needless(player, step, name)


async def _is_needless(player: Player, step: GoldStep, name: str) -> bool:
    """Tell whether an agent keeps the answers without the value, or with one that the schema names."""
    schema = player.property_of(step.call, name)
    calls = [step.call.having(name, v) for v in known_values(schema)]
    others = player.gold_neighbours(step, name)
    calls += [step.call.having(name, v) for v in (*others.generated, *others.made_up)]
    if player.is_optional(step.call, name):
        calls.insert(0, step.call.without(name))
    for call in calls:
        if player.accepts(call):
            seen = await player.observe(call, step.before)
            if all(seen.holds(answer) for _, answer in step.answers):
                return True
    return False


def _stands(value: JsonValue, told: _Told, schema: Mapping[str, Any]) -> bool:
    if value is None or isinstance(value, bool) or value in known_values(schema):
        return True
    if [value] in known_values(schema):  # of a list
        return True
    if not any(c.isalnum() for c in str(value)):
        return True
    return any(_contains(told, tokenize(text)) for text in spellings(value))


def _contains(told: _Told, wanted: tuple[str, ...]) -> bool:
    wanted = wanted[:_LONGEST]
    places = told.get(wanted[0], ()) if wanted else ()
    return any(rest[: len(wanted)] == wanted for rest in places)


def spellings(value: JsonValue) -> Iterator[str]:
    """How a question may say a value: a number in words, a day without its year, a month, a plural."""
    text = str(value)
    yield text
    if isinstance(value, int | float) and 0 <= value < _MOST_IN_WORDS and value == int(value):
        yield from _in_words(int(value))
    if day := _DAY.fullmatch(text):
        year, month, number = day[1], int(day[2]), day[3]
        for name in (n for n, m in MONTHS.items() if m == month):
            if number is None:
                yield from (f"{name} {year}", name)
            else:
                ordinals = ("", "st", "nd", "rd", "th")
                yield from (f"{name} {int(number)}{o}" for o in ordinals)
                yield from (f"{int(number)}{o} {of}{name}" for o in ordinals for of in ("", "of "))
        yield f"{month}月{int(number)}日" if number else f"{month}月"
        yield f"{month}月{int(number)}号" if number else f"{year}年{month}月"
    elif text[-1:].isalpha() and text.isascii():
        yield from (f"{text}s", f"{text}es", text.removesuffix("s"))
        ends = (("y", "ies"), ("f", "ves"), ("fe", "ves"))
        yield from (text.removesuffix(one) + many for one, many in ends if text.endswith(one))


def _in_words(number: int) -> Iterator[str]:
    """A number as a question may write it."""
    yield from (f"{number}{ending}" for ending in ("st", "nd", "rd", "th"))
    if number < len(_TO_NINETEEN):
        yield _TO_NINETEEN[number]
    elif number < _HUNDRED:
        tens, ones = _TENS[number // 10 - 2], number % 10
        yield from (tens,) if not ones else (f"{tens}-{_ONES[ones]}", f"{tens} {_ONES[ones]}")
    if number < len(_ORDINALS):
        yield _ORDINALS[number]
    digits = [int(d) for d in str(number)]
    units = reversed(_CHINESE_UNITS[: len(digits)])
    words = "".join(
        _CHINESE[d] + unit if d else "零" for d, unit in zip(digits, units, strict=True)
    )
    words = re.sub("零+", "零", words)
    words = words.rstrip("零") or "零"
    yield from (words, words.removeprefix("一") if words.startswith("一十") else words)
    yield words.replace("二", "两", 1)


def is_code(value: JsonValue) -> bool:
    """Tell whether a text is of letters and digits, which nobody works out; days and times are none."""
    if not isinstance(value, str) or _DAY_OR_TIME.fullmatch(value) or " " in value.strip():
        return False
    letters = [c for c in value if c.isalnum()]
    has_both = any(c.isdigit() for c in letters) and any(c.isalpha() for c in letters)
    return has_both and value.isascii() and len(letters) >= _MIN_CODE


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    else:
        yield value


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in cast("Mapping[str, object]", node).items():
            yield key
            yield from _texts(value)
    elif isinstance(node, list):
        for item in cast("Sequence[object]", node):
            yield from _texts(item)
    elif node is not None:
        yield str(node)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _shown(value: JsonValue) -> str:
    return canonical_json(value).decode()
