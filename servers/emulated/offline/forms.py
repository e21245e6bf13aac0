"""An answer in the form that its tool is said to give: one number, a list, a table of Markdown, a picture."""

import csv
import io
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping
from html import escape
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of, words_of
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.finding import LISTS
from servers.emulated.offline.finding import Call
from servers.emulated.offline.promises import Form, Promise

__all__ = ["formed"]

_SIDE: Final = 24
_NAMES: Final = ("name", "title", "label", "symbol", "text", "path", "url", "id")
"""What a row may be called by, where its list is said to hold names."""
_USUAL: Final = (120, 48_000)
"""A count of which nothing is said."""
_MANY: Final = (
    "count",
    "total",
    "result",
    "value",
    "amount",
    "number",
    "price",
    "balance",
    "score",
)


def formed(promise: Promise, told: JsonObject, call: Call, rng: RandomStream) -> JsonValue:
    """Put an answer into its form.

    Args:
        promise: Says which one; an answer stays as it is where it says none.
        told: The answer as an object.
        call: What was asked.
        rng: Decide a picture.
    """
    form = promise.form
    if form is Form.LIST and promise.of is not None:
        return _held(told, promise.of)
    if form is Form.IMAGE:
        picture = b64encode(_png(rng)).decode()
        return {"type": "image", "mimeType": "image/png", "data": picture}
    if form is Form.NUMBER:
        return _number(told, call, rng)
    return _WRITERS[form](told) if form in _WRITERS else told


def _rows(told: JsonObject) -> list[JsonValue] | None:
    """The one list that an answer is about, if it has one."""
    lists = [v for name, v in told.items() if isinstance(v, list) and key_of(name) not in LISTS]
    return lists[0] if len(lists) == 1 else None


def _held(told: JsonObject, member: str) -> JsonValue:
    """The one member of each row that is a list's own; whole rows where they do not have it."""
    rows = _rows(told)
    if rows is None:
        return told
    return [_called(row, member) if isinstance(row, dict) else row for row in rows]


def _called(row: JsonObject, member: str) -> JsonValue:
    wanted = (member, *_NAMES) if member in _NAMES else (member,)
    keyed = {key_of(name): value for name, value in row.items()}
    return next((keyed[key] for key in wanted if isinstance(keyed.get(key), str | int)), row)


def _number(told: JsonObject, call: Call, rng: RandomStream) -> JsonValue:
    rows = _rows(told)
    if rows is not None and not {"total", "count"} & told.keys():
        return len(rows)
    numbers = {
        key_of(name): value
        for name, value in told.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and name not in call.arguments
    }
    wanted = [*reversed(words_of(call.tool.name)), *_MANY]
    for word in wanted:
        for key, value in numbers.items():
            if word in key.split("_"):
                return value
    return next(iter(numbers.values()), rng.between(*_USUAL))


def _flag(told: JsonObject) -> JsonValue:
    return next((value for value in told.values() if isinstance(value, bool)), True)


def _text_of(told: JsonObject, kind: str) -> JsonValue:
    for name, value in told.items():
        if isinstance(value, str) and kind in key_of(name).split("_"):
            return value
    return told


def _csv(rows: list[JsonValue]) -> str:
    records = [row for row in rows if isinstance(row, dict)]
    names = [*dict.fromkeys(name for row in records for name in row)]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in records)
    return written.getvalue()


def _cell(value: JsonValue) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(_cell, value))
        case dict():
            return ", ".join(f"{_titled(name)}: {_cell(each)}" for name, each in value.items())
        case _:
            return str(value)


def _titled(name: str) -> str:
    words = words_of(name)
    return " ".join(words).capitalize() if words else name


def _lines(told: JsonObject, *, is_markdown: bool) -> str:
    """One line for each member, and a list of rows below them."""
    rows = _rows(told)
    plain = {
        k: v for k, v in told.items() if v is not None and not (rows is not None and v is rows)
    }
    mark, strong = ("- ", "**") if is_markdown else ("", "")
    lines = [f"{mark}{strong}{_titled(k)}:{strong} {_cell(v)}" for k, v in plain.items()]
    if rows is None:
        return "\n".join(lines)
    records = [row for row in rows if isinstance(row, dict)]
    if not is_markdown:
        found = [f"{at}. {_one_line(row)}" for at, row in enumerate(records, 1)]
        return "\n".join([*lines, *found])
    return "\n".join([*lines, *([""] if lines else []), *_table(records)])


def _one_line(row: JsonObject) -> str:
    first, *others = [(k, v) for k, v in row.items() if v is not None and k != "id"] or [("", "")]
    told = ", ".join(f"{_titled(k).lower()} {_cell(v)}" for k, v in others)
    return f"{_cell(first[1])} ({told})" if told else _cell(first[1])


def _table(rows: list[dict[str, JsonValue]]) -> list[str]:
    names = [*dict.fromkeys(name for row in rows for name in row)]
    head = f"| {' | '.join(map(_titled, names))} |"
    rule = f"|{' --- |' * len(names)}"
    cells = (
        f"| {' | '.join(_cell(row.get(n)).replace('|', '/') for n in names)} |" for row in rows
    )
    return [head, rule, *cells]


def _html(told: JsonObject) -> str:
    rows: list[JsonValue] = _rows(told) or [told]
    items = "".join(
        f"<li>{escape(_one_line(row) if isinstance(row, dict) else _cell(row))}</li>"
        for row in rows
    )
    return f"<!DOCTYPE html><html><body><ul>{items}</ul></body></html>"


def _png(rng: RandomStream) -> bytes:
    """A small picture of two colours, in bytes that no version of a packer changes."""
    ground, figure = (
        [rng.at(name, at).below(256) for at in range(3)] for name in ("ground", "figure")
    )
    edge = rng.at("edge").between(6, _SIDE - 6)
    lines = (
        b"\0"
        + bytes(part for x in range(_SIDE) for part in (figure if x + y < edge * 2 else ground))
        for y in range(_SIDE)
    )
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", _stored(b"".join(lines))), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _stored(data: bytes) -> bytes:
    """The data as one block that is not packed (RFC 1951, section 3.2.4)."""
    length = struct.pack("<HH", len(data), len(data) ^ 0xFFFF)
    return b"\x78\x01\x01" + length + data + struct.pack(">I", zlib.adler32(data))


_WRITERS: Final[Mapping[Form | None, Callable[[JsonObject], JsonValue]]] = {
    Form.FLAG: _flag,
    Form.URL: lambda told: _text_of(told, "url"),
    Form.PATH: lambda told: _text_of(told, "path"),
    Form.LIST: lambda told: _rows(told) or told,
    Form.CSV: lambda told: _csv(_rows(told) or [told]),
    Form.MARKDOWN: lambda told: _lines(told, is_markdown=True),
    Form.TEXT: lambda told: _lines(told, is_markdown=False),
    Form.HTML: _html,
}
"""Forms that nothing but the answer decides."""
