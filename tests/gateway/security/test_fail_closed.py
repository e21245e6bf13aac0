"""Lists and checks that fail must show less, never more (fail-open filters)."""

from typing import Any

import pytest


def shows_tools(text: str) -> bool:
    return '"tools"' in text or "inputSchema" in text


UNKNOWN = (
    "/episodes/{}/mcp",
    "/episodes/" + "0" * 32 + "/mcp",
    "/episodes/ /mcp",
    "/episodes/%2e%2e/mcp",
    "/episodes/*/mcp",
    "/episodes/null/mcp",
    "/episodes/records%2Fx/mcp",
    "/episodes/..%2F../mcp",
    "/servers/nobody/mcp",
    "/servers/*/mcp",
    "/servers/%2e%2e/mcp",
    "/servers/COINS/mcp",
    "/servers/coins%00/mcp",
    "/servers/coins%20/mcp",
    "/servers/coins,notes/mcp",
    "/servers/all/mcp",
)


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
async def test_an_unknown_place_is_404_and_shows_no_tool(
    *, guarded: Any, era: str, style: str, method: str
) -> None:
    _, headers, body = await guarded.prepare("server", era, method, style=style)
    for path in UNKNOWN:
        answer = await guarded.http.post(path, headers=headers, json=body)
        assert answer.status_code == 404, path
        assert answer.json()["error"]["message"]
        assert not shows_tools(answer.text), path
        assert "0" * 32 not in answer.text
        assert "records" not in answer.text
    assert guarded.executed == 0


async def test_the_beginning_of_an_id_is_none(*, guarded: Any, era: str, style: str) -> None:
    whole = guarded.episode["id"]
    _, headers, body = await guarded.prepare("episode", era, "tools/list", style=style)
    for part in (whole[:6], whole[:31], whole[:-1] + "g", whole + "0", whole.upper()):
        if part == whole:
            continue
        answer = await guarded.http.post(f"/episodes/{part}/mcp", headers=headers, json=body)
        assert answer.status_code == 404
        assert not shows_tools(answer.text)
        assert whole not in answer.text


async def test_an_episode_takes_no_tool_that_it_does_not_list(
    *, guarded: Any, era: str, style: str
) -> None:
    for name in ("notes__echo", "coins__echo", "ECHO", "echo ", "files__echo", "search_tools", ""):
        answer = await guarded.send("episode", era, style=style, name=name)
        assert "says hello" not in answer.text
    assert guarded.executed == 0


@pytest.mark.parametrize("failure", [RuntimeError, KeyError, ValueError])
async def test_a_catalog_that_fails_shows_no_tool(
    *, guarded: Any, era: str, style: str, failure: type[Exception]
) -> None:
    for place in ("server", "all"):
        _, headers, body = await guarded.prepare(place, era, "tools/list", style=style)
        guarded.catalog.fault = failure("the secret of the catalog")
        for method in ("tools/list", "tools/call"):
            answer = await guarded.http.post(
                guarded.path(place),
                headers={**headers, **({"Mcp-Method": method} if era == "modern" else {})},
                json={
                    **body,
                    "method": method,
                    "params": {**body["params"], "name": "coins__echo"},
                },
            )
            assert not shows_tools(answer.text)
            assert "says hello" not in answer.text
            assert "the secret of the catalog" not in answer.text
        guarded.catalog.fault = None
    assert guarded.executed == 0
    assert await guarded.is_alive()


async def test_a_failed_server_shows_none_of_its_tools_and_no_others(
    *, guarded: Any, era: str
) -> None:
    guarded.catalog.change("files", fault="the server is gone", tools=())
    answer = await guarded.send("relayed", era, "tools/list") if era == "modern" else None
    if answer is not None:
        assert not shows_tools(answer.text)
    assert {name.partition("__")[0] for name in await guarded.shown("all", era)} == {
        "coins",
        "notes",
    }
    assert await guarded.shown("server", era) == ["echo", "other"]


async def test_an_episode_of_a_failed_server_is_not_opened(guarded: Any) -> None:
    guarded.catalog.change("files", fault="the server is gone", tools=())
    source = {"kind": "servers", "names": ["coins", "files"]}
    answer = await guarded.control("POST", "/v1/episodes", json={"source": source})
    assert answer.status_code >= 500
    assert not shows_tools(answer.text)
    assert guarded.opened == 0


async def test_a_call_that_breaks_the_gateway_shows_no_cause_and_ends_the_episode(
    *, guarded: Any, era: str, style: str
) -> None:
    await guarded.shown("episode", era)
    guarded.catalog.servers["coins"].bug = RuntimeError("password=hunter2 at /srv/secret")
    for _ in range(2):
        answer = await guarded.send("episode", era, style=style)
        assert "hunter2" not in answer.text
        assert "/srv/secret" not in answer.text
        assert '"isError":true' in answer.text.replace(" ", "")
    state = (await guarded.control("GET", f"/v1/episodes/{guarded.episode['id']}")).json()
    assert (state["status"], state["reward"]) == ("failed", None)


async def test_a_closed_episode_shows_and_calls_nothing(
    *, guarded: Any, era: str, style: str
) -> None:
    requests = [
        await guarded.prepare("episode", era, m, style=style) for m in ("tools/list", "tools/call")
    ]
    await guarded.control("DELETE", f"/v1/episodes/{guarded.episode['id']}")
    for path, headers, body in requests:
        answer = await guarded.http.post(path, headers=headers, json=body)
        assert answer.status_code == 410
        assert not shows_tools(answer.text)
    assert guarded.executed == 0
