"""Keys that are missing, odd or cannot be checked (authentication that fails open)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from gateway.edge import security

API_KEY = "an-api-key-that-nobody-guesses"


def sent(*values: str, name: bytes = b"Authorization") -> list[tuple[bytes, bytes]]:
    return [(name, value.encode("latin-1")) for value in values]


WRONG: dict[str, Callable[[str], list[tuple[bytes, bytes]]]] = {
    "none": lambda _: [],
    "empty": lambda _: sent(""),
    "empty key": lambda _: sent("Bearer "),
    "no key": lambda _: sent("Bearer"),
    "another key": lambda _: sent("Bearer none of yours, surely"),
    "a beginning": lambda key: sent(f"Bearer {key[:-1]}"),
    "more": lambda key: sent(f"Bearer {key}x"),
    "another case": lambda key: sent(f"Bearer {key.upper()}"),
    "another scheme": lambda key: sent(f"Basic {key}"),
    "no scheme": sent,
    "twice": lambda key: sent(f"Bearer {key}", f"Bearer {key}"),
    "good then bad": lambda key: sent(f"Bearer {key}", "Bearer x"),
    "bad then good": lambda key: sent("Bearer x", f"Bearer {key}"),
    "a list": lambda key: sent(f"Bearer {key}, Bearer x"),
    "no text": lambda _: sent("Bearer \xff\xfe\x80"),
    "another header": lambda key: sent(f"Bearer {key}", name=b"X-Authorization"),
    "a proxy's header": lambda key: sent(f"Bearer {key}", name=b"Proxy-Authorization"),
    "a cookie": lambda key: sent(f"Authorization=Bearer {key}", name=b"Cookie"),
}


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/episodes/x/record", "/v1/environments/coins/gold", "/v1/nothing"]
)
async def test_the_control_plane_opens_to_its_key_alone(guarded: Any, path: str) -> None:
    for what, wrong in WRONG.items():
        for method in ("GET", "POST", "DELETE"):
            status, answer = await guarded.exactly(method, path, wrong(guarded.key))
            assert status in (400, 401), (what, method)
            assert status == 400 or ("wrong_key" in answer and "control.key" in answer)
            assert "gold answer" not in answer
    assert guarded.opened == 0


@pytest.mark.parametrize("place", ["server", "relayed", "all"])
async def test_the_interactive_endpoints_open_to_a_key_alone_where_keys_are_set(
    *, keyed: Any, place: str, style: str
) -> None:
    path, headers, body = await keyed.prepare(place, "modern", style=style)
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    content = json.dumps(body).encode()
    for what, wrong in WRONG.items():
        status, _ = await keyed.exactly("POST", path, [*fields, *wrong(API_KEY)], content)
        assert status in (400, 401), what
    assert keyed.executed == 0
    right = (b"Authorization", f"Bearer {API_KEY}".encode())
    assert (await keyed.exactly("POST", path, [*fields, right], content))[0] == 200
    assert keyed.executed == 1


@pytest.mark.parametrize("place", ["server", "relayed", "all"])
async def test_a_session_opened_with_a_key_asks_for_it_at_every_request(
    *, keyed: Any, place: str, style: str
) -> None:
    await keyed.session(place, API_KEY)
    answer = await keyed.send(place, "handshake", style=style)
    assert answer.status_code == 401
    assert keyed.executed == 0
    allowed = {"Authorization": f"Bearer {API_KEY}"}
    answer = await keyed.send(place, "handshake", style=style, headers=allowed)
    assert answer.status_code == 200
    assert keyed.executed == 1


@pytest.mark.parametrize("failure", [ValueError, KeyError, RuntimeError, TypeError])
async def test_a_check_that_breaks_refuses(
    *, keyed: Any, monkeypatch: pytest.MonkeyPatch, failure: type[Exception], style: str
) -> None:
    def broken(*_: object) -> bool:
        raise failure("the check broke")

    allowed = {"Authorization": f"Bearer {API_KEY}"}
    monkeypatch.setattr(security, "is_known", broken)
    answer = await keyed.send("server", "modern", style=style, headers=allowed)
    assert answer.status_code == 500
    assert (await keyed.control("GET", "/v1/environments/coins/gold")).status_code == 500
    assert "broke" not in answer.text
    assert keyed.executed == 0
    monkeypatch.undo()
    answer = await keyed.send("server", "modern", style=style, headers=allowed)
    assert answer.status_code == 200


async def test_an_api_key_reads_neither_gold_nor_rewards(keyed: Any) -> None:
    headers = {"Authorization": f"Bearer {API_KEY}"}
    for path in (
        "/v1/environments/coins/gold",
        f"/v1/episodes/{keyed.episode['id']}",
        f"/v1/episodes/{keyed.episode['id']}/record",
    ):
        answer = await keyed.http.get(path, headers=headers)
        assert answer.status_code == 401
        assert "the gold answer" not in answer.text


SPELLINGS = (
    "//v1/environments/coins/gold",
    "/v1//environments/coins/gold",
    "/V1/environments/coins/gold",
    "/%76%31/environments/coins/gold",
    "/v1%2fenvironments/coins/gold",
    "/episodes/../v1/environments/coins/gold",
    "/episodes/%2e%2e/v1/environments/coins/gold",
    "/episodes/x/mcp/../../../v1/environments/coins/gold",
    "/healthz/../v1/environments/coins/gold",
    "/v1/environments/coins/gold;/healthz",
    "/.//v1/environments/coins/gold",
)


async def test_no_spelling_of_a_path_leads_round_the_key(guarded: Any) -> None:
    for path in SPELLINGS:
        status, answer = await guarded.exactly("GET", path, [])
        assert status in (401, 404), path
        assert "the gold answer" not in answer
