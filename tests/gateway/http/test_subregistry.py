"""``/v0.1/servers`` over a real socket: the list of servers in the official registry's format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from astra_mcp.errors import RegistryError
from astra_mcp.types import JsonObject
from gateway.control.subregistry import OFFICIAL_META

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
API_KEY = "a key of the interactive endpoints"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A line of the fake directory."""

    name: str
    version: str = "1.0.0"
    published_at: datetime = NEW_YEAR
    updated_at: datetime = NEW_YEAR
    is_crawled: bool = False
    served_as: str | None = None
    further: JsonObject = field(default_factory=dict[str, Any])

    @property
    def key(self) -> str:
        return f"{self.name} {self.version}"


class FakeDirectory:
    """A directory in memory."""

    def __init__(self, *listed: Listed) -> None:
        self.listed: tuple[Listed, ...] = listed
        self.gone: set[str] = set()

    def listing(self) -> Sequence[Listed]:
        return self.listed

    async def documents(self, keys: Sequence[str]) -> Mapping[str, JsonObject]:
        return {
            s.key: {"name": s.name, "description": "A server", "version": s.version, **s.further}
            for s in self.listed
            if s.key in keys and s.key not in self.gone
        }


PATH = "/v0.1/servers"


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [f"{e['server']['name']} {e['server']['version']}" for e in answer.json()["servers"]]


async def test_a_server_is_listed_with_its_document_and_what_the_registry_says_of_it(
    open_gateway: Any,
) -> None:
    later = NEW_YEAR + timedelta(days=1, milliseconds=5)
    directory = FakeDirectory(Listed(name="dev.example/tides", updated_at=later))
    async with open_gateway(directories=[directory]) as gateway:
        answer = await gateway.stranger.get(PATH)
    server = {"name": "dev.example/tides", "description": "A server", "version": "1.0.0"}
    official = {
        "status": "active",
        "publishedAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-02T00:00:00.005000Z",
        "isLatest": True,
    }
    entry = {"server": server, "_meta": {OFFICIAL_META: official}}
    assert answer.json() == {"servers": [entry], "metadata": {"count": 1}}


async def test_only_a_server_of_the_catalog_gets_this_gateways_address(open_gateway: Any) -> None:
    elsewhere: JsonObject = {"type": "sse", "url": "https://tides.example/sse"}
    directory = FakeDirectory(
        Listed(name="dev.example/coins", served_as="coins", further={"remotes": [elsewhere]}),
        Listed(name="dev.example/other", further={"remotes": [elsewhere]}),
        Listed(name="dev.example/retired", served_as="retired"),
    )
    async with open_gateway(directories=[directory]) as gateway:
        answer = await gateway.stranger.get(PATH)
        here = {"type": "streamable-http", "url": f"{gateway.url}/servers/coins/mcp"}
    coins, other, retired = (entry["server"] for entry in answer.json()["servers"])
    assert coins["remotes"] == [here, elsewhere]
    assert other["remotes"] == [elsewhere]
    assert "remotes" not in retired


async def test_the_list_asks_for_the_key_of_the_interactive_endpoints_and_says_so(
    open_gateway: Any,
) -> None:
    directory = FakeDirectory(Listed(name="dev.example/coins", served_as="coins"))
    async with open_gateway(directories=[directory], api_keys=[API_KEY]) as gateway:
        assert (await gateway.stranger.get(PATH)).status_code == 401
        headers = {"Authorization": f"Bearer {API_KEY}"}
        answer = await gateway.stranger.get(PATH, headers=headers)
        [entry] = answer.json()["servers"]
        [header] = entry["server"]["remotes"][0]["headers"]
    expected = {"name": "Authorization", "isSecret": True, "isRequired": True}
    assert expected.items() <= header.items()
    assert API_KEY not in answer.text


