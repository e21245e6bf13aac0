"""A relayed server asks the client of a call, across the eras; the call runs once and is recorded once."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import mcp_types as types
import pytest
from mcp import MCPError

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import RelayedError
from astra_mcp.types import JsonObject
from gateway.agents.suspended import InputRequiredError, SuspendedCalls
from gateway.agents.targets import Place

from by_hand import modern_request
from deployed_workshop import MemoryChannel
from relayed_servers import (
    Desk,
    RelayGateway,
    open_desks,
    open_relay_gateway,
    recorded,
    text_of,
    ways,
)

PATH = "/servers/desk/mcp"
ABLE: JsonObject = {"elicitation": {"form": {}}}
EMPTY: Mapping[str, Any] = {}
speech = pytest.mark.parametrize("speaks", ["both", "handshake", "modern"])


async def give_name(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Answer as a person would."""
    return types.ElicitResult(action="accept", content={"name": "Ann"})


@speech
@ways
async def test_a_server_s_question_is_answered_by_the_client(
    tmp_path: Path, speaks: str, mode: str
) -> None:
    desk = Desk("desk", speaks=speaks)
    async with open_desks(tmp_path, mode, desk, elicitation_callback=give_name) as client:
        assert text_of(await client.call_tool("ask", {})).startswith("accept Ann")
        read = await client.read_resource("desk://item/asks")
        assert text_of(read).startswith("accept Ann")


@ways
async def test_a_client_that_cannot_be_asked_gets_the_server_s_error(
    tmp_path: Path, mode: str
) -> None:
    async with open_desks(tmp_path, mode, Desk("desk", speaks="handshake")) as client:
        with pytest.raises(MCPError, match="elicitation"):
            await client.call_tool("ask", {})
        assert not (await client.call_tool("say", {})).is_error


@dataclass(frozen=True)
class ByHand:
    """A client of the 2026 era that sees what the SDK's hides."""

    http: httpx.AsyncClient
    url: str = PATH

    async def call(self, tool: str, arguments: Mapping[str, Any] = EMPTY, **more: Any) -> Any:
        """Call a tool; answers the JSON-RPC message."""
        params = {"name": tool, "arguments": arguments, **more}
        asked = modern_request("tools/call", params, **{types.CLIENT_CAPABILITIES_META_KEY: ABLE})
        return (await self.http.post(self.url, **asked)).json()


@asynccontextmanager
async def called_by_hand(home: Path, desk: Desk) -> AsyncGenerator[tuple[RelayGateway, ByHand]]:
    """Serve a desk behind a gateway; its client waits 5 s for an answer."""
    async with (
        open_relay_gateway(home, desk) as gateway,
        httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http,
    ):
        yield gateway, ByHand(http)


def answers_to(result: Any, name: str) -> dict[str, Any]:
    """The members of the retry that answers everything with a name."""
    answer = {"action": "accept", "content": {"name": name}}
    return {
        "inputResponses": dict.fromkeys(result["inputRequests"], answer),
        "requestState": result["requestState"],
    }


async def test_a_held_call_runs_once_and_is_recorded_once_however_often_it_asks(
    tmp_path: Path,
) -> None:
    desk = Desk("desk", speaks="handshake")
    async with called_by_hand(tmp_path, desk) as (_, client):
        first = (await client.call("ask_twice"))["result"]
        assert first["resultType"] == "input_required"
        (asked,) = first["inputRequests"].values()
        assert (asked["method"], asked["params"]["message"]) == ("elicitation/create", "Who?")
        assert recorded(tmp_path, "call_finished") == []
        second = (await client.call("ask_twice", **answers_to(first, "Ann")))["result"]
        assert second["resultType"] == "input_required"
        assert second["requestState"] != first["requestState"]
        last = (await client.call("ask_twice", **answers_to(second, "Bo")))["result"]
        assert last["content"][0]["text"] == "Ann and Bo"
        assert desk.called == ["ask_twice"]
        kinds = ("call_started", "call_finished")
        assert [len(recorded(tmp_path, kind)) for kind in kinds] == [1, 1]
        again = await client.call("ask_twice", **answers_to(second, "Bo"))
        assert again["error"]["code"] == types.INVALID_PARAMS
        assert desk.called == ["ask_twice"]


