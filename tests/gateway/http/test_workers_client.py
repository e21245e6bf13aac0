"""What our clients send again while a gateway restarts, and where they let themselves be sent on to."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from astra_mcp.errors import TransportError
from astra_mcp.serving.http.server import bind, listen, url_of
from gateway.api.client import EpisodeClient, GatewayClient, RefusedError
from gateway.api.wire import CALL_ID_KEY, EpisodeRequest
from gateway.edge.security import send_json

SECRET = "a control key of this test"
REQUEST = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "purse"}})
STOPPING = {"error": {"code": "stopping", "message": "try again"}}


@dataclass
class Scripted:
    """Answers each request with the next entry of a script; the last entry answers the rest."""

    script: list[Callable[[Any, Any], Awaitable[None]]]
    bodies: list[Any] = field(default_factory=list[Any])
    authorizations: list[str] = field(default_factory=list[str])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = json.loads((await receive()).get("body") or b"{}")
        headers = dict(scope["headers"])
        self.bodies.append(body)
        self.authorizations.append(headers.get(b"authorization", b"").decode())
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        await answer(body, send)


async def stopping(_: Any, send: Any) -> None:
    await send_json(send, 503, STOPPING)


async def broken(_: Any, send: Any) -> None:
    """Begin an answer and break the connection."""
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]}
    await send(start)
    await send({"type": "http.response.body", "body": b"{", "more_body": True})
    msg = "the test breaks this answer off"
    raise ConnectionAbortedError(msg)


async def called(body: Any, send: Any) -> None:
    result = {"content": [{"type": "text", "text": "done"}], "isError": False}
    await send_json(send, 200, {"jsonrpc": "2.0", "id": body["id"], "result": result})


async def listed(_: Any, send: Any) -> None:
    await send_json(send, 200, [])


def sent_to(url: str) -> Callable[[Any, Any], Awaitable[None]]:
    async def answer(_: Any, send: Any) -> None:
        await send_json(send, 307, {}, {"Location": url})

    return answer


@asynccontextmanager
async def served(*script: Any) -> AsyncGenerator[tuple[Scripted, str, GatewayClient]]:
    """Serve a script; yields it with its URL and a client of it."""
    app = Scripted(list(script))
    with bind("127.0.0.1", 0) as listener:
        url = url_of(listener)
        async with listen(app, listener), GatewayClient(url, SECRET) as control:
            yield app, url, control


async def test_a_call_is_sent_again_with_its_id_until_it_is_answered() -> None:
    async with served(stopping, broken, stopping, called) as (app, url, control):
        result = await EpisodeClient(f"{url}/mcp", control.http).call("add", {"amount": 1})
        assert result.text == "done"
        assert len(app.bodies) == 4
        ids = {body["params"]["_meta"][CALL_ID_KEY] for body in app.bodies}
        assert len(ids) == 1


async def test_a_call_that_is_not_answered_in_time_is_an_error() -> None:
    async with served(broken) as (app, url, control):
        agent = EpisodeClient(f"{url}/mcp", control.http, reconnect_seconds=0)
        with pytest.raises(TransportError, match="no answer"):
            await agent.call("add", {"amount": 1})
        assert len(app.bodies) == 1


async def test_a_creation_is_sent_again_only_where_nothing_was_done() -> None:
    async with served(stopping, broken, listed) as (app, _, control):
        with pytest.raises(TransportError, match="no answer") as failed:
            await control.create_episodes([REQUEST])
        assert not isinstance(failed.value, RefusedError)
        assert len(app.bodies) == 2
        assert await control.create_episodes([REQUEST]) == []


async def test_a_question_is_asked_again_after_a_broken_connection() -> None:
    async with served(broken, stopping, listed) as (app, _, control):
        assert await control.open_episodes() == []
        assert len(app.bodies) == 3


async def test_a_request_is_followed_to_another_port_with_its_key_and_body() -> None:
    async with served(listed) as (there, target, _):
        sent_on = sent_to(f"{target}/v1/episodes:batch")
        async with served(sent_on) as (_, _, control):
            assert await control.create_episodes([REQUEST]) == []
            assert there.bodies == [[REQUEST.model_dump(mode="json")]]
            assert there.authorizations == [f"Bearer {SECRET}"]


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_no_request_is_followed_to_another_host(scheme: str) -> None:
    async with served(listed) as (there, target, _):
        port = target.rpartition(":")[2]
        sent_on = sent_to(f"{scheme}://localhost:{port}/v1/episodes")
        async with served(sent_on) as (_, _, control):
            with pytest.raises(TransportError, match="another host") as failed:
                await control.open_episodes()
            assert SECRET not in str(failed.value)
            assert there.bodies == []


async def test_a_circle_of_redirects_ends() -> None:
    async with served(sent_to("/v1/episodes")) as (app, _, control):
        with pytest.raises(TransportError, match="more than 3 times"):
            await control.open_episodes()
        assert len(app.bodies) == 3