async def test_pages_follow_one_another_without_gap_or_repetition(open_gateway: Any) -> None:
    directory = FakeDirectory(*(Listed(name=f"dev.example/s{n:02}") for n in reversed(range(25))))
    seen: list[str] = []
    async with open_gateway(directories=[directory]) as gateway:
        cursor: str | None = ""
        while cursor is not None:
            query = {"limit": 10, "cursor": cursor}
            answer = await gateway.stranger.get(PATH, params=query)
            seen += names(answer)
            assert answer.json()["metadata"]["count"] <= 10
            cursor = answer.json()["metadata"].get("nextCursor")
    assert seen == [f"dev.example/s{n:02} 1.0.0" for n in range(25)]


async def test_a_page_goes_on_where_its_last_server_has_gone_meanwhile(open_gateway: Any) -> None:
    directory = FakeDirectory(*(Listed(name=f"dev.example/s{n}") for n in range(4)))
    async with open_gateway(directories=[directory]) as gateway:
        first = await gateway.stranger.get(PATH, params={"limit": 2})
        directory.listed = (directory.listed[0], *directory.listed[2:])
        cursor = first.json()["metadata"]["nextCursor"]
        rest = await gateway.stranger.get(PATH, params={"cursor": cursor})
    assert names(rest) == ["dev.example/s2 1.0.0", "dev.example/s3 1.0.0"]


async def test_the_list_is_narrowed_as_in_the_official_registry(open_gateway: Any) -> None:
    day = timedelta(days=1)
    directory = FakeDirectory(
        Listed(name="dev.example/tides", version="1.9.0"),
        Listed(name="dev.example/tides", version="1.10.0", updated_at=NEW_YEAR + day),
        Listed(name="dev.example/Moon", version="2"),
        Listed(name="dev.example/page", is_crawled=True),
    )
    async with open_gateway(directories=[directory]) as gateway:

        async def ask(**query: Any) -> list[str]:
            return names(await gateway.stranger.get(PATH, params=query))

        tides = ["dev.example/tides 1.10.0", "dev.example/tides 1.9.0"]
        assert await ask() == ["dev.example/Moon 2", *tides]
        assert await ask(search="TIDE") == tides
        assert await ask(version="latest") == ["dev.example/Moon 2", tides[0]]
        assert await ask(version="1.9.0") == tides[1:]
        assert await ask(updated_since="2026-01-01T12:00:00Z") == tides[:1]
        assert await ask(crawled="true", search="page") == ["dev.example/page 1.0.0"]


async def test_a_version_is_found_by_the_encoded_names_of_its_server_and_itself(
    open_gateway: Any,
) -> None:
    odd = Listed(name="dev.example/tides", version="1.0.0+a/b")
    encoded = quote("dev.example/tides", safe="")
    async with open_gateway(directories=[FakeDirectory(odd)]) as gateway:
        for version in (quote(odd.version, safe=""), "latest"):
            answer = await gateway.stranger.get(f"{PATH}/{encoded}/versions/{version}")
            assert answer.json()["server"]["version"] == odd.version


