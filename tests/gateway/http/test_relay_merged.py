"""Prompts and resources of several servers at one endpoint: one list, one way to each."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import MCPError

from astra_mcp.types import JsonObject, JsonValue
from gateway.agents.merged import MergedServers

from relayed_servers import LEGACY, Desk, open_desks, open_relay_gateway, text_of, ways


async def all_pages(ask: Any, member: str) -> list[list[Any]]:
    """Walk a list to its end."""
    pages: list[list[Any]] = []
    cursor = None
    while True:
        page = await ask(cursor=cursor)
        pages.append(list(getattr(page, member)))
        cursor = page.next_cursor
        if cursor is None:
            return pages
        assert len(pages) < 50


@ways
async def test_all_prompts_are_listed_under_their_servers_names_and_reached(
    tmp_path: Path, mode: str
) -> None:
    desks = [Desk("apple", pages=2), Desk("berry", speaks="handshake"), Desk("berry__x")]
    async with open_desks(tmp_path, mode, *desks) as client:
        pages = await all_pages(client.list_prompts, "prompts")
        shown = [p.name for page in pages for p in page]
        assert shown[:3] == ["apple__greet", "apple__greet1", "berry__greet"]
        assert len(set(shown)) == 4
        for name, whose in zip(shown, ("apple", "apple", "berry", "berry__x"), strict=True):
            found = await client.get_prompt(name, {"whom": "Bo"})
            assert text_of(found) == f"{whose} greets Bo"
        ref = types.PromptReference(type="ref/prompt", name="berry__greet")
        completed = await client.complete(ref, {"name": "whom", "value": ""})
        assert completed.completion.values == ["berry greet"]
        for name, said in (
            ("apple__nothing", "unknown prompt nothing"),
            ("nobody__greet", "no prompt is named"),
        ):
            with pytest.raises(MCPError, match=said) as raised:
                await client.get_prompt(name)
            assert raised.value.code == types.INVALID_PARAMS


@ways
async def test_a_resource_is_read_from_the_server_that_lists_it_or_has_its_template(
    tmp_path: Path, mode: str
) -> None:
    desks = [Desk("apple", pages=2), Desk("berry", speaks="modern")]
    async with open_desks(tmp_path, mode, *desks) as client:
        pages = await all_pages(client.list_resources, "resources")
        uris = [r.uri for page in pages for r in page]
        assert uris[:3] == ["apple://page/0", "shared://one", "apple://page/1"]
        assert "berry://page/0" in uris
        templates = await all_pages(client.list_resource_templates, "resource_templates")
        assert [t.uri_template for page in templates for t in page] == [
            "apple://item/{id}",
            "berry://item/{id}",
        ]
        for uri, whose in (
            ("berry://page/0", "berry"),
            ("apple://page/1", "apple"),
            ("berry://item/9", "berry"),
            ("shared://one", "apple"),  # both list it: the first in their order has it
        ):
            read = await client.read_resource(uri)
            assert text_of(read) == f"{whose} read {uri}"
        with pytest.raises(MCPError, match="not found") as raised:
            await client.read_resource("nobody://has/this")
        code = -32002 if mode == LEGACY else types.INVALID_PARAMS
        assert (raised.value.code, raised.value.data) == (code, {"uri": "nobody://has/this"})
        ref = types.ResourceTemplateReference(type="ref/resource", uri="berry://item/{id}")
        completed = await client.complete(ref, {"name": "id", "value": ""})
        assert completed.completion.values == ["berry berry://item/{id}"]


@ways
async def test_a_cursor_of_nobody_is_refused(tmp_path: Path, mode: str) -> None:
    async with open_desks(tmp_path, mode, Desk("apple"), Desk("berry")) as client:
        for cursor in ("nonsense", "WyJnb25lIiwgbnVsbF0="):
            with pytest.raises(MCPError, match="cursor") as raised:
                await client.list_prompts(cursor=cursor)
            assert raised.value.code == types.INVALID_PARAMS


@ways
async def test_a_server_that_fails_is_left_out_of_the_merged_lists(
    tmp_path: Path, mode: str
) -> None:
    class Broken(Desk):
        async def _list_prompts(self, ctx: Any, params: Any) -> Any:
            raise MCPError(types.INTERNAL_ERROR, "out of order")

    async with open_desks(tmp_path, mode, Broken("apple"), Desk("berry")) as client:
        assert [p.name for p in (await client.list_prompts()).prompts] == ["berry__greet"]


@ways
async def test_an_episode_shows_bare_names_of_one_server_and_qualified_ones_of_two(
    tmp_path: Path, mode: str
) -> None:
    async with open_relay_gateway(tmp_path, Desk("apple"), Desk("berry")) as gateway:
        for names, prompts in (
            (["apple"], ["greet"]),
            (["apple", "berry"], ["apple__greet", "berry__greet"]),
        ):
            created = await gateway.open_episode(*names)
            async with gateway.client(created.mcp_url, mode) as client:
                assert [p.name for p in (await client.list_prompts()).prompts] == prompts
                await client.get_prompt(prompts[-1])
                read = await client.read_resource(f"{names[-1]}://item/1")
                assert text_of(read) == f"{names[-1]} read {names[-1]}://item/1"


async def test_an_entry_without_a_name_is_left_out_and_spoils_no_other() -> None:
    rows: dict[str, list[JsonValue]] = {
        "bad": [{"uri": {}, "name": "a"}, {"name": "b"}, "c"],
        "good": [{"uri": "x://y", "name": "d"}],
    }

    async def ask(server: str, method: str, params: JsonObject) -> JsonObject:
        return {"resources": rows[server]} if method == "resources/list" else {}

    merged = MergedServers({"resources": ["bad", "good"]}, ask)
    page = await merged.page("resources/list", None)
    assert page == {"resources": rows["good"]}
    assert await merged.resource("x://y") == "good"
