"""Which tools and servers are good enough: the filters of the paper (ASTRA sec. 2.1.1).

Tools are judged first, then the servers by what is left of them. Whether a description is vague is
decided by a rule; what the rule cannot decide may be asked of a judge.
"""

import re
import unicodedata
from collections import Counter
from enum import StrEnum

from astra_mcp.embedding.words import is_unspaced
from astra_mcp.types import ToolSpec
from registry.documents.sources import MIN_TOOLS, Rejection, ServerReason, ToolReason

__all__ = ["Clarity", "clarity_of", "reject_server", "reject_tool"]

_PLACEHOLDERS = frozenset(
    {
        "add description here", "coming soon", "desc", "description coming soon", "description goes here",
        "description here", "description missing", "description not accessible", "description not available",
        "description not provided", "description unavailable", "empty", "fixme", "lorem ipsum", "missing",
        "missing description", "n a", "na", "nil", "no", "no description", "no description available",
        "no description found", "no description given", "no description provided", "no description yet",
        "none", "not available", "not documented", "null", "placeholder", "tba", "tbd", "to be added", "todo",
        "tool description", "tool description not accessible", "tool description not available",
        "tool description not accessible via automated extraction", "undefined", "undocumented", "unknown",
        "xxx", "your description here",
        "aucune description", "keine beschreibung", "nessuna descrizione", "pas de description",
        "sem descrição", "sin descripción", "без описания", "нет описания",
    }
)  # fmt: skip
"""What stands where a description is missing, as words."""

_UNSPACED_PLACEHOLDER = re.compile(
    "无|無|空|暂无(描述|说明|介绍)?|暫無(描述|說明)?|(没有|沒有|无|無|缺少)(描述|说明|說明)|待(补充|填写|完善|定)|"
    "(工具)?(描述|说明|說明)(信息|不可用|待补充)?|なし|未定|(説明|説明文)(なし|がありません|はありません)?|설명없음|없음"
)

_NOUNS = frozenset(
    {"action", "api", "command", "endpoint", "function", "method", "operation", "request", "tool"}
)
_LEADS = frozenset(
    {
        "a", "an", "call", "called", "calls", "execute", "executes", "for", "invoke", "invokes", "is",
        "named", "of", "perform", "performs", "run", "runs", "the", "this", "to", "use", "uses",
    }
)  # fmt: skip
"""With the nouns, the words around a name in a sentence that says no more than that it is a tool."""
_GENERIC = _NOUNS | _LEADS | {
    "actions", "and", "apis", "are", "basic", "commands", "custom", "default", "demo", "description", "do",
    "does", "doing", "dummy", "endpoints", "example", "feature", "features", "functions", "general",
    "generic", "handle", "handler", "handlers", "handles", "helper", "helpers", "in", "it", "mcp",
    "methods", "misc", "miscellaneous", "more", "my", "new", "on", "operations", "or", "other", "our",
    "process", "requests", "sample", "server", "service", "simple", "some", "something", "stuff", "test",
    "testing", "tests", "that", "thing", "things", "tools", "used", "useful", "using", "utilities",
    "utility", "various", "with", "wrapper", "your",
}  # fmt: skip
"""Words that fit every tool."""

_UNSPACED_GENERIC = re.compile(
    "(这是|這是|一个|一個|该|該|此|这个|這個|测试|測試|示例|工具|函数|函數|方法|接口|功能|服务|服務|操作|用于|用於|的|"
    "ツール|関数|メソッド|テスト|これは|です|この|サンプル|の|도구|함수|테스트|입니다|이|는)+"
)

_WORD = re.compile(r"[^\W_]+")
_SHORT_WORDS = 3


class Clarity(StrEnum):
    """What the rule says of a description."""

    MISSING = "missing"
    """There is none, or a placeholder stands in its place."""
    VAGUE = "vague"
    """It tells nothing beyond the name, or only what is true of every tool."""
    OPEN = "open"
    """A few words: clear unless a judge thinks otherwise."""
    CLEAR = "clear"


def clarity_of(spec: ToolSpec, original_name: str = "") -> Clarity:
    """Judge a description by rule; the same text always gets the same verdict.

    A short sentence that says what is done is not vague: ``Add two numbers`` passes, and so does
    ``Remove a task`` of a tool ``remove_task``. The rules are listed in ``docs/registry-documents.md``.
    """
    words = _words(spec.description)
    if not any(c.isalpha() for word in words for c in word) or _is_placeholder(words):
        return Clarity.MISSING
    is_generic = all(word in _GENERIC or _UNSPACED_GENERIC.fullmatch(word) for word in words)
    if is_generic or any(_repeats(words, n) for n in (spec.name, original_name)):
        return Clarity.VAGUE
    size = _size(words)
    if size <= 1:
        return Clarity.VAGUE
    return Clarity.OPEN if size <= _SHORT_WORDS else Clarity.CLEAR


def reject_tool(spec: ToolSpec, original_name: str = "") -> Rejection | None:
    """Say why a normalised tool is not good enough; None where it is."""
    clarity, shown = clarity_of(spec, original_name), repr(spec.description[:60])
    if clarity is Clarity.MISSING:
        found = f"{shown} stands for one" if spec.description else "none"
        return Rejection(ToolReason.NO_DESCRIPTION, f"description: {found}")
    if clarity is Clarity.VAGUE:
        detail = f"description: {shown} does not say what it does"
        return Rejection(ToolReason.VAGUE_DESCRIPTION, detail)
    return None


def reject_server(num_tools: int, num_kept: int, min_tools: int = MIN_TOOLS) -> Rejection | None:
    """Say why a server is not good enough; None where it is.

    Args:
        num_tools: So many its document lists.
        num_kept: So many are left after the rejection of tools.
        min_tools: So many are needed.
    """
    if num_tools == 0:
        return Rejection(ServerReason.NO_TOOLS, "tools: its document lists none")
    if num_kept < min_tools:
        detail = f"tools: {num_kept} of {num_tools} are left, {min_tools} are needed"
        return Rejection(ServerReason.TOO_FEW_TOOLS, detail)
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _is_placeholder(words: list[str]) -> bool:
    whole = "".join(words)
    return " ".join(words) in _PLACEHOLDERS or _UNSPACED_PLACEHOLDER.fullmatch(whole) is not None


def _repeats(words: list[str], name: str) -> bool:
    """Say whether a sentence is a name, or a name and that it is a tool."""
    own = "".join(_words(name))
    if not own or "".join(words) == own:
        return bool(own)
    rest = list(words)
    while rest and rest[-1] in _NOUNS:
        rest.pop()
    while rest and rest[0] in _LEADS | _NOUNS:
        rest.pop(0)
    around = Counter(words) - Counter(rest)
    return not _NOUNS.isdisjoint(around) and "".join(rest) == own


def _size(words: list[str]) -> int:
    """Count words; in scripts without spaces, every two characters are one."""
    return sum(-(-len(word) // 2) if is_unspaced(word) else 1 for word in words)