async def test_versions_stand_by_the_order_of_semantic_versioning_the_latest_first(
    open_gateway: Any,
) -> None:
    ascending = ["spring", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"]
    ascending += ["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.9.0", "1.10.0"]
    shuffled = (*ascending[::2], *ascending[1::2])
    directory = FakeDirectory(*(Listed(name="dev.example/tides", version=v) for v in shuffled))
    async with open_gateway(directories=[directory]) as gateway:
        page = await gateway.stranger.get("/v0.1/servers/dev.example%2Ftides/versions")
    listed = [entry["server"]["version"] for entry in page.json()["servers"]]
    latest = [entry["_meta"][OFFICIAL_META]["isLatest"] for entry in page.json()["servers"]]
    assert listed == ascending[::-1]
    assert latest == [True] + [False] * (len(ascending) - 1)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("dev.example%2Fnone/versions", "Server not found"),
        ("dev.example%2Fnone/versions/latest", "Server not found"),
        ("dev.example%2Ftides/versions/9", "Server version not found"),
        ("%0Aa/b/versions/%0Ac", "Server not found"),
    ],
)
async def test_what_is_not_listed_answers_404_in_the_official_form(
    open_gateway: Any, path: str, said: str
) -> None:
    directory = FakeDirectory(Listed(name="dev.example/tides"))
    async with open_gateway(directories=[directory]) as gateway:
        answer = await gateway.stranger.get(f"{PATH}/{path}")
    assert (answer.status_code, answer.json()) == (404, {"error": said})


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"cursor": "nonsense"}, 400),
        ({"limit": 0}, 422),
        ({"limit": 101}, 422),
        ({"updated_since": "yesterday"}, 422),
        ({"updated_since": "2026-01-01T00:00:00"}, 422),
        ({"updated_since": "0"}, 422),
    ],
)
async def test_a_wrong_parameter_is_refused(
    gateway: Any, query: dict[str, Any], status: int
) -> None:
    answer = await gateway.stranger.get(PATH, params=query)
    assert answer.status_code == status
    assert answer.json()["error"]


async def test_a_client_that_has_the_newest_list_is_told_so_until_it_changes(
    open_gateway: Any,
) -> None:
    directory = FakeDirectory(Listed(name="dev.example/tides"))
    async with open_gateway(directories=[directory]) as gateway:
        first = await gateway.stranger.get(PATH)
        known = {"If-None-Match": first.headers["etag"]}
        again = await gateway.stranger.get(PATH, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        directory.listed = (replace(directory.listed[0], version="1.1.0"),)
        changed = await gateway.stranger.get(PATH, headers=known)
    assert names(changed) == ["dev.example/tides 1.1.0"]


async def test_the_members_of_a_document_keep_their_order(open_gateway: Any) -> None:
    schema: JsonObject = {"properties": {"z": {}, "a": {}}}
    directory = FakeDirectory(Listed(name="dev.example/tides", further={"_meta": schema}))
    async with open_gateway(directories=[directory]) as gateway:
        [entry] = (await gateway.stranger.get(PATH)).json()["servers"]
    assert list(entry["server"]["_meta"]["properties"]) == ["z", "a"]


async def test_a_server_that_vanishes_while_it_is_read_is_left_out(open_gateway: Any) -> None:
    directory = FakeDirectory(Listed(name="dev.example/tides"), Listed(name="dev.example/winds"))
    directory.gone.add("dev.example/tides 1.0.0")
    async with open_gateway(directories=[directory]) as gateway:
        assert names(await gateway.stranger.get(PATH)) == ["dev.example/winds 1.0.0"]


class SilentDirectory(FakeDirectory):
    """Its documents cannot be read."""

    async def documents(self, keys: Sequence[str]) -> Mapping[str, JsonObject]:
        raise RegistryError("the registry tools at db.internal: gone")


async def test_a_registry_that_does_not_answer_is_said_to_without_saying_where_it_is(
    open_gateway: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_gateway(directories=[SilentDirectory(Listed(name="dev.example/tides"))]) as it:
        answer = await it.stranger.get(PATH)
        assert (await it.stranger.get("/healthz")).status_code == 200
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "registry_unreachable"
    assert "db.internal" not in answer.text
    assert "db.internal" in caplog.text


async def test_where_two_directories_list_a_version_the_first_one_counts(open_gateway: Any) -> None:
    mine = FakeDirectory(Listed(name="dev.example/coins", served_as="coins"))
    theirs = FakeDirectory(
        Listed(name="dev.example/coins"), Listed(name="dev.example/coins", version="2.0.0")
    )
    async with open_gateway(directories=[mine, theirs]) as gateway:
        answer = await gateway.stranger.get(PATH)
    assert names(answer) == ["dev.example/coins 1.0.0", "dev.example/coins 2.0.0"]
    assert ["remotes" in e["server"] for e in answer.json()["servers"]] == [True, False]
