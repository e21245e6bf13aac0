"""Sessions that a client invents, inherits or carries elsewhere (session fixation)."""

from typing import Any

import pytest

INVENTED = ("0" * 32, "chosen-by-me", "../../x", "")
PLACES = ("episode", "server", "relayed", "all")


async def test_an_invented_session_is_none(*, guarded: Any, place: str, style: str) -> None:
    path, headers, body = await guarded.prepare(place, "handshake", style=style)
    own = headers["Mcp-Session-Id"]
    for invented in (*INVENTED, own[:-1], own + "0", own.upper()):
        if invented == own:
            continue
        sent = {**headers, "Mcp-Session-Id": invented}
        answer = await guarded.http.post(path, headers=sent, json=body)
        assert answer.status_code in (400, 404), invented
        if invented:
            assert invented not in answer.text
    assert guarded.executed == 0


async def test_a_client_does_not_choose_the_session_that_it_opens(
    *, guarded: Any, place: str
) -> None:
    answer = await guarded.initialize(place, {"Mcp-Session-Id": "chosen-by-me"})
    assert answer.headers.get("mcp-session-id") != "chosen-by-me"
    assert answer.status_code in (200, 400, 404)


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
async def test_a_session_opens_nothing_at_another_place(
    *, guarded: Any, place: str, style: str, method: str
) -> None:
    session = await guarded.session(place)
    other = await guarded.open_episode("notes")
    for elsewhere in PLACES:
        if elsewhere == place:
            continue
        path, headers, body = await guarded.prepare(elsewhere, "handshake", method, style=style)
        answer = await guarded.http.post(
            path, headers={**headers, "Mcp-Session-Id": session}, json=body
        )
        assert answer.status_code == 404, elsewhere
    path = f"/episodes/{other['id']}/mcp"
    _, headers, body = await guarded.prepare(place, "handshake", method, style=style)
    assert (await guarded.http.post(path, headers=headers, json=body)).status_code == 404
    assert guarded.executed == 0


async def test_a_session_is_not_ended_from_another_place(*, guarded: Any, place: str) -> None:
    session = await guarded.session(place)
    headers = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
    headers |= {"Accept": "text/event-stream"}
    for elsewhere in PLACES:
        for method in ("GET", "DELETE") if elsewhere != place else ():
            sent = await guarded.http.request(method, guarded.path(elsewhere), headers=headers)
            assert sent.status_code == 404, (elsewhere, method)
    answer = await guarded.send(place, "handshake")
    assert answer.status_code == 200
    assert "says hello" in answer.text


async def test_an_ended_session_stays_ended(*, guarded: Any, place: str, style: str) -> None:
    path, headers, body = await guarded.prepare(place, "handshake", style=style)
    assert (await guarded.http.delete(path, headers=headers)).status_code in (200, 204)
    assert (await guarded.http.post(path, headers=headers, json=body)).status_code == 404
    assert guarded.executed == 0


async def test_no_answer_lists_sessions_or_episodes(guarded: Any) -> None:
    session = await guarded.session("all")
    for path in ("/mcp", "/servers/coins/mcp", "/episodes", "/sessions", "/episodes/", "/nothing"):
        for method in ("GET", "POST", "DELETE"):
            answer = await guarded.http.request(method, path, json={})
            assert session not in answer.text
            assert guarded.episode["id"] not in answer.text


async def test_callers_of_one_server_are_told_apart(*, guarded: Any, style: str) -> None:
    for token in (f"?caller={style}-{n}" for n in "123"):
        path, headers, body = await guarded.prepare("server", "modern", style=style)
        answer = await guarded.http.post(path + token, headers=headers, json=body)
        assert answer.status_code == 200
    keys = guarded.catalog.servers["coins"].keys
    assert len(set(keys)) == len(keys) == 4  # and the episode's own
    assert guarded.episode["id"] not in keys
