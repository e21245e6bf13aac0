"""Episodes of servers that are not ours: started late, failing, asking back, and never sent a call twice."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import (
    EpisodeEndedError,
    GatewayError,
    NotAvailableError,
    RelayedError,
    UpstreamError,
)
from astra_mcp.mcp.request_context import SILENT, Exchange, Hear
from astra_mcp.testing import InMemoryCatalog
from astra_mcp.types import (
    CallOutcome,
    JsonObject,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from gateway.api.wire import EpisodeRequest
from gateway.edge.placement import owner_of
from gateway.episodes.archive import find_record, replay_record, tell_record
from gateway.episodes.beginning import INTERACTIVE_LIMITS
from gateway.episodes.live import Episodes, open_episodes
from gateway.episodes.record import record_path

SECRET = b"0" * 32
ASKS: JsonObject = {"inputRequests": {"a": {"method": "roots/list"}}, "requestState": "s"}


@dataclass
class Ferry:
    """A deployed server that nobody knows before it is prepared; also each of its sessions."""

    name: str = "ferry"
    kind: ServerKind = ServerKind.DEPLOYED
    version: str = "v1"
    warnings: tuple[str, ...] = ()
    relays: bool = True
    capabilities: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    instructions: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    fault: str = ""
    """Why it cannot be started."""
    may_start: anyio.Event | None = None
    """It starts only once this is set."""
    executed: list[str] = field(default_factory=list[str])
    heard: list[Hear] = field(default_factory=list[Hear])
    ends: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def note_end(self, key: str, status: str) -> None:
        """Keep it."""
        self.ends.append((key, status))

    @property
    def status(self) -> tuple[ServerStatus, str]:
        """Ready once it was prepared."""
        return (ServerStatus.READY if self.tools else ServerStatus.UNKNOWN), self.fault

    async def prepare(self) -> None:
        """List two tools, or fail."""
        if self.may_start is not None:
            await self.may_start.wait()
        if self.fault:
            raise UpstreamError(self.fault)
        if not self.tools:
            self.version += " with tools"
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        self.tools = tuple(ToolSpec(name=n, input_schema=schema) for n in ("cross", "ask"))

    def open_session(self, *, key: str, seed: int, past: Sequence[PastCall] = ()) -> "Ferry":
        """One session serves all."""
        del key, seed, past
        return self

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Cross, ask the client, or sink."""
        self.executed.append(tool)
        if arguments.get("do") == "sink":
            raise UpstreamError("upstream ferry closed (exit status -9): bilge")
        if arguments.get("do") == "sink silently":
            raise UpstreamError
        result = ToolResult.from_text("crossed")
        if arguments.get("do") == "turn round":
            return UpstreamReply(
                result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED, resent=2
            )
        if tool == "ask" and not exchange.params:
            result = ToolResult(content=(), asks=ASKS, meta={"dev.example/n": 1})
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def request(self, method: str, params: JsonObject, exchange: Exchange) -> JsonObject:
        """Answer the method; some fail."""
        del exchange
        if params.get("do") == "sink":
            raise UpstreamError("upstream ferry closed")
        if params.get("do") == "refuse":
            raise RelayedError(-32002, "no such quay")
        return {"method": method}

    def watch(self, hear: Hear) -> None:
        """Remember who hears."""
        self.heard.append(hear)

    async def aclose(self) -> None:
        """Nothing is held."""


def a_request(*names: str) -> EpisodeRequest:
    source = {"kind": "servers", "names": names or ("ferry",)}
    return EpisodeRequest.model_validate({"source": source})


