"""What the result of a tool holds, and what a tool has to be given.

Results are read off output schemas, else off what descriptions say that tools return, else off what a tool
does to what: ``list_orders`` gives orders, and orders have ids. Names are English; a guess, and the same for
the same documents. Values alone; nothing here decides what fits what.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, cast

from astra_mcp.synthesis.trajectories.chains.deeds import (
    Deed,
    deed_of,
    known_noun,
    shared_prefix,
)
from astra_mcp.synthesis.trajectories.server import DocumentedServer
from astra_mcp.types import ToolSpec
from astra_mcp.values.guesses import resolve
from astra_mcp.values.nouns import key_of, singular, words_of
from astra_mcp.values.vocabulary import Meaning, meaning_of

__all__ = ["Evidence", "Need", "ResultField", "ToolFields", "fields_of"]


class Evidence(StrEnum):
    """Why a result is thought to hold a field; the first is the best."""

    DECLARED = "declared"
    """By the output schema."""
    TOLD = "told"
    """By the description."""
    IMPLIED = "implied"
    """By what the tool does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultField:
    """A value that a result holds."""

    path: str
    """Its name, or its place in nested objects with dots; members of lists have no name of their own."""
    noun: str
    """What has it, in the singular; empty where nothing says."""
    attribute: str
    """What it is of that: ``id`` for ``orderId``; in normal form."""
    types: frozenset[str]
    """JSON types that it may have; empty where nothing says."""
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """An argument that a tool has to be given."""

    name: str
    noun: str
    """What it names, or is of; empty where its name does not say."""
    attribute: str
    """As of :class:`ResultField`; of ``repo`` alone, which is a noun, it is empty."""
    types: frozenset[str]
    """Its JSON types, those of a list's items in the place of ``array``; empty where nothing says."""
    words: frozenset[str]
    """Of its name and description, in lower case."""
    key: str
    """Its whole name in normal form."""
    has_choice: bool
    """The schema names the values that it may have, or one for who says nothing."""
    is_issued: bool
    """Only a server can say it, such as an id, unless it is one that is known everywhere."""
    is_secret: bool
    """It proves who somebody is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFields:
    """What is known of a tool."""

    name: str
    name_words: tuple[str, ...]
    """Without the one that says whose tool it is."""
    deed: Deed
    noun: str
    """What it is about, in the singular, its words joined by ``_``; empty where its name does not say."""
    results: tuple[ResultField, ...]
    needs: tuple[Need, ...]
    """Its required arguments; where the schema says of none that it is required, those that name the thing
    that is shown, changed or removed."""
    words: frozenset[str]
    """Of its name, of the first words of its description, and of its server's name and title."""
    has_more_needs: bool
    """Its schema has no argument, and what is said of it, or what it does, has to have one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IDS: Final = _words("id uuid guid uid identifier gid sid")
_NAMING: Final = _words(
    "name title slug key number code symbol url link email phone path hash sha address handle username"
    " ref domain login"
)
"""What tells one thing from others beside its id."""
_SIDES: Final = _words(
    "from to source target parent src dst destination current base start end first second child"
)
"""Which of two it is, in a name such as ``from_account_id``."""
_ISSUED: Final = _IDS | _words(
    "token cursor hash sha session ts etag nonce signature mint handle ref"
)
_SECRETS: Final = re.compile(
    r"(^|_)(password|passwd|secret|api_?key|apikey|access_token|auth_token|bearer_token|refresh_token"
    r"|private_key|mnemonic|seed_phrase|credentials?|authorization|client_secret|cookie|otp|auth)$"
)
_TOLD_NEEDS: Final = re.compile(
    r"(?im)^\s*(?:args|arguments|parameters|params|inputs?|参数)\s*[:\uff1a]|\brequired parameters?\b"
    r"|\b(?:args|arguments|parameters)\s*:"
)
_RETURNS: Final = re.compile(
    r"(?:\b[Rr]eturns?\s*:|\bRETURNS?\b\s*:?|\b[Rr]eturns\b|返回(?:值|结果|数据)?\s*[:\uff1a]?)\s*"
)
_AFTER_RETURNS: Final = re.compile(
    r"\n\s*(?:Args|Arguments|Parameters|Raises|Examples?|Notes?|Errors?|Usage|Use)\b"
)
_QUOTED: Final = re.compile(r"[\"'`](\w{2,40})[\"'`]\s*:?")
_LISTED: Final = re.compile(
    r"(?i)\b(?:including|includes?|containing|contains|such as|with(?: their| its)?|details?:)\s+"
    r"([^.\n()]{3,200})"
)
_PIECES: Final = re.compile(r"[,;/&]|\band\b|\bor\b|\bplus\b")
_READ: Final = 3000
_CLAUSE: Final = 600
_CONTEXT: Final = 300
_DEEPEST: Final = 4
_MOST_FIELDS: Final = 60


def fields_of(server: DocumentedServer) -> Mapping[str, ToolFields]:
    """Read the tools of a server, by name."""
    prefix = shared_prefix([tool.name for tool in server.tools])
    context = frozenset(words_of(f"{server.name} {server.title}"))
    read = {tool.name: _read(tool, prefix, context) for tool in server.tools}
    listed = {each.noun for each in read.values() if each.deed is Deed.LISTS}
    bare = {tool.name for tool in server.tools if not tool.input_schema.get("properties")}
    return {
        name: replace(each, has_more_needs=True)
        if name in bare
        and (each.deed in _ACTS or (each.noun in listed and each.deed is Deed.SHOWS))
        else each
        for name, each in read.items()
    }


_ACTS: Final = frozenset((Deed.MAKES, Deed.CHANGES, Deed.REMOVES))


def _read(tool: ToolSpec, prefix: str, context: frozenset[str]) -> ToolFields:
    words = words_of(tool.name)
    words = words[1:] if len(words) > 1 and words[0] == prefix else words
    deed, noun, is_many = deed_of(words, tool.description)
    told = words_of(tool.description[:_CONTEXT])
    needs = tuple(_needs(tool, Deed.LISTS if is_many and deed is Deed.SHOWS else deed, noun))
    if deed is Deed.SHOWS and is_many and not any(need.noun == noun for need in needs):
        deed = Deed.LISTS
    return ToolFields(
        name=tool.name,
        name_words=tuple(words),
        deed=deed,
        noun=noun,
        results=tuple(_results(tool, deed, noun)),
        needs=needs,
        words=frozenset((*words, *told)) | context,
        has_more_needs=not tool.input_schema.get("properties")
        and _TOLD_NEEDS.search(tool.description) is not None,
    )


def _split(key: str) -> tuple[str, str]:
    """Split a name in normal form into a noun and its attribute; either may be empty."""
    words = key.split("_")
    while len(words) > 1 and words[0] in _SIDES:
        words = words[1:]
    last = singular(words[-1])
    if last in _IDS or last in _NAMING:
        attribute = "id" if last in _IDS else last
        return known_noun(singular("_".join(words[:-1]))), attribute
    return known_noun(singular("_".join(words))), ""


def _needs(tool: ToolSpec, deed: Deed, noun: str) -> Iterator[Need]:
    declared: Any = tool.input_schema.get("properties")
    wanted: Any = tool.input_schema.get("required")
    required = frozenset(cast("list[str]", wanted) if isinstance(wanted, list) else ())
    for name, member in (
        cast("dict[str, Any]", declared).items() if isinstance(declared, dict) else ()
    ):
        given = cast("dict[str, Any]", member) if isinstance(member, dict) else {}
        need = _need(name, resolve(given, tool.input_schema), tool.input_schema)
        names_own = need.attribute in _IDS | _NAMING and need.noun in ("", noun)
        if name in required or (not required and names_own and deed in _OF_ONE):
            yield need


_OF_ONE: Final = frozenset((Deed.SHOWS, Deed.CHANGES, Deed.REMOVES))


def _need(name: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Need:
    key = key_of(name)
    noun, attribute = _split(key)
    is_secret = _SECRETS.search(key) is not None
    said = str(schema.get("description") or "")
    return Need(
        name=name,
        noun=noun,
        attribute=attribute,
        key=key,
        types=frozenset(_types(schema, root)),
        words=frozenset((*words_of(name), *words_of(said[:_CONTEXT]))),
        has_choice=not {"enum", "const", "default"}.isdisjoint(schema),
        is_issued=(attribute or noun.rpartition("_")[2]) in _ISSUED and not is_secret,
        is_secret=is_secret,
    )


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    """The JSON types of a schema without ``null``, those of items for lists."""
    if depth > _DEEPEST:
        return
    named: Any = schema.get("type")
    for kind in cast("list[Any]", named) if isinstance(named, list) else [named]:
        items: Any = schema.get("items")
        if kind == "array" and isinstance(items, dict):
            inner = [*_types(resolve(cast("dict[str, Any]", items), root), root, depth + 1)]
            yield from inner or ["array"]
        elif isinstance(kind, str) and kind != "null":
            yield kind
    for keyword in ("anyOf", "oneOf"):
        branches: Any = schema.get(keyword)
        for branch in cast("list[Any]", branches) if isinstance(branches, list) else ():
            if isinstance(branch, dict):
                yield from _types(resolve(cast("dict[str, Any]", branch), root), root, depth + 1)


def _results(tool: ToolSpec, deed: Deed, noun: str) -> Iterator[ResultField]:
    """The fields of a result by the best evidence that there is; what is implied is implied all the same."""
    seen: dict[tuple[str, str], ResultField] = {}
    for field in (*_declared(tool, noun), *_told(tool, noun), *_implied(deed, noun)):
        if len(seen) < _MOST_FIELDS:
            seen.setdefault((field.noun, field.attribute), field)
    yield from seen.values()


def _declared(tool: ToolSpec, noun: str) -> Iterator[ResultField]:
    root = tool.output_schema
    if root is not None:
        yield from _members(root, root, (), noun)


def _members(
    schema: Mapping[str, Any], root: Mapping[str, Any], path: tuple[str, ...], noun: str
) -> Iterator[ResultField]:
    """The scalar members of a schema, with what has them: the nearest member that names a thing."""
    found = resolve(schema, root)
    items: Any = found.get("items")
    if isinstance(items, dict) and len(path) <= _DEEPEST:
        yield from _members(cast("dict[str, Any]", items), root, path, noun)
    members: Any = found.get("properties")
    if not isinstance(members, dict) or len(path) > _DEEPEST:
        return
    for name, member in cast("dict[str, Any]", members).items():
        if not isinstance(member, dict):
            continue
        inner = resolve(cast("dict[str, Any]", member), root)
        if "properties" in inner or "items" in inner:
            key = singular(key_of(name))
            holder = noun if key in _WRAPPINGS else known_noun(key)
            yield from _members(inner, root, (*path, name), holder)
        types = frozenset(_types(inner, root)) - {"object"}
        if types or "type" not in inner:
            yield _field(key_of(name), ".".join((*path, name)), types, noun, Evidence.DECLARED)


_WRAPPINGS: Final = _words(
    "data result response payload body item record entity object value entry row hit list"
)


def _told(tool: ToolSpec, noun: str) -> Iterator[ResultField]:
    """The fields that a description says are returned."""
    text = tool.description[:_READ]
    start = _RETURNS.search(text)
    if start is None:
        return
    clause = text[start.end() : start.end() + _CLAUSE]
    end = _AFTER_RETURNS.search(clause)
    clause = clause[: end.start()] if end else clause
    names = [*_QUOTED.findall(clause)]
    for listed in _LISTED.findall(clause):
        names += [piece for piece in _PIECES.split(listed) if 0 < len(words_of(piece)) <= 3]
    for name in dict.fromkeys(names):
        key = "_".join(word for word in words_of(name) if word.isascii() and word not in _LEADING)
        meaning, _ = meaning_of(key)
        if meaning in (Meaning.TEXT, Meaning.NUMBER, Meaning.ID):
            yield _field(key, key, frozenset(), noun, Evidence.TOLD)


_LEADING: Final = _words("the a an its their all any each full")


def _implied(deed: Deed, noun: str) -> Iterator[ResultField]:
    """What is listed, shown or made has an id; what is listed has a name beside it."""
    if noun and deed in (Deed.LISTS, Deed.SHOWS, Deed.MAKES):
        yield _field("id", "id", frozenset(), noun, Evidence.IMPLIED)
    if noun and deed is Deed.LISTS:
        yield _field("name", "name", frozenset(), noun, Evidence.IMPLIED)


def _field(
    key: str, path: str, types: frozenset[str], noun: str, evidence: Evidence
) -> ResultField:
    of, attribute = _split(key)
    if not attribute:
        of, attribute = "", of
    return ResultField(
        path=path, noun=of or noun, attribute=attribute, types=types, evidence=evidence
    )
