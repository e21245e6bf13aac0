"""What tools say that run something: what a query names, what a program prints.

Nothing is run. What can be read off the question itself is told: rows of the columns that a query selects,
the literals that a program prints.
"""

import re
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.making import Making, ValueContext
from astra_mcp.values.nouns import key_of, words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.wording import Wording
from servers.emulated.offline.finding import Call
from servers.emulated.verbs import Verb

__all__ = ["ran"]

_SELECT: Final = re.compile(
    r"^\s*select\s+(?:distinct\s+)?(.+?)\s+from\s+[\"`\[]?([\w.]+)", re.IGNORECASE | re.DOTALL
)
_LIMIT: Final = re.compile(r"\b(?:limit|top)\s+(\d{1,4})", re.IGNORECASE)
_WRITING: Final = re.compile(r"^\s*(insert|update|delete|create|drop|alter)\b", re.IGNORECASE)
_ALIAS: Final = re.compile(r"\bas\s+[\"`]?(\w+)[\"`]?\s*$", re.IGNORECASE)
_SUMS: Final = re.compile(r"^\s*(count|sum|avg|min|max)\s*\(", re.IGNORECASE)
_PRINTED: Final = re.compile(r"(?:print|console\.log|echo|puts|println!)\s*\(?\s*([\"'])(.*?)\1")
_ECHO: Final = re.compile(r"^\s*echo\s+([^|;&><$`\"']+)$")
_ALL: Final = ("id", "name", "email", "status", "created_at")
_QUERIES: Final = ("query", "sql", "sql_query", "statement", "sql_statement")
_PROGRAMS: Final = ("code", "command", "cmd", "script", "commands", "source", "python_code")
_RUNNING: Final = frozenset(
    (
        "execute",
        "run",
        "exec",
        "eval",
        "query",
        "read",
        "write",
        "shell",
        "command",
        "terminal",
        "sql",
        "code",
    )
)
_FEW: Final = (2, 4)
_MAX_ROWS: Final = 50
_MAX_COLUMNS: Final = 20


def ran(call: Call, wording: Wording, rng: RandomStream) -> JsonObject | None:
    """What a query or a program gives, as far as its own text says so; None for other calls."""
    if _RUNNING.isdisjoint(words_of(call.tool.name)):
        return None
    given = {key_of(name): value for name, value in call.arguments.items()}
    for key in _QUERIES:
        text = given.get(key)
        if isinstance(text, str):
            answer = _queried(text, wording, rng.at("query", text))
            if answer is not None:
                return answer
    is_kept = call.reading.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE)
    for key in () if is_kept else _PROGRAMS:
        text = given.get(key)
        if isinstance(text, str) and text.strip():
            printed = [match.group(2) for match in _PRINTED.finditer(text)]
            echoed = _ECHO.match(text)
            told = echoed.group(1).strip() if echoed else "\n".join(printed)
            return {"stdout": f"{told}\n" if told else "", "stderr": "", "exit_code": 0}
    return None


def _queried(text: str, wording: Wording, rng: RandomStream) -> JsonObject | None:
    if _WRITING.match(text):
        return {"rows_affected": 1}
    select = _SELECT.match(text)
    if select is None:
        return None
    limit = _LIMIT.search(text)
    names = [_column(each) for each in _split(select.group(1))][:_MAX_COLUMNS]
    is_one = all(_SUMS.match(each) for each in _split(select.group(1)))
    number = 1 if is_one else rng.at("rows").between(*_FEW)
    number = min(number if limit is None else int(limit.group(1)), number + _FEW[1], _MAX_ROWS)
    noun = key_of(select.group(2).rpartition(".")[2]).removesuffix("s")
    making = Making({}, wording)
    rows: list[JsonValue] = []
    for at in range(number):
        place, row = rng.at("row", at), dict[str, JsonValue]()
        for name in dict.fromkeys(names if names != ["*"] else _ALL):
            spot = ValueContext(rng=place.at(name), key=key_of(name), noun=noun, depth=1)
            row[name] = at + 1 if key_of(name) == "id" else making.value({}, spot)
        rows.append(row)
    return {"rows": rows, "row_count": len(rows)}


def _split(columns: str) -> list[str]:
    """The columns of a selection; commas within brackets do not part them."""
    parts, depth = [""], 0
    for letter in columns:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _column(text: str) -> str:
    alias = _ALIAS.search(text)
    if alias:
        return alias.group(1)
    summed = _SUMS.match(text)
    if summed:
        return summed.group(1).lower()
    return text if text == "*" else text.rpartition(".")[2].strip('"`[] ')
