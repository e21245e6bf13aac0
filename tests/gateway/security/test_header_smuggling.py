"""Headers that say something else than the body, and bytes that two parsers would read differently."""

import base64
import json
from typing import Any

import pytest

Fields = list[tuple[bytes, bytes]]


def encoded(name: str) -> bytes:
    return b"=?base64?" + base64.b64encode(name.encode()) + b"?="


async def request_of(
    guarded: Any, place: str, style: str, era: str = "modern"
) -> tuple[str, Fields, bytes]:
    """A correct request: its path, its header fields and its body."""
    path, headers, body = await guarded.prepare(place, era, style=style)
    fields = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
    return path, fields, json.dumps(body).encode()


def without(fields: Fields, name: bytes) -> Fields:
    return [field for field in fields if field[0] != name]


async def test_headers_that_contradict_the_body_execute_nothing(
    *, guarded: Any, place: str, style: str
) -> None:
    path, fields, content = await request_of(guarded, place, style)
    name, other = guarded.tool(place).encode(), guarded.tool(place, "other")
    names: dict[str, list[bytes]] = {
        "another name": [other.encode()],
        "another name in base64": [encoded(other)],
        "a name that is no base64": [b"=?base64?!!!?="],
        "no name": [],
        "an empty name": [b""],
        "two names": [name, other.encode()],
        "two names the other way": [other.encode(), name],
        "a list of names": [name + b", " + other.encode()],
        "another case": [name.upper()],
    }
    methods = {
        "another method": [b"tools/list"],
        "no method": [],
        "two methods": [b"tools/list", b"tools/call"],
        "two methods the other way": [b"tools/call", b"tools/list"],
    }
    for field, changes in ((b"mcp-name", names), (b"mcp-method", methods)):
        for what, values in changes.items():
            given = [*without(fields, field), *((field, value) for value in values)]
            status, answer = await guarded.exactly("POST", path, given, content)
            assert status == 400, what
            assert "-32020" in answer or len(values) > 1, what
    assert guarded.executed == 0
    same = [*without(fields, b"mcp-name"), (b"mcp-name", encoded(name.decode()))]
    assert (await guarded.exactly("POST", path, same, content))[0] == 200
    assert guarded.executed == 1


async def test_revisions_that_contradict_each_other_execute_nothing(
    *, guarded: Any, place: str, style: str
) -> None:
    path, fields, content = await request_of(guarded, place, style)
    version = b"mcp-protocol-version"
    rest = without(fields, version)
    for values in (
        [b"2025-11-25"],
        [],
        [b"2026-07-28", b"2025-11-25"],
        [b"2025-11-25", b"2026-07-28"],
        [b"2099-01-01"],
    ):
        given = [*rest, *((version, value) for value in values)]
        status, _ = await guarded.exactly("POST", path, given, content)
        assert 400 <= status < 500, values
    assert guarded.executed == 0


async def test_two_sessions_in_one_request_execute_nothing(
    *, guarded: Any, place: str, style: str
) -> None:
    path, fields, content = await request_of(guarded, place, style, "handshake")
    session = b"mcp-session-id"
    own, other = dict(fields)[session], b"0" * 32
    for values in ([own, other], [other, own], [own + b", " + other]):
        given = [*without(fields, session), *((session, value) for value in values)]
        assert 400 <= (await guarded.exactly("POST", path, given, content))[0] < 500
    assert guarded.executed == 0


async def test_what_is_executed_is_what_was_compared_with_the_header(
    *, guarded: Any, place: str, style: str
) -> None:
    path, fields, body = await request_of(guarded, place, style)
    name, other, content = guarded.tool(place), guarded.tool(place, "other"), body.decode()
    for twice in (
        content.replace(f'"name": "{name}"', f'"name": "{name}", "name": "{other}"'),
        content.replace(f'"name": "{name}"', f'"name": "{other}", "name": "{name}"'),
        content.replace(f'"name": "{name}"', f'"name": "{name}", "Name": "{other}"'),
        content.replace(f'"name": "{name}"', f'"name": "{other}", "\\u006eame": "{name}"'),
        content.replace('"method": "tools/call"', '"method": "tools/list", "method": "tools/call"'),
    ):
        assert twice != content
        await guarded.exactly("POST", path, fields, twice.encode())
    called = [call[0] for server in guarded.catalog.servers.values() for call in server.calls]
    assert set(called) <= {"echo"}


