"""What the description of a tool says that it gives: in which form, and with which members.

Read off ``Returns: ...``, its Chinese equal, lists of members, JSON that is shown, and ``..., including a, b
and c``. A guess, and the same for the same words; knows nothing of what exists.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from astra_mcp.types import ToolSpec
from astra_mcp.values.nouns import key_of, singular, words_of
from astra_mcp.values.vocabulary import Meaning, meaning_of

__all__ = ["Form", "Promise", "PromisedMember", "read_promise", "said_of"]


class Form(StrEnum):
    """In which form a tool answers."""

    RECORD = "record"
    LIST = "list"
    NUMBER = "number"
    FLAG = "flag"
    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"
    IMAGE = "image"
    URL = "url"
    PATH = "path"
    NOTICE = "notice"
    """That something was done, and no data."""


@dataclass(frozen=True, slots=True)
class PromisedMember:
    """A member that an answer is said to have."""

    name: str
    """As written; in normal form where it was prose."""
    key: str
    """In normal form."""
    schema: dict[str, Any] = field(default_factory=dict[str, Any])
    is_certain: bool = True
    """Written as the name of a member, not read out of prose."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a tool is said to give."""

    form: Form | None
    """None where nothing is said of it."""
    members: tuple[PromisedMember, ...] = ()
    of: str | None = None
    """A list holds no records, but of each the member of this name, in normal form."""


