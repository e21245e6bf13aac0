"""Servers that are slow to start, with a scripted peer: the first question stands until it is answered."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio
import pytest
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION

from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Channel, Era
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.card import Card
from servers.deployed.connecting import Connector, Opening, Route
from servers.deployed.peer import ignore
from servers.deployed.transports.pending import Peer

SECONDS = 0.15
OPENING = Opening(era=Era.MODERN, capabilities={}, hear=ignore, key=None, is_shared=False)


class _SlowPeer(Peer):
    """Answers nothing before it has been asked in both eras; its era is that of the first question."""

    def __init__(self, era: Era | None, *, refuses: bool = False) -> None:
        super().__init__(anyio.create_task_group(), name="raw", hear=ignore, is_shared=False)
        self._era = era
        """None for one that speaks neither."""
        self._refuses = refuses
        """It says so when it is asked to initialize."""
        self._is_up = anyio.Event()
        self.asked: list[str] = []
        self.is_closed = False

    @property
    def keeps_state(self) -> bool:
        return True

    async def request(
        self,
        method: str,
        params: JsonObject,
        channel: Channel | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        del params, channel, headers
        self.asked.append(method)
        if method == "initialize":
            self._is_up.set()
        await self._is_up.wait()
        if self._era is Era.MODERN and method == "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {}}
        if self._era is Era.HANDSHAKE and method == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {}}
        if self._era is Era.MODERN or (self._refuses and method == "initialize"):
            raise RelayedError(UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version")
        await anyio.sleep_forever()  # as old servers do with what they do not know
        raise AssertionError

    async def notify(self, method: str, params: Mapping[str, JsonValue] | None = None) -> None:
        self.asked.append(method)

    def agree(self, version: str, *, expects_messages: bool) -> None:
        pass

    async def _post(self, message: JsonObject) -> None:
        pass

    async def aclose(self) -> None:
        self.is_closed = True


@dataclass(frozen=True, kw_only=True)
class _OneRoute(Route):
    """Leads to one peer, once: a server that is asked a second time from the start is slow again."""

    peers: list[Peer]

    async def make(self, opening: Opening, card: Card) -> Peer:
        del opening, card
        return self.peers.pop()


def _connector(peer: _SlowPeer, learned: list[Card], remedy: str = "") -> Connector:
    route = _OneRoute(name="raw", tasks=anyio.create_task_group(), peers=[peer])
    return Connector(route, SECONDS, name="raw", learn=learned.append, remedy=remedy)


@pytest.mark.parametrize("era", list(Era))
async def test_a_slow_server_is_spoken_to_in_the_era_that_it_answers_first(era: Era) -> None:
    peer, learned = _SlowPeer(era), list[Card]()
    connection = await _connector(peer, learned).open(OPENING, Card())
    assert connection.era is era
    assert peer.asked[:2] == ["server/discover", "initialize"]
    assert not peer.is_closed
    missing = {e for e, facts in learned[-1].eras.items() if facts is None}
    assert missing == ({Era.MODERN} if era is Era.HANDSHAKE else set())


async def test_a_refusal_is_not_lost_in_waiting_for_an_answer_that_never_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("servers.deployed.connecting.GRACE_SECONDS", 0.01)
    with pytest.raises(UpstreamError, match="refuses to initialize: unsupported protocol version"):
        await _connector(_SlowPeer(None, refuses=True), []).open(OPENING, Card())


async def test_a_server_that_never_answers_is_given_up_with_the_setting_that_says_when() -> None:
    peer = _SlowPeer(None)
    connector = _connector(peer, [], " (raise timeout_seconds of its entry)")
    words = r"within 0\.15 s \(raise timeout_seconds of its entry\)$"
    with pytest.raises(UpstreamError, match=words):
        await connector.open(OPENING, Card())
    assert peer.is_closed
