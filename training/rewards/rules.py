"""What code says of a trajectory: how many calls succeeded, and what is odd about the final answer."""

import json
import re
from collections.abc import Iterator
from statistics import fmean
from typing import Final

from astra_mcp.text.language import language_of
from astra_mcp.trajectory import CallNote, SystemMessage, ToolMessage, Trajectory, UserMessage
from astra_mcp.types import Origin
from training.rewards.score import Assessment, Languages, RuleChecks
from training.rewards.shown import calls_of, final_answer, from_first_question

__all__ = ["call_status", "check_answer", "status_without_injected"]

_URL: Final = re.compile(r"https?://([\w.~:/?#@!$&'*+,;=%()-]+)", re.ASCII | re.IGNORECASE)
_SENTENCE_END: Final = ".,;:!?'*"
_GOES_ON: Final = r"(?![\w/%?#&=@~+-]|\.\w)"
"""Behind the end of an address: not its continuation."""
_ESCAPED: Final = (("\\/", "/"), ("\\u0026", "&"), ("&amp;", "&"))
"""How results in JSON or HTML write signs of an address."""


def call_status(trajectory: Trajectory) -> list[Assessment]:
    """Say of each call whether it succeeded: S_i of eq. (8), from the record and not from its words."""
    trajectory = from_first_question(trajectory)
    notes = {note.tool_call_id: note for note in trajectory.calls}
    return [
        _status(number, notes.get(call.id)) for number, call in enumerate(calls_of(trajectory), 1)
    ]


def _status(number: int, note: CallNote | None) -> Assessment:
    what = f"call {number}"
    if note is None:
        return Assessment(what=what, value=0, reason="it was not answered", by="code")
    if _succeeded(note):
        return Assessment(what=what, value=1, reason="it returned a valid response", by="code")
    by = f" ({note.origin})" if note.origin is not None else ""
    return Assessment(what=what, value=0, reason=f"it failed{by}", by="code")


def _succeeded(note: CallNote) -> bool:
    return not note.is_error and note.origin in (None, Origin.TOOL)


def status_without_injected(trajectory: Trajectory) -> float | None:
    """The mean success of the calls that did not fail on purpose; None where there is none."""
    kept = [
        float(_succeeded(note))
        for note in from_first_question(trajectory).calls
        if note.injected is None and note.origin is not Origin.INJECTED
    ]
    return fmean(kept) if kept else None


def check_answer(trajectory: Trajectory) -> RuleChecks | None:
    """Check language and addresses of the final answer; None where there is none."""
    answer = final_answer(trajectory)
    if answer is None:
        return None
    languages = Languages(question=_language(trajectory), answer=language_of([answer]))
    return RuleChecks(languages=languages, unseen_urls=tuple(_unseen(trajectory, answer)))


def _language(trajectory: Trajectory) -> str | None:
    """Of the user, who may change it: of the last message that is long enough to tell."""
    asked = [m.content for m in trajectory.messages if isinstance(m, UserMessage)]
    found = (language_of([text]) for text in reversed(asked))
    return next((language for language in found if language is not None), None)


def _unseen(trajectory: Trajectory, answer: str) -> Iterator[str]:
    """Find the addresses that neither messages of others, tools nor calls that succeeded had before."""
    addresses = dict.fromkeys(match[0].rstrip(_SENTENCE_END) for match in _URL.finditer(answer))
    if not addresses:
        return
    seen = "\n".join(_told(trajectory))
    for escaped, plain in _ESCAPED:
        seen = seen.replace(escaped, plain)
    for address in addresses:
        bare = address.partition("://")[2]
        if bare.count(")") > bare.count("("):  # of the link around it
            bare = bare.rpartition(")")[0]
        bare = bare.rstrip(_SENTENCE_END).rstrip("/")
        if not re.search(rf"(?<![\w.-]){re.escape(bare)}/?{_GOES_ON}", seen, re.IGNORECASE):
            yield address


def _told(trajectory: Trajectory) -> Iterator[str]:
    told = (SystemMessage, UserMessage, ToolMessage)
    yield from (m.content for m in trajectory.messages if isinstance(m, told))
    yield from (json.dumps(tool, ensure_ascii=False) for tool in trajectory.tools)
    sound = {note.tool_call_id for note in trajectory.calls if _succeeded(note)}
    yield from (c.function.arguments for c in calls_of(trajectory) if c.id in sound)