async def test_an_episode_lists_the_tools_of_a_server_that_was_not_known(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        episode = await episodes.create(a_request())
        assert [t.name for t in episode.tools] == ["cross", "ask"]


async def test_a_server_is_told_once_of_each_end_and_by_its_own_key(home: Path) -> None:
    ferries = (Ferry(), Ferry("tug"))
    harbour = InMemoryCatalog(*ferries)
    async with open_episodes(harbour, home, secret=SECRET) as episodes:
        first, second = [await episodes.create(a_request("ferry", "tug")) for _ in "ab"]
        keys = [episodes.upstream_keys(episode) for episode in (first, second)]
        await second.call("ferry__cross", {"do": "sink"})
        for _ in "twice":
            await episodes.close(first.id)
            await episodes.close(second.id)
        await anyio.wait_all_tasks_blocked()
    async with open_episodes(harbour, home, secret=SECRET) as episodes:
        assert not (await episodes.get(first.id)).is_open
        await anyio.wait_all_tasks_blocked()

    for ferry in ferries:
        assert ferry.ends == [(keys[1][ferry.name], "failed"), (keys[0][ferry.name], "closed")]


async def test_nothing_is_swept_while_there_is_no_episode(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.episodes.live._SWEEP_SECONDS", 0.0)
    swept = anyio.Event()

    async def sweep(episodes: Episodes) -> None:
        assert episodes.count_open(), "a gateway without episodes must sleep"
        swept.set()
        await anyio.sleep_forever()

    monkeypatch.setattr(Episodes, "sweep", sweep)
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        await anyio.wait_all_tasks_blocked()
        assert not swept.is_set()
        await episodes.create(a_request())
        with anyio.fail_after(5):
            await swept.wait()


async def test_a_server_that_does_not_start_leaves_no_episode_behind(home: Path) -> None:
    harbour = InMemoryCatalog(Ferry(), Ferry("tug", fault="tug: no such program"))
    async with open_episodes(harbour, home, secret=SECRET) as episodes:
        with pytest.raises(UpstreamError, match="no such program"):
            await episodes.create(a_request("ferry", "tug"))
        assert episodes.count_open() == 0
    assert list((home / "records").iterdir()) == []


async def test_a_failed_call_says_why_and_that_the_run_is_over(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        episode = await episodes.create(a_request())
        result = await episode.call("cross", {"do": "sink"})
        assert result.is_error
        assert result.text == (
            "upstream ferry closed (exit status -9): bilge. "
            "This run has ended; further calls are not possible."
        )
        state = episode.state()
        assert state.status is EpisodeStatus.FAILED
        assert state.failure is not None
        assert state.failure.boundary is Origin.UPSTREAM
        assert state.failure.message == "upstream ferry closed (exit status -9): bilge"


async def test_a_record_says_how_often_a_call_was_sent_again(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        episode = await episodes.create(a_request())
        for arguments in ({"do": "turn round"}, {}):
            assert (await episode.call("cross", arguments)).text == "crossed"
        shown = tell_record(*await episodes.recorded(episode.id)).model_dump(mode="json")["calls"]
        assert [call.get("resent") for call in shown] == [2, None]
        assert episode.state().status is EpisodeStatus.OPEN


async def test_a_failed_call_of_a_person_says_why_and_the_next_one_begins_anew(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        state = await episodes.interactive("ferry", "ann", ["ferry"])
        result = await state.call("cross", {"do": "sink"})
        assert result.text == "upstream ferry closed (exit status -9): bilge"
        following = await episodes.interactive("ferry", "ann", ["ferry"])
        assert following is not state
        assert (await following.call("cross", {})).text == "crossed"


async def test_a_failure_without_words_is_never_an_empty_text(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        state = await episodes.interactive("ferry", "ann", ["ferry"])
        assert (await state.call("cross", {"do": "sink silently"})).text == "UpstreamError"


async def lose_the_last_answer(harbour: InMemoryCatalog, home: Path, endpoint: str | None) -> str:
    """Play one call and forget its last line, as if the gateway had died; answers the episode."""
    async with open_episodes(harbour, home, secret=SECRET) as first:
        if endpoint is None:
            episode = await first.create(a_request())
        else:
            episode = await first.interactive(endpoint, "ann", ["ferry"])
        await episode.call("cross", {}, call_id="a")
    path = record_path(home / "records", episode.id)
    lines = path.read_bytes().splitlines(keepends=True)
    assert b"call_finished" in lines[-1]
    path.write_bytes(b"".join(lines[:-1]))
    return episode.id


async def test_a_call_that_was_sent_in_an_earlier_life_is_never_sent_again(home: Path) -> None:
    ferry = Ferry()
    name = await lose_the_last_answer(InMemoryCatalog(ferry), home, None)
    async with open_episodes(InMemoryCatalog(ferry), home, secret=SECRET) as second:
        restored = await second.get(name)
        for _ in range(2):
            result = await restored.call("cross", {}, call_id="a")
            assert result.is_error
            assert result.text.startswith("delivery unknown: ")
        state = restored.state()
        assert state.status is EpisodeStatus.FAILED
        assert state.failure is not None
        assert (state.failure.boundary, state.reward) == (Origin.UPSTREAM, None)
    assert ferry.executed == ["cross"]


async def test_a_person_who_retries_such_a_call_is_not_served_by_the_next_state(home: Path) -> None:
    ferry = Ferry()
    await lose_the_last_answer(InMemoryCatalog(ferry), home, "ferry")
    async with open_episodes(InMemoryCatalog(ferry), home, secret=SECRET) as second:
        for _ in range(2):
            state = await second.interactive("ferry", "ann", ["ferry"], call_id="a")
            result = await state.call("cross", {}, call_id="a")
            assert result.text.startswith("delivery unknown: ")
        assert ferry.executed == ["cross"]
        other = await second.interactive("ferry", "ann", ["ferry"], call_id="b")
        assert (await other.call("cross", {}, call_id="b")).text == "crossed"


async def test_a_question_is_recorded_and_counts_once_it_is_answered(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as first:
        episode = await first.create(a_request())
        asked = await episode.call("ask", {}, call_id="a")
        assert (asked.asks, asked.meta) == (ASKS, {"dev.example/n": 1})
        assert episode.state().calls == 0
        answers = Exchange(params={"inputResponses": {}, "requestState": "s"})
        assert (await episode.call("ask", {}, call_id="b", exchange=answers)).text == "crossed"
        assert episode.state().calls == 1
        assert await episode.call("ask", {}, call_id="a") == asked
    assert find_record(home, episode.id).agent_calls == 1


async def test_other_requests_reach_the_server_and_keep_the_episode_from_expiring(
    home: Path,
) -> None:
    time = [0.0]
    limits = {"limits": {"idle_seconds": 10}, "source": {"kind": "servers", "names": ["ferry"]}}
    async with open_episodes(
        InMemoryCatalog(Ferry()), home, secret=SECRET, now=lambda: time[0]
    ) as episodes:
        episode = await episodes.create(EpisodeRequest.model_validate(limits))
        for time[0] in (8.0, 16.0, 24.0):
            assert await episode.relay("ferry", "resources/list", {}, SILENT) == {
                "method": "resources/list"
            }
        time[0] = 40.0
        with pytest.raises(EpisodeEndedError):
            await episode.relay("ferry", "resources/list", {}, SILENT)
        assert episode.state().calls == 0


async def test_a_server_that_dies_of_another_request_ends_a_persons_state(home: Path) -> None:
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        state = await episodes.interactive("ferry", "ann", ["ferry"])
        with pytest.raises(RelayedError, match="no such quay"):
            await state.relay("ferry", "resources/read", {"do": "refuse"}, SILENT)
        assert state.is_open
        with pytest.raises(UpstreamError, match="closed"):
            await state.relay("ferry", "resources/read", {"do": "sink"}, SILENT)
        assert await episodes.interactive("ferry", "ann", ["ferry"]) is not state


async def test_a_server_with_tools_and_nothing_else_relays_nothing(home: Path) -> None:
    ferry = Ferry(relays=False)
    async with open_episodes(InMemoryCatalog(ferry), home, secret=SECRET) as episodes:
        episode = await episodes.create(a_request())
        with pytest.raises(NotAvailableError):
            await episode.relay("ferry", "resources/list", {}, SILENT)
        ferry.relays = True
        episode.watch("ferry", lambda method, params: None)
        assert len(ferry.heard) == 1


async def test_one_server_that_does_not_start_keeps_no_other_from_being_shown(home: Path) -> None:
    harbour = InMemoryCatalog(Ferry(), Ferry("tug", fault="tug: no such program"))
    async with open_episodes(harbour, home, secret=SECRET) as episodes:
        known = await episodes.prepared(harbour.upstreams(), of_all=True)
        assert [u.name for u in known] == ["ferry"]
        state = await episodes.interactive("*", "ann", ["ferry", "tug"])
        assert [t.name for t in state.tools] == ["ferry__cross", "ferry__ask"]
        with pytest.raises(UpstreamError, match="no such program"):
            await episodes.prepared([harbour.upstream("tug")], of_all=False)


async def test_a_server_that_starts_late_is_shown_once_it_is_known(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.episodes.warm_up.PATIENCE_SECONDS", 0.0)
    tug = Ferry("tug", may_start=anyio.Event())
    async with open_episodes(InMemoryCatalog(Ferry(), tug), home, secret=SECRET) as episodes:
        await anyio.wait_all_tasks_blocked()
        await episodes.prepared([tug], of_all=True)
        await anyio.wait_all_tasks_blocked()
        state = await episodes.interactive("*", "ann", ["ferry", "tug"])
        assert [t.name for t in state.tools] == ["ferry__cross", "ferry__ask"]
        assert await episodes.interactive("*", "ann", ["ferry", "tug"]) is state
        assert tug.may_start is not None
        tug.may_start.set()
        await anyio.wait_all_tasks_blocked()
        full = await episodes.interactive("*", "ann", ["ferry", "tug"])
        assert len(full.tools) == 4


async def test_a_deployed_server_that_was_called_is_not_parked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.episodes.live._PARK_SECONDS", -1.0)
    async with open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET) as episodes:
        called, fresh = [await episodes.create(a_request()) for _ in range(2)]
        await called.call("cross", {})
        await episodes.sweep()
        assert episodes.find_live(called.id) is called
        assert episodes.find_live(fresh.id) is None


async def test_a_worker_makes_and_finds_its_own_episodes_alone(home: Path) -> None:
    async def open_worker(worker: int) -> Episodes:
        return await stack.enter_async_context(
            open_episodes(InMemoryCatalog(Ferry()), home, secret=SECRET, worker=worker, workers=2)
        )

    async with AsyncExitStack() as stack:
        first, second = await open_worker(0), await open_worker(1)
        made = [await second.create(a_request()) for _ in range(5)]
        assert {owner_of(e.id, 2) for e in made} == {1}
        with pytest.raises(LookupError):
            await first.get(made[0].id)
        person = await first.interactive("ferry", "ann", ["ferry"])
        await first.release_all()
        assert (await first.get(person.id)).id == person.id
        with pytest.raises(LookupError):
            await second.get(person.id)


def test_a_persons_call_may_take_ten_minutes() -> None:
    assert INTERACTIVE_LIMITS.call_seconds == 600


async def test_a_replay_calls_no_deployed_server(home: Path) -> None:
    ferry = Ferry()
    harbour = InMemoryCatalog(ferry)
    async with open_episodes(harbour, home, secret=SECRET) as episodes:
        episode = await episodes.create(a_request())
        await episode.call("cross", {})
    with pytest.raises(GatewayError, match="'ferry' is a deployed server: a replay would make"):
        await replay_record(find_record(home, episode.id), harbour)
    assert ferry.executed == ["cross"]
