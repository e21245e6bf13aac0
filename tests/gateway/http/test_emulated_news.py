"""Emulated servers that come, go and change are told at their own endpoints alone, in both eras."""

from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry.documents.sources import ServerDocument
from registry.intake.importing import import_documents
from registry.intake.removing import remove_servers
from registry.store.database import Database, open_database

from fake_emulation import FakeDocuments, document, open_emulating_gateway
from heard_news import hearing
from in_memory_tools import spec
from plain_documents import prepare, server
from relayed_servers import Desk, open_client, ways

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


@ways
async def test_news_of_an_emulated_server_reach_its_own_endpoint_and_no_other(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(document("berry"), document("cherry"))
    async with (
        open_emulating_gateway(tmp_path, documents, Desk("apple")) as gateway,
        hearing(f"{gateway.url}/servers/berry/mcp", mode) as (_, at_berry),
        hearing(f"{gateway.url}/servers/cherry/mcp", mode) as (_, at_cherry),
        hearing(f"{gateway.url}/servers/apple/mcp", mode) as (_, at_apple),
        hearing(f"{gateway.url}/mcp", mode) as (_, at_all),
    ):
        documents.publish(document("berry", spec("changed", {}, [])))
        await at_berry.wait_for("tools", 1)
        documents.withdraw("berry")
        await at_berry.wait_for("tools", 2)
        documents.publish(document("berry"))
        await at_berry.wait_for("tools", 3)
        documents.publish(document("damson"))
        # What is told last shows that nothing came before it.
        documents.publish(document("cherry", spec("changed", {}, [])))
        await at_cherry.wait_for("tools", 1)
        gateway.deployed.mount("late", Desk("late").make)
        await at_all.wait_for("tools", 1)
        heard = (at_berry, at_cherry, at_apple, at_all)
        assert [each.news.count("tools") for each in heard] == [3, 1, 0, 1]


@ways
async def test_a_real_server_that_takes_the_name_of_an_emulated_one_is_told_at_both_endpoints(
    tmp_path: Path, mode: str
) -> None:
    documents = FakeDocuments(document("berry"))
    async with (
        open_emulating_gateway(tmp_path, documents) as gateway,
        hearing(f"{gateway.url}/servers/berry/mcp", mode) as (_, at_berry),
        hearing(f"{gateway.url}/mcp", mode) as (_, at_all),
    ):
        gateway.deployed.mount("berry", Desk("berry").make)
        await at_berry.wait_for("tools", 1)
        await at_all.wait_for("tools", 1)
        documents.publish(document("berry", spec("hidden", {}, [])))
        async with gateway.client("/servers/berry/mcp", mode) as client:
            assert "say" in [t.name for t in (await client.list_tools()).tools]
        async with gateway.client("/mcp", mode) as client:
            assert "berry__say" in [t.name for t in (await client.list_tools()).tools]


async def store(database: Database, *documents: ServerDocument) -> None:
    await import_documents(database, documents, prepare=prepare)


@pytest.mark.system
@ways
async def test_what_another_process_imports_and_removes_is_told_by_a_gateway_that_serves(
    start_serve: Any, tmp_path: Path, mode: str
) -> None:
    async with open_database(f"sqlite:///{tmp_path / 'registry.db'}") as database:
        await store(database, server("berry"), server("cherry"))
        url = start_serve(tmp_path).url
        async with (
            hearing(f"{url}/servers/berry/mcp", mode) as (_, at_berry),
            hearing(f"{url}/servers/cherry/mcp", mode) as (_, at_cherry),
            hearing(f"{url}/mcp", mode) as (_, at_all),
        ):
            await store(database, server("berry", "b_find", "b_make", "b_drop", "b_more"))
            await at_berry.wait_for("tools", 1)
            async with open_client(f"{url}/servers/berry/mcp", mode) as client:
                assert len((await client.list_tools()).tools) == 4
            await store(database, server("berry", "one"), server("damson"))  # too few are left
            await at_berry.wait_for("tools", 2)
            async with httpx.AsyncClient(trust_env=False) as http:
                answers = [
                    await http.post(f"{url}/servers/{name}/mcp", json={})
                    for name in ("berry", "damson")
                ]
            assert [a.status_code == 404 for a in answers] == [True, False]
            await store(database, server("cherry", "c_find", "c_make", "c_drop", "c_more"))
            await at_cherry.wait_for("tools", 1)
            await database.write(partial(remove_servers, names=["cherry"]))
            await at_cherry.wait_for("tools", 2)
            async with httpx.AsyncClient(trust_env=False) as http:
                answer = await http.post(f"{url}/servers/cherry/mcp", json={})
            assert answer.status_code == 404
            heard = (at_berry, at_cherry, at_all)
            assert [each.news.count("tools") for each in heard] == [2, 2, 0]