async def test_a_body_that_is_not_one_message_executes_nothing(
    *, guarded: Any, place: str, style: str
) -> None:
    path, fields, content = await request_of(guarded, place, style)
    for several in (
        b"[" + content + b"]",
        b"[" + content + b"," + content + b"]",
        content + content,
        content + b"\n" + content,
        b"\xef\xbb\xbf" + content + b"x",
        content[:-1],
        content.replace(b"hello", b"\xff\xfe"),
    ):
        status, _ = await guarded.exactly("POST", path, fields, several)
        assert 400 <= status < 500, several
    assert guarded.executed == 0


AMBIGUOUS = {
    "length and chunks": b"Content-Length: %(n)d\r\nTransfer-Encoding: chunked\r\n",
    "chunks and length": b"Transfer-Encoding: chunked\r\nContent-Length: %(n)d\r\n",
    "two lengths": b"Content-Length: 0\r\nContent-Length: %(n)d\r\n",
    "a list of lengths": b"Content-Length: 0, %(n)d\r\n",
    "a signed length": b"Content-Length: +%(n)d\r\n",
    "a length in hex": b"Content-Length: 0x%(n)x\r\n",
    "a negative length": b"Content-Length: -1\r\n",
    "a huge length": b"Content-Length: 99999999999999999999999999\r\n",
    "an unknown coding": b"Transfer-Encoding: xchunked\r\n",
    "chunks not last": b"Transfer-Encoding: chunked, identity\r\n",
    "two codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "a space before the colon": b"Content-Length : %(n)d\r\n",
    "a folded line": b"X: a\r\n b\r\nContent-Length: %(n)d\r\n",
    "no colon": b"Content-Length %(n)d\r\n",
    "a zero byte": b"X: a\x00b\r\nContent-Length: %(n)d\r\n",
}


@pytest.mark.parametrize("what", list(AMBIGUOUS))
async def test_no_second_request_hides_in_an_ambiguous_one(guarded: Any, what: str) -> None:
    hidden_body = b'{"source": {"kind": "environment", "name": "coins"}}'
    hidden = (
        b"POST /v1/episodes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(hidden_body), hidden_body)
    )
    head = b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s\r\n" % (
        guarded.key.encode(),
        AMBIGUOUS[what] % {b"n": len(hidden)},
    )
    await guarded.raw(head + b"0\r\n\r\n" + hidden, answers=2)
    await guarded.raw(head + hidden, answers=2)
    assert guarded.opened == 0
    assert await guarded.is_alive()


@pytest.mark.parametrize("name", ["Authorization", "Host", "Origin", "Mcp-Name", "Mcp-Session-Id"])
async def test_fields_after_a_body_count_for_nothing(guarded: Any, name: str) -> None:
    values = {"Authorization": f"Bearer {guarded.key}", "Host": "127.0.0.1"}
    head = (
        "GET /v1/environments/coins/gold HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked"
        f"\r\nTrailer: {name}\r\n\r\n0\r\n{name}: {values.get(name, 'x')}\r\n\r\n"
    )
    answer = await guarded.raw(head.encode())
    assert b"the gold answer" not in answer
    assert b"HTTP/1.1 200" not in answer


async def test_a_request_behind_another_one_needs_a_key_of_its_own(guarded: Any) -> None:
    first = f"GET /v1/servers HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {guarded.key}\r\n\r\n"
    second = "GET /v1/environments/coins/gold HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    answer = await guarded.raw((first + second).encode(), answers=2)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 401") == 1
    assert b"the gold answer" not in answer
