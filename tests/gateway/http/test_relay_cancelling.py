"""A client that cancels its call: the server is told, and the record holds what happened."""

from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest

from gateway.api.wire import CALL_ID_KEY

from relayed_servers import (
    LEGACY,
    MODERN,
    Desk,
    open_desks,
    open_relay_gateway,
    recorded,
    text_of,
    ways,
)

WAIT_SECONDS = 20.0


async def answer_nothing(context: Any, params: Any) -> types.ElicitResult:
    """Never called; a client that can be asked is served by the SDK."""
    raise AssertionError


async def note(progress: float, total: float | None, message: str | None) -> None:
    """Take progress."""


async def cancel_a_call(client: Any, desk: Desk, **options: Any) -> None:
    """Call a tool that waits, and cancel the call once it has begun."""
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as group:

            async def call() -> None:
                await client.call_tool("wait", {}, **options)

            group.start_soon(call)
            await desk.begun.wait()
            group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("mode", "client_options", "call_options"),
    [
        (LEGACY, {}, {}),
        (LEGACY, {"elicitation_callback": answer_nothing}, {}),
        (MODERN, {}, {}),
        (MODERN, {}, {"progress_callback": note}),
        (MODERN, {"elicitation_callback": answer_nothing}, {"progress_callback": note}),
    ],
    ids=["2025", "2025-asked", "2026-plain", "2026", "2026-asked"],
)
async def test_a_cancelled_call_at_a_server_s_endpoint_ends_there_and_is_recorded(
    tmp_path: Path, mode: str, client_options: Any, call_options: Any
) -> None:
    desk = Desk("desk")
    async with open_desks(tmp_path, mode, desk, **client_options) as client:
        await cancel_a_call(client, desk, **call_options)
        with anyio.fail_after(WAIT_SECONDS):
            await desk.cancelled.wait()
        # The state goes on: its next call waits for the end of the cancelled one.
        assert not (await client.call_tool("say", {})).is_error
        first, second = recorded(tmp_path, "call_finished")
        assert first["origin"] == second["origin"] == "tool"
        assert "cancelled" in first["result"]["content"][0]["text"]


async def test_a_plain_call_with_an_id_is_done_to_its_end_though_its_connection_is_closed(
    tmp_path: Path,
) -> None:
    desk = Desk("desk")
    meta: Any = {CALL_ID_KEY: "one"}
    async with open_desks(tmp_path, MODERN, desk) as client:
        await cancel_a_call(client, desk, meta=meta)
        # What comes over a later connection shows that the end of the first one was seen.
        await client.list_tools()
        desk.release.set()
        again = await client.call_tool("wait", {}, meta=meta)
        assert text_of(again) == "waited"
        assert not desk.cancelled.is_set()
        assert desk.called == ["wait"]


@ways
async def test_a_cancelled_call_of_an_episode_is_done_to_its_end_for_its_retry(
    tmp_path: Path, mode: str
) -> None:
    desk = Desk("desk")
    async with open_relay_gateway(tmp_path, desk) as gateway:
        created = await gateway.open_episode("desk")
        async with gateway.client(
            created.mcp_url, mode, elicitation_callback=answer_nothing
        ) as client:
            meta: Any = {CALL_ID_KEY: "one"}
            await cancel_a_call(client, desk, meta=meta, progress_callback=note)
            await client.list_tools()  # which comes after the end of the call's connection
            desk.release.set()
            again = await client.call_tool("wait", {}, meta=meta)
            assert text_of(again) == "waited"
        assert not desk.cancelled.is_set()
        assert desk.called == ["wait"]


async def test_a_plain_call_of_an_episode_is_done_to_its_end_even_without_an_id(
    tmp_path: Path,
) -> None:
    desk = Desk("desk")
    async with open_relay_gateway(tmp_path, desk) as gateway:
        created = await gateway.open_episode("desk")
        async with gateway.client(created.mcp_url, MODERN) as client:
            await cancel_a_call(client, desk)
            await client.list_tools()  # which comes after the end of the call's connection
            desk.release.set()
            assert not (await client.call_tool("say", {})).is_error
        first, _ = recorded(tmp_path, "call_finished")
        assert first["result"]["content"][0]["text"] == "waited"


async def test_another_request_than_a_call_is_cancelled_with_its_client(tmp_path: Path) -> None:
    begun, cancelled = anyio.Event(), anyio.Event()

    class Slow(Desk):
        async def _list_prompts(self, ctx: Any, params: Any) -> Any:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.set()

    async with open_desks(tmp_path, LEGACY, Slow("desk")) as client:
        with anyio.fail_after(WAIT_SECONDS):
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    await client.list_prompts()

                group.start_soon(ask)
                await begun.wait()
                group.cancel_scope.cancel()
            await cancelled.wait()
