"""A web page that makes its reader's browser talk to a gateway on the reader's machine (DNS rebinding)."""

from typing import Any

import pytest

EVIL_HOSTS = (
    *("evil.example", "127.0.0.1.evil.example", "evil.example:80", "127.0.0.1@evil.example"),
    *("0.0.0.0", "a b", ""),
)
EVIL_ORIGINS = (
    *("http://evil.example", "https://127.0.0.1.evil.example", "null", "file://"),
    *("http://[", "x"),
)
OTHER_PATHS = ("/v1/episodes", "/v1/servers", "/metrics", "/healthz", "/openapi.json", "/nothing")


async def test_a_foreign_host_or_page_reaches_no_tool(
    *, guarded: Any, place: str, era: str, style: str
) -> None:
    for host in EVIL_HOSTS:
        answer = await guarded.send(place, era, style=style, headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host"), host
    for origin in EVIL_ORIGINS:
        answer = await guarded.send(place, era, style=style, headers={"Origin": origin})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin"), origin
    assert guarded.executed == 0
    assert (await guarded.send(place, era, style=style)).status_code == 200
    assert guarded.executed == 1


@pytest.mark.parametrize("path", OTHER_PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD"])
async def test_no_other_path_answers_a_foreign_host_or_page(
    *, guarded: Any, path: str, method: str
) -> None:
    for field, status in (
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
    ):
        headers = {"Authorization": f"Bearer {guarded.key}", **field}
        answer = await guarded.http.request(method, path, headers=headers)
        assert answer.status_code == status


async def test_no_answer_invites_a_foreign_page(*, guarded: Any, place: str) -> None:
    path = guarded.path(place)
    for method in ("OPTIONS", "POST", "GET"):
        answer = await guarded.http.request(
            method, path, headers={"Access-Control-Request-Method": "POST"}
        )
        assert [name for name in answer.headers if name.startswith("access-control-")] == []


async def test_one_good_origin_does_not_excuse_a_foreign_one(*, guarded: Any, place: str) -> None:
    path, headers, body = await guarded.prepare(place, "modern")
    fields = [*headers.items(), ("Origin", guarded.url), ("Origin", "http://evil.example")]
    answer = await guarded.http.post(path, headers=fields, json=body)
    assert answer.status_code == 403
    assert guarded.executed == 0


async def test_a_refusal_tells_a_foreign_page_nothing(*, guarded: Any, place: str) -> None:
    answer = await guarded.send(place, "modern", headers={"Host": "evil.example"})
    assert set(answer.json()["error"]) == {"code", "message"}
    assert guarded.episode["id"] not in answer.text
    assert "coins" not in answer.text