async def test_a_retry_without_an_answer_is_asked_again(tmp_path: Path) -> None:
    desk = Desk("desk", speaks="handshake")
    async with called_by_hand(tmp_path, desk) as (_, client):
        first = (await client.call("ask"))["result"]
        again = (await client.call("ask", requestState=first["requestState"]))["result"]
        assert again["inputRequests"] == first["inputRequests"]
        last = (await client.call("ask", **answers_to(again, "Cy")))["result"]
        assert last["content"][0]["text"] == "accept Cy"


async def test_a_state_that_was_changed_or_belongs_to_another_call_resumes_nothing(
    tmp_path: Path,
) -> None:
    desk = Desk("desk", speaks="handshake")
    async with called_by_hand(tmp_path, desk) as (_, client):
        other = replace(client, url=f"{PATH}?caller=other")
        first = (await client.call("ask"))["result"]
        right = answers_to(first, "Ann")
        state = right["requestState"]
        forged = state[:-1] + ("0" if state[-1] != "0" else "1")
        for caller, tool, arguments, tried in (
            (client, "ask", {}, forged),
            (client, "ask", {}, "astra-mcp.unknown.0"),
            (client, "ask_twice", {}, state),
            (client, "ask", {"more": 1}, state),
            (other, "ask", {}, state),
        ):
            refused = await caller.call(tool, arguments, **{**right, "requestState": tried})
            assert refused["error"]["code"] == types.INVALID_PARAMS, (tool, tried)
        assert desk.called == ["ask"]
        last = (await client.call("ask", **right))["result"]
        assert last["content"][0]["text"] == "accept Ann"


# --- the held calls themselves ------------------------------------------------------------------


FRONT = MemoryChannel(capabilities={"roots": {}})
"""A client that can be asked for its roots, and is not: it gets each call's question as a result."""


async def ask_for_roots(channel: Any) -> str:
    """A call that asks once."""
    return str((await channel.ask("roots/list", {}))["roots"])


async def test_as_many_calls_as_allowed_wait_and_the_next_is_refused() -> None:
    async with SuspendedCalls.open(limit=2) as calls:
        for number in range(2):
            with pytest.raises(InputRequiredError):
                await calls.begin(ask_for_roots, owner=Place("o", ""), binding=number, front=FRONT)
        with pytest.raises(RelayedError, match="too many"):
            await calls.begin(ask_for_roots, owner=Place("o", ""), binding=2, front=FRONT)
        assert len(calls) == 2


async def test_a_call_whose_client_does_not_come_back_is_told_so_and_can_go_on() -> None:
    ended = anyio.Event()
    refusals: list[str] = []

    async def work(channel: Any) -> None:
        try:
            await channel.ask("roots/list", {})
        except RelayedError as error:
            refusals.append(error.message)
        ended.set()

    async with SuspendedCalls.open(seconds=0.01) as calls:
        with pytest.raises(InputRequiredError) as required:
            await calls.begin(work, owner=Place("o", ""), binding=1, front=FRONT)
        with anyio.fail_after(20):
            await ended.wait()
        assert "did not come back" in refusals[0]
        assert len(calls) == 0
        state = str(required.value.result["requestState"])
        with pytest.raises(RelayedError, match="begin the call anew"):
            await calls.resume(state, {}, binding=1, front=FRONT)


@pytest.mark.parametrize("resumed", [False, True], ids=["begun", "resumed"])
async def test_a_call_that_ends_without_the_input_it_asked_for_keeps_its_result_for_the_retry(
    resumed: bool,
) -> None:
    gives_up, ended = anyio.Event(), anyio.Event()

    async def work(channel: Any) -> str:
        if resumed:
            await channel.ask("roots/list", {})
        async with anyio.create_task_group() as group:
            group.start_soon(channel.ask, "roots/list", dict[str, Any]())
            await gives_up.wait()
            group.cancel_scope.cancel()
        ended.set()
        return "done"

    async with SuspendedCalls.open() as calls:
        with pytest.raises(InputRequiredError) as required:
            await calls.begin(work, owner=Place("o", ""), binding=1, front=FRONT)
        if resumed:
            first = required.value
            with pytest.raises(InputRequiredError) as required:
                await calls.resume(*retry(first), binding=1, front=FRONT)
        gives_up.set()
        with anyio.fail_after(20):
            await ended.wait()
        if resumed:
            await anyio.wait_all_tasks_blocked()
        assert await calls.resume(*retry(required.value), binding=1, front=FRONT) == "done"
        assert len(calls) == 0