_READ: Final = 4000
_CLAUSE: Final = 900
_MAX_MEMBERS: Final = 14
_START: Final = re.compile(
    r"(?:(?<=\n)|^|(?<=[.\u3002;)\s]))"
    r"(?::?[Rr]eturns?\s*[:\uff1a]|RETURNS?\s*[:\uff1a]|Returns\s+(?!\()|[Oo]utputs?\s*[:\uff1a]"
    r"|返回(?:值|结果|数据)?\s*[:\uff1a]?|(?:tool|and|which|It|it)\s+returns\s+)\s*"
)
_END: Final = re.compile(
    r"\n\s*(?:Args|Arguments|Parameters|Params|Raises|Examples?|Notes?|Errors?|Usage|PREREQUISITES|"
    r"EXAMPLES|ERRORS|参数|示例)\b|(?:^|\s)(?:Args|Raises|Examples?|EXAMPLES|ERRORS|Use (?:this|when))\s*:?\s"
)
_A: Final = r"^(?:an?\s+|the\s+)?(?:\w+\s+)?"
_FORMS: Final = tuple(
    (form, re.compile("|".join(patterns), re.IGNORECASE))
    for form, patterns in (
        (
            Form.NOTICE,
            (
                r"\b(?:confirm\w*|success (?:message|status|or)|status message|a message|acknowledg\w*)\b",
                r"\bmessage (?:indicating|confirming)\b|\bsuccess/failure\b|\bwhether the operation\b",
                r"成功与否|操作结果",
            ),
        ),
        (Form.CSV, (r"\bcsv\b",)),
        (
            Form.IMAGE,
            (
                r"\bbase64\b|\bimage (?:data|content|bytes)\b",
                r"\bpng (?:image|data)\b|^(?:an?|the)\s+image\b",
            ),
        ),
        (Form.HTML, (r"\bhtml (?:page|string|content|document)\b|\bas html\b",)),
        (Form.MARKDOWN, (r"\bmarkdown\b",)),
        (Form.RECORD, (r"\bjson\b|^(?:an?\s+)?(?:dict|object|map)\b",)),
        (
            Form.LIST,
            (
                r"^(?:an?\s+|the\s+)?(?:\w+\s+){0,2}?(?:list|array|collection)\b(?:\s+of|\[|<|\s*:|\s)",
                r"^(?:list|array|sequence)\b|列表$|数组",
            ),
        ),
        (Form.FLAG, (r"^(?:an?\s+)?bool(?:ean)?\b|^true\b|^whether\b|\btrue if\b",)),
        (
            Form.NUMBER,
            (
                _A + r"(?:int(?:eger)?|float|number|count|amount|sum|total|average|percentage)\b"
                r"(?:\s+(?:of|representing)\b|\s*[:.]|\s*$)",
            ),
        ),
        (Form.URL, (_A + r"(?:url|link)\b",)),
        (Form.PATH, (_A + r"(?:file ?path|path)\b",)),
        (
            Form.TEXT,
            (
                r"\b(?:human-readable|plain) (?:\w+ )?(?:text|string|output|list|results?|information)\b",
                _A + r"(?:str|string|text)\b|\bformatted\b",
            ),
        ),
        (Form.RECORD, (r"\b(?:dictionary|dict|object|details|information|data)\b|对象|字典",)),
    )
)
_HEAD: Final = 90
_HELD: Final = re.compile(
    r"^\W*(?:an?\s+|the\s+)?(?:\w+\s+){0,2}?(?:list|array)\s*(?:\[|of\s+)"
    r"(?:[\w-]+\s+){0,3}?(names|titles|ids|identifiers|urls|links|paths|symbols|strings|str)\b"
    r"(?!\s+(?:and|with|,))|(名称|字符串|标题)(?:的)?(?:字符串)?列表",
    re.IGNORECASE,
)
_HELD_AS: Final = {
    "names": "name", "titles": "title", "ids": "id", "identifiers": "id", "urls": "url", "links": "url",
    "paths": "path", "symbols": "symbol", "strings": "name", "str": "name", "名称": "name",
    "字符串": "name", "标题": "title",
}  # fmt: skip
_TYPED: Final = re.compile(
    r"(?<![A-Za-z_0-9])([A-Za-z_]\w{1,40})\s+"
    r"(String|Integer|Int|Number|Float|Double|Boolean|Bool|Long)\b\s*([^A-Za-z]{0,60})"
)
_TYPES: Final = {
    "string": "string", "integer": "integer", "int": "integer", "long": "integer", "number": "number",
    "float": "number", "double": "number", "boolean": "boolean", "bool": "boolean",
}  # fmt: skip
_BULLET: Final = re.compile(
    r"(?m)(?:^|\s)[-*•]\s+[`\"'*]*([A-Za-z][\w ./'-]{1,60}?)[`\"'*]*\s*(?:\([^)\n]*\))?\s*"
    r"(?=[:\uff1a\n]|\s[-\u2013]\s|\s[-*•]\s|$)"
)
_KEYED: Final = re.compile(r"[\"'`](\w{2,40})[\"'`]\s*:")
_PROSE: Final = re.compile(
    r"\b(?:includ(?:ing|es?)|containing|contains|such as|consisting of|with(?: their| its)?|like)\b:?\s+"
    r"([^.\n()]{3,240})",
    re.IGNORECASE,
)
_BARE: Final = re.compile(r"^([^.:\n()]{5,240}(?:,| and )[^.\n()]{3,80})")
_AFTER_COLON: Final = re.compile(r"^[^.:\n]{3,60}:\s*([^.\n]{5,240})")
_SAID_IN_CHINESE: Final = {
    word: meaning
    for meaning, words in {
        "phone": "电话", "email": "邮箱", "url": "网址 网站 链接", "domain": "域名", "date": "日期",
        "datetime": "时间", "percent": "比例 百分比 股份", "amount": "金额 出资 资本", "price": "价格",
        "count": "数量 人数", "total": "总数", "category": "类型", "address": "地址", "status": "状态",
        "person": "法人 法定代表 受益人 实控人 姓名", "position": "职位", "company": "股东 企业 公司",
        "region": "省", "city": "城市", "title": "标题", "code": "编号 代码 号",
    }.items()
    for word in words.split()
}  # fmt: skip
"""What members hold whose names say less than the words that explain them."""
_CODES: Final = re.compile(r"(?<!\d)(\d)\s*[-:\uff1a]?\s*(?=[^\d\s,\uff0c、.;%])")
_LEADING: Final = frozenset(
    (
        "the", "a", "an", "its", "their", "all", "current", "basic", "detailed", "any", "each", "full",
        "complete", "related", "relevant", "various", "key", "optional", "other", "total", "additional",
    )
)  # fmt: skip
_EMPTY: Final = frozenset(
    (
        "more", "etc", "others", "details", "metadata", "information", "info", "data", "context", "options",
        "statistics", "results", "id", "error", "errors", "filters", "example", "parameters", "support",
        "query", "success", "args", "note", "type", "returns", "object", "item", "filtering", "pagination",
        "like",
    )
)  # fmt: skip
_NO_MEMBERS: Final = frozenset(
    ("error", "success", "list", "array", "of", "for", "by", "from", "to", "that")
)
"""A piece of prose with one of these names no member."""
_MAX_WORDS: Final = 3
_CRAWLED: Final = re.compile(r"^Deploy Server .*? Try in Playground\s*", re.DOTALL)


