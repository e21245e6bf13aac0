"""Checks of the document alone: faults, completeness, specific answers, leaks, words to the reader."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from astra_mcp.answers import answer_fault, contains_answer, match_answers, tokenize
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle, EnvironmentDocument, SubTask
from astra_mcp.environments.loading import document_faults, missing_fields
from astra_mcp.types import ToolSpec

__all__ = ["addressed_words", "document_failures", "fault_check", "question_failures"]

_MIN_ENUM = 8
"""An enumeration with fewer members gives away an answer that is among them."""
_MIN_CODE = 5
_KEPT = 8192
"""So many answers are read once, though each is looked for in every text of every tool."""
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_READER = r"(?:ai|agents?|assistants?|models?|llms?)"
_ADDRESSED = re.compile(
    rf"""
      \b(?:ignore|disregard|forget)\b.{{0,40}}\b(?:instruction|prompt|previous|above|earlier|user|request)
    | \b(?:call|use|make)\ no\ (?:further|more|other)\ (?:tool|call) | \bstop\ calling\b
    | \b(?:as\ an\ ai|language\ model|system\ prompt|tool\ calls?\ are\ graded)\b
    | <\|?(?:im_start|im_end|system|assistant|endoftext)\|?> | \[/?INST\]
    | ^\s*(?:system|assistant)\s*:
    | \b(?:note|notice|message|attention|hint|order|reminder|instructions?)
      \ (?:to|for)\ (?:the\ |any\ )?{_READER}\b
    | \b(?:dear|hello|hey)\ {_READER}\b
    | \b{_READER}\ (?:reading|must|should|are\ (?:told|advised|instructed))\b
    | \byou\ (?:must|should|can|may|need\ to)\ (?:now\ |simply\ |just\ )?
      (?:answer|reply|respond|say|output|conclude|stop)\b
    | \b(?:always|never|do\ not|don't)\ (?:answer|tell|reply|respond|say|mention|report|call)\b
    | \b(?:tell|inform|remind)\ the\ user\b | (?:不要|必须|务必|请)告诉 | 向用户(?:说|回复|隐瞒)
    | \b(?:the\ )?(?:correct|right|final|expected)\ answer\ (?:is|to)\b
    | 忽略.{{0,12}}(?:指令|提示|以上|之前) | 作为.{{0,4}}(?:AI|人工智能|语言模型)
    | (?:正确|最终|标准)答案(?:是|为|\uff1a) | (?:请|应|必须)(?:直接|立即|务必)?(?:回答|回复|输出)
    | (?:AI|智能体|助手|模型)(?:请|应|必须|注意)
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
"""How a text speaks to the model that reads it."""
_JOINT = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")


def _leak_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Look for the answers of every question in the texts that the agent is shown in each episode."""
    document = bundle.document
    scored = [(one.question_id, sub) for one in bundle.asked for sub in one.document.scored]
    shown = [
        ("the title", document.title),
        ("the description", document.description),
        ("the background", document.background or ""),
    ]
    for tool in document.tools:
        shown.extend(_shown_texts(tool))
    shown.extend(_leaves("server.json", bundle.server))
    for place, text in shown:
        yield from _text_failures(place, text, scored)


def _own_leak_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Look for the answers of one question in its own texts; those of others may stand there."""
    document, id = bundle.document, bundle.question_id
    scored = [(id, sub) for sub in document.scored]
    yield from _text_failures("the main question", document.question, scored)
    for _, sub in scored:
        if contains_answer(sub.question or "", sub.answer):
            yield _failure(id, sub, f"question {sub.id}", sub.question or "")


_Scored = tuple[str | None, SubTask]
"""A sub-task, and the question that it belongs to."""


def _text_failures(place: str, text: str, scored: Sequence[_Scored]) -> Iterator[FailedCheck]:
    answers = list(dict.fromkeys(sub.answer for _, sub in scored))
    given = _given_away(text, answers)
    if place.startswith("the schema"):
        given |= {answer for answer in answers if _has_part(text, answer)}
    yield from (_failure(id, sub, place, text) for id, sub in scored if sub.answer in given)


def _failure(id: str | None, sub: SubTask, place: str, text: str) -> FailedCheck:
    detail = (
        f"answer {sub.id}, {sub.answer!r}, stands in {place}: {text[:160]!r}; take it out there"
    )
    return replace(FailedCheck.of(Check.LEAKED_ANSWER, detail), question=id)


def _given_away(text: str, answers: Sequence[str]) -> frozenset[str]:
    """The answers that a reader finds in a text."""
    others = {other: a for a in answers for other in _other_spellings(a)}
    found = match_answers(text, {*answers, *others}).found
    joined = match_answers(_JOINT.sub(" ", text), answers).found
    squashed = _squashed(text)
    codes = {a for a in answers if _contains_code(squashed, a)}
    spelled = {others[one] for one in found & others.keys()}
    return (found & {*answers}) | spelled | joined | codes


@lru_cache(maxsize=_KEPT)
def _other_spellings(answer: str) -> tuple[str, ...]:
    """Spellings that a reader understands, but that the matcher keeps apart."""
    return tuple(_respelled(tokenize(answer)))


def _respelled(tokens: Sequence[str]) -> Iterator[str]:
    if len(tokens) == 1 and (match := _DAY.fullmatch(tokens[0])):
        year, month, day = match.groups()
        yield from (f"{day}.{month}.{year}", f"{day}/{month}/{year}", f"{month}/{day}/{year}")
        yield f"{year}{month}{day}"
    numbers = [t for t in tokens if any(c.isdigit() for c in t)]
    is_long = len(numbers) == 1 and len(numbers[0].replace(".", "")) >= _MIN_CODE
    if is_long and _NUMBER.fullmatch(numbers[0]):
        yield numbers[0]  # so long a number means its amount without the unit, too


def _has_part(text: str, answer: str) -> bool:
    """Tell whether a text has a part of a code, as a pattern that spells out all codes does."""
    parts = [p for p in re.split(r"[-_/. ]", answer) if p.isascii() and any(map(str.isalpha, p))]
    squashed = _squashed(text) if parts else ""
    return any(_contains_code(squashed, p) for p in parts if any(map(str.isdigit, p)))


def _contains_code(squashed: str, answer: str) -> bool:
    """Tell whether a code of letters and digits stands in a squashed text, however it is hyphenated."""
    code = _squashed(answer)
    if len(code) < _MIN_CODE or code.isalpha() or not any(c.isalpha() for c in code):
        return False
    if code not in squashed:  # as nearly always, at a hundredth of the cost
        return False
    left = r"(?<!\d)" if code[0].isdigit() else ""
    right = r"(?!\d)" if code[-1].isdigit() else r"(?![a-z])"
    return re.search(f"{left}{re.escape(code)}{right}", squashed) is not None


@lru_cache(maxsize=_KEPT)
def _squashed(text: str) -> str:
    return "".join(c for token in tokenize(_JOINT.sub(" ", text)) for c in token if c.isalnum())


def _shown_texts(tool: ToolSpec) -> Iterator[tuple[str, str]]:
    """Name and give every text of a tool from which an answer could be read off."""
    yield f"the name of {tool.name}", tool.name
    yield f"the description of {tool.name}", tool.description
    for schema in (tool.input_schema, tool.output_schema or {}):
        yield from _leaves(f"the schema of {tool.name}", schema)


def _leaves(place: str, node: object) -> Iterator[tuple[str, str]]:
    """Every name and every scalar in a schema, of unknown keywords too.

    Members of a long enumeration are none: they give a choice, not an answer.
    """
    if isinstance(node, Mapping):
        for key, value in cast("Mapping[str, object]", node).items():
            yield f"{place}, the name {key}", key
            if not (key == "enum" and _is_long(value)):
                yield from _leaves(f"{place}, {key}", value)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _leaves(place, item)
    elif node is not None and not isinstance(node, bool):
        yield place, str(node)


def _is_long(value: object) -> bool:
    return isinstance(value, list) and len(cast("list[Any]", value)) >= _MIN_ENUM


def _addressed_failures(document: EnvironmentDocument) -> Iterator[FailedCheck]:
    for tool in document.tools:
        for place, text in _shown_texts(tool):
            words = addressed_words(text)
            if words is not None:
                detail = (
                    f"{place} speaks to the model that reads it ({words!r}); say what the tool does"
                )
                yield FailedCheck.of(Check.HYGIENE, detail, f"{tool.name} addresses")


def addressed_words(text: str) -> str | None:
    """The words by which a text speaks to the model that reads it, where there are any."""
    found = _ADDRESSED.search(text)
    return found.group()[:60] if found else None


def document_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Check what all questions share: faults of the document, and what stands in texts beside them."""
    for fault in document_faults(bundle.document, bundle.code):
        yield FailedCheck.of(fault_check(fault), fault)
    yield from _leak_failures(bundle)
    yield from _addressed_failures(bundle.document)


def question_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Check what the document says of the question: completeness, specific answers, leaks."""
    document = bundle.document
    missing = missing_fields(document)
    if missing:
        detail = f"environment.json lacks {', '.join(missing)}; it stays unverified without them"
        yield FailedCheck.of(Check.COMPLETE, detail)
    for sub in document.sub_tasks:
        fault = answer_fault(sub.answer) if sub.tool is not None else None
        if fault:
            remedy = 'add its unit, or the field that it stands in, such as "open_tickets 17"'
            yield FailedCheck.of(Check.SPECIFIC_ANSWER, f"sub-task {sub.id}: {fault}; {remedy}")
    yield from _own_leak_failures(bundle)


def fault_check(fault: str) -> Check:
    """Name the check that a fault of loading belongs to."""
    return Check.SIGNATURE if fault.startswith("tools.py: ") else Check.DOCUMENT
