"""From proposals to walks: a server goes on when all of its proposals are known, and is then whole."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.errors import BudgetSpentError, ModelError, ModelFault
from astra_mcp.llm.prompt import Prompt
from astra_mcp.pipeline import (
    Item,
    ItemStatus,
    Made,
    NotBegun,
    Progress,
    Rejected,
    Settled,
    StageLimits,
    StoredItem,
    YieldTable,
)
from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.chains.gathering import ProposalGathering, find_chains
from astra_mcp.synthesis.trajectories.chains.proposing import Proposal, ProposalGate, Proposing
from astra_mcp.synthesis.trajectories.chains.walking import Walking

from documented_servers import plain_server
from pipeline_fakes import FakeItemStore, ScriptedStage
from scripted_synthesis import AnswerT, ScriptedAsks

SERVERS = [plain_server(f"s{n}", "a b c d") for n in range(6)]
DOCUMENTS = {server.name: server for server in SERVERS}
CHAINS = ["ab", "bc", "abx", "cdab"]
"""What is proposed of each server; the third has a tool that it has not."""
FAILURE = ModelError("no answer", ModelFault.TIMEOUT)

Answers = Callable[[str, int], Any]


def written(user: str, sample: int) -> Any:
    """An answer of the model: the chain of the sample's number."""
    del user
    return {"is_possible": True, "task": "Do it.", "tools": [*CHAINS[sample]]}


def failing(server: str, error: Exception) -> Answers:
    """Answers of which one fails."""
    return lambda user, sample: (
        error if f'"{server}"' in user and sample == 1 else written(user, sample)
    )