def read_promise(tool: ToolSpec) -> Promise:
    """Read what a tool is said to give."""
    told = said_of(tool)[:_READ]
    clause = _clause(told)
    form = next((form for form, pattern in _FORMS if pattern.search(clause[:_HEAD])), None)
    form = form or _named_form(tool.name)
    members: dict[str, PromisedMember] = {}
    for member in (*_written(clause), *_prose(clause), *_prose(told[:400])):
        if len(members) < _MAX_MEMBERS:
            members.setdefault(member.name, member)
    return Promise(form, tuple(members.values()), _held(clause) if form is Form.LIST else None)


def _held(clause: str) -> str | None:
    """What ``a list of column names`` holds: ``name``."""
    match = _HELD.search(clause[:_HEAD])
    return match and _HELD_AS[next(each for each in match.groups() if each).lower()]


def said_of(tool: ToolSpec) -> str:
    """The description of a tool, without what a page shows before it that it was read off."""
    return _CRAWLED.sub("", tool.description).lstrip()


def _clause(told: str) -> str:
    """What follows ``Returns``; empty where nothing does."""
    starts = [*_START.finditer(told)]
    if not starts:
        return ""
    titled = (each for each in starts if each.group().rstrip().endswith((":", "\uff1a")))
    start = next(titled, starts[0])
    rest = told[start.end() : start.end() + _CLAUSE].replace("--------", "").strip()
    end = _END.search(rest)
    return rest[: end.start()].strip() if end else rest


def _named_form(name: str) -> Form | None:
    """``export_csv`` gives CSV."""
    words = words_of(name)
    for word, form in (("csv", Form.CSV), ("markdown", Form.MARKDOWN), ("html", Form.HTML)):
        if word in words[1:]:
            return form
    return None


def _written(clause: str) -> Iterator[PromisedMember]:
    """Members that are written as names: with their types, in JSON, or one to a line."""
    typed = [*_TYPED.finditer(clause)]
    for match in typed:
        name, kind, said = match.groups()
        codes = [*dict.fromkeys(_CODES.findall(said))]
        schema: dict[str, Any] = {"type": _TYPES[kind.lower()]}
        if len(codes) > 1:
            schema["enum"] = [int(c) for c in codes] if schema["type"] != "string" else codes
        yield PromisedMember(name, _explained(name, said), schema)
    keyed = [] if typed else [*dict.fromkeys(_KEYED.findall(clause))]
    for name in keyed:
        yield PromisedMember(name, key_of(name))
    if not typed and not keyed:
        for match in _BULLET.finditer(clause):
            yield from _pieces(match.group(1))


def _explained(name: str, said: str) -> str:
    """The key of a member, by its name or, where that says nothing, by its explanation."""
    key = key_of(name)
    if _is_known(key):
        return key
    found = (meaning for word, meaning in _SAID_IN_CHINESE.items() if word in said)
    return next(found, key)


def _prose(text: str) -> Iterator[PromisedMember]:
    for match in (*_PROSE.finditer(text), *_AFTER_COLON.finditer(text), *_BARE.finditer(text)):
        named = [piece for piece in _pieces(match.group(1)) if _is_known(piece.key)]
        if len(named) > 1:  # one alone is more often a way than a member
            yield from named


def _pieces(text: str) -> Iterator[PromisedMember]:
    """The members that a list in a sentence names."""
    for piece in re.split(r",|;|/|\band\b|\bor\b|\bplus\b|&", text):
        words = [word for word in words_of(piece.strip()) if word.isascii()]
        while words and words[0] in _LEADING:
            words = words[1:]
        if not _NO_MEMBERS.isdisjoint(words):
            continue
        if not 0 < len(words) <= _MAX_WORDS or " ".join(words) in _EMPTY or words[-1] in _EMPTY:
            continue
        key = singular("_".join(words))
        if key.isidentifier() and len(key) > 1:
            is_many = words[-1] in ("tags", "authors", "labels", "ingredients")
            key = f"{key}s" if is_many else key
            yield PromisedMember(key, key, is_certain=False)


def _is_known(key: str) -> bool:
    return meaning_of(key)[0] is not Meaning.UNKNOWN