def retry(required: InputRequiredError) -> tuple[str, JsonObject]:
    """What a client sends that was asked for its roots."""
    asked = required.result["inputRequests"]
    assert isinstance(asked, dict)
    return str(required.result["requestState"]), {key: {"roots": []} for key in asked}


@pytest.mark.parametrize("how", ["its own end", "the end of its endpoint"])
async def test_the_calls_of_a_state_end_with_it(how: str) -> None:
    ended = anyio.Event()

    async def work(channel: Any) -> None:
        with pytest.raises(RelayedError, match="has ended"):
            await channel.ask("roots/list", {})
        ended.set()

    async with SuspendedCalls.open() as calls:
        with pytest.raises(InputRequiredError):
            await calls.begin(work, owner=Place("mine", ""), binding=1, front=FRONT)
        calls.end(Place("mine", "another caller"))
        calls.end_all("another's")
        assert len(calls) == 1
        if how == "its own end":
            calls.end(Place("mine", ""))
        else:
            calls.end_all("mine")
        with anyio.fail_after(20):
            await ended.wait()
        assert len(calls) == 0


@pytest.mark.parametrize("how", ["its state ends", "its client goes"])
async def test_a_call_that_nobody_can_resume_is_refused_at_once_what_it_asks_later(
    how: str,
) -> None:
    place = Place("mine", "")
    begun, goes_on, ended = anyio.Event(), anyio.Event(), anyio.Event()

    async def work(channel: Any) -> str:
        with anyio.CancelScope(shield=True):  # as a call of an episode, which is done to its end
            begun.set()
            await goes_on.wait()
            with pytest.raises(RelayedError, match=r"has ended|has gone"):
                await channel.ask("roots/list", {})
        ended.set()
        return "done"

    async with SuspendedCalls.open(seconds=1) as calls, anyio.create_task_group() as clients:
        call = partial(calls.begin, work, owner=place, binding=1, front=FRONT)
        clients.start_soon(call)
        await begun.wait()
        if how == "its state ends":
            calls.end_all(place.endpoint)
        else:
            clients.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
        goes_on.set()
        with anyio.fail_after(20, shield=True):
            await ended.wait()
        assert len(calls) == 0


async def test_an_episode_whose_call_waits_for_its_client_can_be_closed_at_once(
    tmp_path: Path,
) -> None:
    desk = Desk("desk", speaks="handshake")
    async with called_by_hand(tmp_path, desk) as (gateway, client):
        created = await gateway.open_episode("desk")
        asked = (await replace(client, url=created.mcp_url).call("ask"))["result"]
        assert asked["resultType"] == "input_required"

        with anyio.fail_after(20):
            closed = await gateway.control.close_episode(created.id)

        assert closed.status is EpisodeStatus.CLOSED
        assert len(recorded(tmp_path, "call_finished")) == 1


async def test_a_call_that_waits_for_its_client_does_not_delay_the_next_state_of_its_caller(
    tmp_path: Path,
) -> None:
    desk = Desk("desk", speaks="handshake")
    async with called_by_hand(tmp_path, desk) as (gateway, at_desk):
        client = replace(at_desk, url="/mcp?caller=me")
        first = (await client.call("desk__ask"))["result"]
        assert first["resultType"] == "input_required"
        gateway.deployed.mount("late", Desk("late").make)

        second = (await client.call("desk__ask"))["result"]

        assert second["resultType"] == "input_required"
        last = (await client.call("desk__ask", **answers_to(second, "Bo")))["result"]
        assert last["content"][0]["text"] == "accept Bo"
        ended = await client.call("desk__ask", **answers_to(first, "Ann"))
        assert "begin the call anew" in ended["error"]["message"]
