"""From proposals to walks: a server goes on when all of its proposals are known, and is then whole."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline import (
    Given,
    ItemStatus,
    NotBegun,
    Outcome,
    Progress,
    Settled,
    StoredItem,
)
from astra_mcp.synthesis.trajectories.chains.gathering import ProposalGathering
from astra_mcp.synthesis.trajectories.server import ServerItem

SERVERS = ["s0", "s1", "s2"]
CHAINS = ["ab", "bc", "abx", "cdab"]
"""What is proposed of each server; the third is refused."""
ACCEPTED = [["a", "b"], ["b", "c"], ["c", "d", "a", "b"]]


def settled(
    stage: str, item: str, outputs: Sequence[StoredItem] = (), *, is_recalled: bool = False
) -> Settled:
    status = ItemStatus.FINISHED if outputs else ItemStatus.REJECTED
    outcome = Outcome(item=item, input_hash="h", status=status, outputs=tuple(outputs))
    return Settled(stage, outcome, Usage(), is_recalled=is_recalled)


def failed(stage: str, item: str) -> Settled:
    outcome = Outcome(item=item, input_hash="h", status=ItemStatus.FAILED, reason="model")
    return Settled(stage, outcome, Usage(), is_recalled=False)


def proposed(server: str, **more: Any) -> Settled:
    outputs = [
        StoredItem(id=f"{server}/{n}", value={"tools": [*tools]})
        for n, tools in enumerate(CHAINS, 1)
    ]
    return settled("propose", server, outputs, **more)


def judged(server: str, number: int, **more: Any) -> Settled:
    tools = CHAINS[number - 1]
    item = StoredItem(id=f"{server}/{number}", value={"tools": [*tools]})
    return settled("proposal", item.id, [] if "x" in tools else [item], **more)


class Gathering:
    """A gathering with what came of it."""

    def __init__(self, window: int = len(SERVERS)) -> None:
        self.dropped: list[str] = []
        self.told: list[Progress] = []
        self.of_servers = ProposalGathering(window=window, drop=self.dropped.append)
        self.giving = self.of_servers.take(self._items())

    async def _items(self) -> AsyncGenerator[StoredItem]:
        for name in SERVERS:
            value = ServerItem(name=name, version=f"v-{name}").model_dump(mode="json")
            yield StoredItem(id=name, value=value)

    async def give(self, num: int = len(SERVERS)) -> None:
        """Have the first pipeline take servers."""
        for _ in range(num):
            await anext(self.giving)

    def hear(self, *events: Progress) -> None:
        for event in events:
            self.told += self.of_servers.hear(event)

    async def end(self) -> dict[str, Any]:
        """End the first pipeline; the chains that go on, by server."""
        self.of_servers.end()
        return {item.id: item.value["chains"] async for item in self.of_servers.gathered()}


async def whole(events: Iterable[Progress]) -> tuple[Gathering, dict[str, Any]]:
    """All servers given, all events heard, and what goes on then."""
    gathering = Gathering()
    await gathering.give()
    gathering.hear(*map(proposed, SERVERS), *events)
    return gathering, await gathering.end()


def judgements(*but: str) -> list[Settled]:
    """Of all proposals, but those of these ids."""
    pairs = [(server, number) for server in SERVERS for number in range(1, len(CHAINS) + 1)]
    return [judged(server, n) for server, n in pairs if f"{server}/{n}" not in but]


@pytest.mark.claim("P56")
@given(st.permutations(judgements()))
def test_what_goes_on_is_the_same_whatever_the_order_of_answers(events: list[Settled]) -> None:
    gathering, found = anyio.run(whole, events)
    assert found == dict.fromkeys(SERVERS, ACCEPTED)
    assert (gathering.told, gathering.dropped) == ([], [])


@pytest.mark.claim("P56")
@pytest.mark.parametrize("event", [failed("proposal", "s1/4"), NotBegun("proposal", "s1/4")])
async def test_a_server_with_a_proposal_that_is_not_decided_is_not_walked_on_and_that_is_told(
    event: Progress,
) -> None:
    gathering, found = await whole([event, *judgements("s1/4")])
    assert found == {name: ACCEPTED for name in SERVERS if name != "s1"}
    assert gathering.dropped == ["s1"]
    begun, left = gathering.told
    assert begun == Given("s1", "walk")
    assert isinstance(left, NotBegun)
    assert (left.stage, left.item) == ("walk", "s1")
    assert "failed or was not begun" in left.reason


@pytest.mark.parametrize(
    "event", [failed("propose", "s0"), NotBegun("propose", "s0"), settled("propose", "s0")]
)
async def test_a_server_of_which_nothing_was_proposed_is_let_go(event: Progress) -> None:
    gathering = Gathering()
    await gathering.give()
    gathering.hear(event)
    assert (gathering.dropped, gathering.told) == (["s0"], [])
    assert await gathering.end() == {}


async def test_a_server_whose_proposals_were_all_refused_comes_no_further() -> None:
    refused = [settled("proposal", f"s0/{n}") for n in range(1, len(CHAINS) + 1)]
    gathering, found = await whole([*refused, *judgements(*(f"s0/{n}" for n in range(1, 5)))])
    assert [*found] == ["s1", "s2"]
    assert (gathering.dropped, gathering.told) == (["s0"], [])


async def test_a_server_goes_on_while_others_are_still_proposed() -> None:
    gathering = Gathering()
    await gathering.give()
    gathering.hear(proposed("s1"), *(judged("s1", n) for n in range(1, 5)))
    with anyio.fail_after(5):
        item = await anext(gathering.of_servers.gathered())
    assert item.value == {"server": "s1", "version": "v-s1", "chains": ACCEPTED}


async def test_servers_are_given_no_further_ahead_than_the_window() -> None:
    gathering = Gathering(window=2)
    await gathering.give(2)
    with pytest.raises(TimeoutError), anyio.fail_after(0):
        await gathering.give(1)


@pytest.mark.parametrize("is_taken", [True, False])
async def test_one_that_goes_on_or_is_let_go_makes_room_for_another(*, is_taken: bool) -> None:
    gathering = Gathering(window=1)
    await gathering.give(1)
    if is_taken:
        gathering.hear(proposed("s0"), *(judged("s0", n) for n in range(1, 5)))
        await anext(gathering.of_servers.gathered())
    else:
        gathering.hear(failed("propose", "s0"))
    with anyio.fail_after(5):
        await gathering.give(1)


async def test_outcomes_of_an_earlier_run_are_gathered_like_new_ones() -> None:
    gathering = Gathering()
    await gathering.give()
    for server in SERVERS:
        recalled = (judged(server, n, is_recalled=True) for n in range(1, 5))
        gathering.hear(proposed(server, is_recalled=True), *recalled)
    assert await gathering.end() == dict.fromkeys(SERVERS, ACCEPTED)