class Late(ScriptedAsks):
    """A model that answers as late as chance says."""

    def __init__(self, seed: int, answers: Answers) -> None:
        super().__init__(propose=answers)
        self.chance = generator(seed, "test")

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Wait, then answer."""
        for _ in range(self.chance.randrange(40)):
            await anyio.lowlevel.checkpoint()
        return await super().ask(prompt, answer, sample=sample)


class LateGate:
    """A gate that answers as late as chance says."""

    name, version, takes = "proposal", ProposalGate(DOCUMENTS).version, Proposal

    def __init__(self, seed: int) -> None:
        self.chance = generator(seed, "gate")

    async def run(self, item: Item[Proposal]) -> Made[Proposal] | Rejected:
        """Wait, then judge."""
        for _ in range(self.chance.randrange(40)):
            await anyio.lowlevel.checkpoint()
        return await ProposalGate(DOCUMENTS).run(item)


class FailingGate:
    """A gate that fails at one proposal."""

    name, version, takes = "proposal", ProposalGate(DOCUMENTS).version, Proposal

    async def run(self, item: Item[Proposal]) -> Made[Proposal] | Rejected:
        """Fail, or judge."""
        if item.id == "s1/4":
            raise FAILURE
        return await ProposalGate(DOCUMENTS).run(item)


async def find(
    answers: Answers = written,
    *,
    seed: int = 0,
    store: FakeItemStore | None = None,
    concurrency: int = 2,
    events: list[Progress] | None = None,
    **stages: Any,
) -> tuple[YieldTable, dict[str, list[str]]]:
    """The table of a run, and the tools of the chains that came out, by server."""
    store = store or FakeItemStore()
    out = ScriptedStage("end")
    with anyio.fail_after(20):
        table = await find_chains(
            "r",
            SERVERS,
            [
                stages.get("propose", Proposing(Late(seed, answers), "m", DOCUMENTS)),
                stages.get("gate", ProposalGate(DOCUMENTS)),
            ],
            [stages.get("walk", Walking(DOCUMENTS)), out],
            store,
            limits=StageLimits(concurrency=concurrency),
            hear=None if events is None else events.append,
        )
    found: dict[str, list[str]] = {}
    for (_, stage, _), outcome in store.outcomes.items():
        for output in outcome.outputs if stage == "end" else ():
            steps: Any = output.value["chain"]
            name = str(output.id).split("/")[0]
            found.setdefault(name, []).append("".join(s["tool"] for s in steps["steps"]))
    return table, {name: sorted(found[name]) for name in sorted(found)}


@pytest.mark.claim("P56")
@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=12)
def test_chains_are_the_same_whatever_the_order_of_answers(seed: int, concurrency: int) -> None:
    async def run() -> tuple[YieldTable, dict[str, list[str]]]:
        store = FakeItemStore()
        made = await find(seed=seed, concurrency=concurrency, store=store, gate=LateGate(seed))
        assert walked(store) == WALKED  # so that a later run takes them for the same
        return made

    table, found = anyio.run(run)
    assert found == FOUND
    assert [(r.stage, r.received, r.finished, r.not_begun) for r in table.stages] == [
        ("propose", 6, 6, 0),
        ("proposal", 24, 18, 0),
        ("walk", 6, 6, 0),
        ("end", len([c for chains in FOUND.values() for c in chains]), table.accepted, 0),
    ]


def walked(store: FakeItemStore) -> dict[str, str]:
    """The hashes of what was walked on, by server."""
    return {
        item: out.input_hash for (_, stage, item), out in store.outcomes.items() if stage == "walk"
    }


STORE = FakeItemStore()
FOUND = anyio.run(lambda: find(store=STORE))[1]
WALKED = walked(STORE)


@pytest.mark.claim("P56")
def test_a_refused_proposal_leaves_no_trace_in_the_graph() -> None:
    assert set(FOUND) == {server.name for server in SERVERS}
    assert {pair for chains in FOUND.values() for c in chains for pair in pairwise(c)} == {
        ("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")
    }  # fmt: skip


@pytest.mark.claim("P56")
@pytest.mark.parametrize(
    ("answers", "stages"), [(failing("s1", FAILURE), {}), (written, {"gate": FailingGate()})]
)
async def test_a_server_with_a_failure_waits_for_the_run_that_mends_it(
    answers: Answers, stages: dict[str, Any]
) -> None:
    store, events = FakeItemStore(), list[Progress]()
    table, found = await find(answers, store=store, events=events, **stages)
    assert found == {name: chains for name, chains in FOUND.items() if name != "s1"}
    assert table.num_failed == 1
    told = [event.item for event in events if isinstance(event, NotBegun)]
    assert told == (["s1"] if stages else [])
    assert table.num_not_begun == len(told)
    table, found = await find(store=store)
    assert found == FOUND
    assert (table.num_failed, table.num_not_begun) == (0, 0)


async def test_a_spent_budget_ends_the_run_and_the_next_one_comes_to_the_same() -> None:
    store = FakeItemStore()
    table, found = await find(failing("s2", BudgetSpentError("spent")), store=store, concurrency=1)
    assert table.stopped == "spent"
    assert set(found) < set(FOUND)
    assert (await find(store=store))[1] == FOUND


async def test_a_server_goes_on_while_others_are_still_proposed() -> None:
    walked = anyio.Event()

    async def propose(item: StoredItem) -> Made[Any] | Rejected:
        if item.id == "s5":
            await walked.wait()
        return await Proposing(ScriptedAsks(propose=written), "m", DOCUMENTS).run(
            Item(id=item.id, value=Proposing.takes.model_validate(item.value))
        )

    events: list[Progress] = []

    class Heard(list[Progress]):
        def append(self, event: Progress) -> None:
            events.append(event)
            if isinstance(event, Settled) and event.stage == "walk":
                walked.set()

    _, found = await find(propose=ScriptedStage("propose", propose), events=Heard())
    assert found == FOUND


async def test_servers_whose_proposals_were_all_refused_come_no_further() -> None:
    def refuse(user: str, sample: int) -> Any:
        return {"is_possible": '"s0"' not in user, "tools": [*CHAINS[sample]], "task": "Do it."}

    table, found = await find(refuse)
    assert found == {name: chains for name, chains in FOUND.items() if name != "s0"}
    assert table.stages[1].rejected["no_chain"] == 4
    assert table.num_not_begun == 0


async def test_a_mistake_in_either_pipeline_stops_both_and_is_raised_as_it_is() -> None:
    async def fail(item: StoredItem) -> Made[Any] | Rejected:
        raise KeyError(item.id)

    with pytest.raises(KeyError, match="s"):
        await find(walk=ScriptedStage("walk", fail))
    with pytest.raises(KeyError, match="s"):
        await find(propose=ScriptedStage("propose", fail))


async def test_servers_are_given_no_further_ahead_than_the_window() -> None:
    gathering = ProposalGathering(window=2)
    feed = gathering.feed(SERVERS)
    await anext(feed)
    await anext(feed)
    with pytest.raises(TimeoutError), anyio.fail_after(0):
        await anext(feed)


async def test_outcomes_of_an_earlier_run_are_gathered_like_new_ones() -> None:
    store = FakeItemStore()
    await find(store=store)
    saves = store.num_saves
    events: list[Progress] = []
    table, found = await find(store=store, events=events)
    assert (found, store.num_saves) == (FOUND, saves)
    assert all(e.is_recalled for e in events if isinstance(e, Settled))
    assert [row.recalled for row in table.stages] == [row.received for row in table.stages]
    assert {e.outcome.status for e in events if isinstance(e, Settled)} == {
        ItemStatus.FINISHED,
        ItemStatus.REJECTED,
    }
