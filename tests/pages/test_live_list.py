"""The list of episodes as it goes on: what a stream sends, and when it says nothing or ends."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from astra_mcp.serving.http.drain import is_listening
from astra_mcp.serving.pages import live_list
from gateway.api.wire import EpisodeRequest

from shown_gateway import SCRIPT, ShownGateway, make_catalog, open_shown_gateway

HARBOUR = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": "harbour"}})


class Viewer:
    """What came over one stream."""

    def __init__(self) -> None:
        self.status = 0
        self.said: list[bytes] = []
        self.done = anyio.Event()
        self.gone = anyio.Event()
        self._changed = anyio.Event()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["body"]:
            self.said.append(message["body"])
        self._changed.set()

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def hear(self, number: int) -> bytes:
        """Wait for so many events, and give the last of them."""
        with anyio.fail_after(10):
            while len(self.events) < number:
                await self._hear()
        return self.events[number - 1]

    async def hear_of(self, words: str) -> str:
        """Wait for rows that have these words, and give them."""
        with anyio.fail_after(10):
            while not (self.events and words in rows_of(self.events[-1])):
                await self._hear()
        return rows_of(self.events[-1])

    async def hear_heartbeats(self, number: int) -> None:
        """Wait for so many further ones."""
        wanted = self.said.count(b":\n\n") + number
        with anyio.fail_after(10):
            while self.said.count(b":\n\n") < wanted:
                await self._hear()

    async def _hear(self) -> None:
        self._changed = anyio.Event()
        await self._changed.wait()

    @property
    def events(self) -> list[bytes]:
        return [said for said in self.said if said.startswith(b"id: ")]


@asynccontextmanager
async def watching(
    shown: ShownGateway, query: str = "", *, method: str = "GET", **headers: str
) -> AsyncGenerator[Viewer]:
    """Look at the stream while the context is open."""
    viewer = Viewer()
    cookies = "; ".join(f"{name}={value}" for name, value in shown.browser.cookies.items())
    kept = {"host": "127.0.0.1:8420", "cookie": cookies, **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "method": method,
        "scheme": "http",
        "path": "/live/episodes",
        "query_string": query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in kept.items()],
        "server": ("127.0.0.1", 8420),
    }

    async def answer() -> None:
        await shown.app(scope, viewer.receive, viewer.send)
        viewer.done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        yield viewer
        viewer.gone.set()
        with anyio.fail_after(5):
            await viewer.done.wait()
        group.cancel_scope.cancel()


def rows_of(event: bytes) -> str:
    """The rows that an event holds, in its one line of data."""
    name, data, *rest = event.decode().split("\n")
    assert name.startswith("id: ")
    assert rest == ["", ""]
    return orjson.loads(data.removeprefix("data: "))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_list, "_LOOK_SECONDS", 0.001)


@pytest.mark.usefixtures("at_once")
async def test_a_stream_tells_what_is_new_and_nothing_where_nothing_is(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_list, "_HEARTBEAT_SECONDS", 0.0)
    async with (
        open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown,
        watching(shown) as viewer,
        watching(shown, "status=closed") as other,
    ):
        assert "No episode was recorded yet" in rows_of(await viewer.hear(1))
        assert "Nothing fits" in rows_of(await other.hear(1))
        episode = await shown.episodes.create(HARBOUR)
        await viewer.hear_of(f"/episodes/{episode.id}")
        await episode.call("weigh", {"ship": "Alma"})
        rows = await viewer.hear_of(
            'data-name="calls">1</td>\n<td class="number" data-name="reward">1.000</td>'
        )
        assert rows.strip() in await shown.page("/episodes")
        await shown.episodes.close(episode.id)
        await viewer.hear_of('class="badge closed"')
        await other.hear_of(episode.id)
        num_events = len(viewer.events), len(other.events)
        await viewer.hear_heartbeats(5)
        assert (len(viewer.events), len(other.events)) == num_events


@pytest.mark.usefixtures("at_once")
async def test_viewers_are_handed_the_same_bytes_and_are_forgotten(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_list, "_MAX_VIEWERS", 2)
    monkeypatch.setattr(live_list, "_HEARTBEAT_SECONDS", 0.0)
    async with open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown:
        async with watching(shown) as first, watching(shown) as second:
            assert await first.hear(1) is await second.hear(1)
            async with watching(shown) as third:
                pass
            assert third.status == 503
            await first.hear_heartbeats(1)
            seen = first.events[0].split(b"\n")[0].removeprefix(b"id: ").decode()
        async with watching(shown, **{"last-event-id": seen}) as again:
            await again.hear_heartbeats(1)
            assert again.events == []  # it has that
        async with watching(shown, method="HEAD") as looked_at:
            pass
        assert (looked_at.status, looked_at.said) == (200, [])
        async with watching(shown, "status=shut") as wrong:
            pass
        assert (wrong.status, b"there is no status" in wrong.said[0]) == (422, True)


@pytest.mark.usefixtures("at_once")
async def test_a_stream_ends_with_its_session_and_with_a_viewer_who_takes_nothing(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown:
        async with watching(shown) as viewer:
            await viewer.hear(1)
            assert (await shown.send("/logout")).status_code == 303
            with anyio.fail_after(5):
                await viewer.done.wait()
        await shown.log_in(shown.browser)
        monkeypatch.setattr(live_list, "_SEND_SECONDS", 0.01)
        monkeypatch.setattr(Viewer, "send", _takes_nothing)
        async with watching(shown) as stuck:
            with anyio.fail_after(5):
                await stuck.done.wait()


async def _takes_nothing(viewer: Viewer, message: Any) -> None:
    del viewer, message
    await anyio.sleep_forever()


@pytest.mark.usefixtures("at_once")
async def test_what_others_wrote_stays_one_line_of_text(shown: ShownGateway) -> None:
    source = {"kind": "environment", "name": "awful"}
    made = await shown.episodes.create(EpisodeRequest.model_validate({"source": source}))
    async with watching(shown) as viewer:
        rows = rows_of(await viewer.hear(1))
    assert made.id in rows
    assert SCRIPT not in rows


def test_a_gateway_that_stops_waits_for_no_stream_of_a_page() -> None:
    def asked(path: str) -> dict[str, Any]:
        return {"type": "http", "method": "GET", "path": path, "headers": []}

    assert is_listening(asked("/live/episodes"))
    assert not is_listening(asked("/episodes"))
