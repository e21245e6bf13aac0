"""The rules of lists: nothing known is left out of one without filters, and counts agree.

A list may be a page. It is one where it says so, is as long as it was asked to be, or where nobody
knows how long a page is.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import key_of, singular
from servers.emulated.modelled.document_entities import ReadCall, id_text
from servers.emulated.modelled.ledger import Ledger
from servers.emulated.modelled.mentions import Mentions, listed_in
from servers.emulated.modelled.rules import MAX_NAMED, Fault, Rule, Said
from servers.emulated.parameters import Role
from servers.emulated.verbs import Verb

__all__ = ["list_faults", "note_list"]

_OF_COUNTS: Final = frozenset(
    {"total", "count", "num", "number", "of", "result", "item", "record", "entry", "match", "found"}
)
_MORE: Final = frozenset(
    {
        "has_more",
        "more",
        "has_next",
        "has_next_page",
        "next",
        "next_cursor",
        "next_page",
        "next_url",
    }
    | {"next_page_token", "next_token", "next_offset", "is_truncated", "truncated"}
)
_SIZES: Final = ("limit", "page_size", "per_page")
_PAGES: Final = ("total_pages", "page_count", "pages", "num_pages", "last_page")
_AROUND: Final = frozenset(
    {"meta", "metadata", "pagination", "paging", "page_info", "data", "result", "response"}
)
_MIN_PAGE: Final = 10
"""Services that say nothing of pages give so many at least, a round number, where there are more."""
_PAGING: Final = (Role.LIMIT, Role.PAGE, Role.OFFSET, Role.CURSOR)


def list_faults(call: ReadCall, said: Said, ledger: Ledger) -> Iterator[Fault]:
    """Find what a list leaves out, and counts that are not its own."""
    listed = listed_in(said.value, call.noun)
    if listed is None or call.verb not in (Verb.LIST, Verb.SEARCH):
        return
    around, shown = _around(said.value), len(listed)
    is_page = _may_be_page(call, around, shown, ledger)
    counts = _counts(around, call.noun or "")
    for name, count in counts.items():
        is_short = count > shown and call.verb is Verb.LIST and not is_page
        if count < shown or is_short:
            message = f"the result says {name} {count}, and its list has {shown}"
            yield Fault(Rule.COUNTS_AGREE, message)
    if not call.lists_all:
        return
    known = ledger.listed(call)
    yield from _left_out(call, known, said.mentions, is_page=is_page)
    needed = len(set(known.values()))
    for name, count in counts.items() if is_page else ():
        if "total" in name and count < needed:
            message = f"the result says {name} {count}, and {needed} are known"
            yield Fault(Rule.COUNTS_AGREE, message)


def note_list(call: ReadCall, value: JsonValue, ledger: Ledger) -> None:
    """Take over of a list what later ones are held against."""
    listed = listed_in(value, call.noun)
    if listed is not None and call.lists_all:
        is_page = call.takes(*_PAGING) or _may_be_page(call, _around(value), len(listed), ledger)
        ledger.note_list(call, len(listed), is_all=not is_page)


def _left_out(
    call: ReadCall, known: Mapping[str, frozenset[str]], mentions: Mentions, *, is_page: bool
) -> Iterator[Fault]:
    if is_page:
        return
    shown = {text for m in mentions.objects if m.noun == call.noun for text in (*m.ids, *m.names)}
    missing = [id for id, ids in known.items() if ids.isdisjoint(shown)]
    if missing:
        named = ", ".join(repr(id) for id in missing[:MAX_NAMED])
        message = (
            "these are known and were not deleted, and the list has no filter: it shows them too,"
            f" {call.noun} {named}"
        )
        yield Fault(Rule.LISTS_ARE_WHOLE, message)


def _around(value: JsonValue) -> Mapping[str, JsonValue]:
    """Collect what stands beside the list."""
    found: dict[str, JsonValue] = {}
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            for name, member in item.items():
                found.setdefault(key_of(name), member)
                if isinstance(member, dict) and singular(key_of(name)) in _AROUND:
                    pending.append(member)
    return found


def _counts(around: Mapping[str, JsonValue], noun: str) -> Mapping[str, int]:
    words = _OF_COUNTS | set(noun.split("_"))
    return {
        name: value
        for name, value in around.items()
        if isinstance(value, int)
        and not isinstance(value, bool)
        and {singular(word) for word in name.split("_")} <= words
        and ("total" in name or "count" in name or name.startswith("num"))
    }


def _may_be_page(
    call: ReadCall, around: Mapping[str, JsonValue], shown: int, ledger: Ledger
) -> bool:
    if _says_more(call, around, shown):
        return True
    size = _size(call, around)
    if size is not None:
        return shown >= size
    return call.takes(*_PAGING) and 0 < shown >= ledger.longest(call.tool)


def _says_more(call: ReadCall, around: Mapping[str, JsonValue], shown: int) -> bool:
    """Say whether an answer or its call tells that there is more than what is shown."""
    counts = _counts(around, call.noun or "").items()
    is_cut = any("total" in name and count > shown for name, count in counts)
    return (
        any(around.get(name) for name in _MORE)
        or any(isinstance(n := around.get(name), int) and n > 1 for name in _PAGES)
        or any(map(_is_later, call.given(Role.OFFSET, Role.CURSOR).values()))
        or any(id_text(value) not in ("0", "1") for value in call.given(Role.PAGE).values())
        or (is_cut and shown >= _MIN_PAGE and shown % 5 == 0)
    )


def _is_later(value: JsonValue) -> bool:
    return bool(value) and value != "0"


def _size(call: ReadCall, around: Mapping[str, JsonValue]) -> int | None:
    """How long a page is: as the call, the documents or the answer say."""
    asked: list[Any] = [*call.given(Role.LIMIT).values()]
    asked += [p.schema.get("default") for p in call.reading.parameters if p.role is Role.LIMIT]
    asked += [around.get(name) for name in _SIZES]
    texts = (id_text(int(value) if isinstance(value, float) else value) for value in asked)
    return next((int(text) for text in texts if text is not None and text.isdecimal()), None)
