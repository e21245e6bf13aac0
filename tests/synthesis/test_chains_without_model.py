"""Chains without a model: of one server by its types, and over several by what all servers know."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.chain import ChainOrigin, FoundChain
from astra_mcp.synthesis.trajectories.chains.cross_server import cross_server_chains
from astra_mcp.synthesis.trajectories.chains.deeds import Deed
from astra_mcp.synthesis.trajectories.chains.joining import Step, joins_for, steps_of
from astra_mcp.synthesis.trajectories.chains.offline import OfflineChains, offline_chains
from astra_mcp.synthesis.trajectories.chains.proposing import Lengths
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents, ServerItem
from astra_mcp.types import ToolSpec
from registry.documents.sources import ServerDocument
from registry.importers import toucan

from documented_servers import server, tool
from real_documents import TOUCAN, prepare_once, real_data

SHOP = server(
    "shop",
    tool("list_orders"),
    tool("get_order", required="order_id"),
    tool("add_comment", required="order_id text"),
    tool("cancel_order", required="order_id"),
    tool("delete_order", required="order_id"),
    tool("list_customers"),
    tool("get_customer", required="customer_id"),
    tool("get_secret", required="password"),
)
NOUNS = ["order", "user", "file", "repo", "channel", "event"]
VERBS = ["list", "get", "create", "update", "delete", "search", "add"]
SPECS = st.lists(
    st.tuples(st.sampled_from(VERBS), st.sampled_from(NOUNS)), min_size=1, max_size=12, unique=True
)
NEEDS = {"list": "", "search": "query", "create": "title", "add": "{}_id text"}


def drawn_tool(verb: str, noun: str, other: str) -> ToolSpec:
    """A tool that needs what tools of its verb usually need."""
    needs = NEEDS.get(verb, "{}_id").format(other if verb == "add" else noun)
    return tool(f"{verb}_{noun}{'s' if verb in ('list', 'search') else ''}", required=needs)


READ: dict[str, list[Step]] = {}


def read(found: DocumentedServer) -> list[Step]:
    """The tools of a server, read once."""
    return READ.get(key := found.model_dump_json()) or READ.setdefault(key, steps_of(found))


def check(found: FoundChain, documents: Documents) -> None:
    """Hold the joins of a chain against the rules: all of each step's needs are met, and none else."""
    steps: list[Step] = []
    by_server = {name: read(documents[name]) for name in found.chain.servers}
    assert found.versions == {name: documents[name].version for name in found.chain.servers}
    for at, ref in enumerate(found.chain.steps):
        step = next(s for s in by_server[ref.server] if s.fields.name == ref.tool)
        joins = joins_for(steps, step)
        assert joins is not None
        assert joins == tuple(join for join in found.chain.joins if join.target == at)
        assert all(join.source < at for join in joins)
        assert {join.argument for join in joins} <= {need.name for need in step.fields.needs}
        gives = step.fields.deed in (Deed.LISTS, Deed.SHOWS)
        assert joins or at == 0 or (not step.fields.needs and gives)
        assert not steps or steps[-1].fields.deed is not Deed.REMOVES
        steps.append(step)
    assert found.chain.joins


@pytest.mark.claim("P57")
@given(SPECS, st.sampled_from(NOUNS), st.integers(0, 5), st.integers(1, 10))
@settings(max_examples=50)
def test_offline_chains_meet_the_needs_of_every_step_and_are_different(
    specs: Sequence[tuple[str, str]], other: str, seed: int, most: int
) -> None:
    found = server("s", *(drawn_tool(verb, noun, other) for verb, noun in specs))
    chains = offline_chains(found, seed=seed, lengths=Lengths(least=2, most=4), most=most)
    assert len({each.chain.steps for each in chains}) == len(chains) <= most
    for each in chains:
        check(each, {"s": found})
        assert 2 <= len(each.chain.steps) <= 4
        assert len(set(each.chain.steps)) == len(each.chain.steps)
        assert each.chain.origin is ChainOrigin.OFFLINE
    assert offline_chains(found, seed=seed, lengths=Lengths(least=2, most=4), most=most) == chains


async def test_the_stage_gives_the_chains_of_a_server_and_says_where_there_are_none() -> None:
    lonely = server("lonely", tool("get_weather", required="city"), tool("roll_dice"))
    stage = OfflineChains({"shop": SHOP, "lonely": lonely})
    made = await stage.run(Item(id="shop", value=ServerItem(name="shop", version=SHOP.version)))
    assert isinstance(made, Made)
    assert len(made.outputs) == 8
    tools = {step.tool for item in made.outputs for step in item.value.chain.steps}
    assert {"list_orders", "get_order"} <= tools
    assert "get_secret" not in tools
    none = await stage.run(Item(id="lonely", value=ServerItem(name="lonely", version="v-lonely")))
    assert isinstance(none, Rejected)
    assert none.reason == "no_join"


def test_another_seed_gives_other_chains() -> None:
    assert offline_chains(SHOP, seed=1) != offline_chains(SHOP, seed=2)


def a_world(num: int, chance: Random) -> dict[str, DocumentedServer]:
    """Servers of a few kinds, by name, each with tools that only its own ids join, beside two shared ones."""
    kinds = [
        (tool("search_news", "News of the web.", required="query"), "news_and_media"),
        (tool("fetch_page", "Read a web page.", required="url"), "web_search"),
        (tool("search_places", "Places on a map.", required="query"), "travel"),
        (tool("get_forecast", "Weather.", required="latitude longitude"), "weather"),
        (tool("list_contacts", "Contacts of the CRM."), "marketing"),
        (tool("send_email", "Send a mail.", required="to subject"), "communication"),
    ]
    found: dict[str, DocumentedServer] = {}
    for number in range(num):
        own = [tool(f"get_{noun}", required=f"{noun}_id") for noun in chance.sample(NOUNS, 3)]
        own += [tool(f"run_{n}", "Do something.", required="input") for n in range(8)]
        spec, domain = chance.choice(kinds)
        found[f"s{number}"] = server(f"s{number}", spec, *own, domain=domain)
    return found


@pytest.mark.claim("P57")
@pytest.mark.parametrize("seed", range(4))
def test_chains_over_servers_are_joined_and_no_server_takes_all_places(seed: int) -> None:
    world = a_world(40, generator(seed, "test"))
    chains = cross_server_chains(world, 60, seed=seed)
    assert len({each.chain.steps for each in chains}) == len(chains) == 60
    for each in chains:
        check(each, world)
        assert each.chain.origin is ChainOrigin.CROSS_SERVER
        assert len(each.chain.servers) == len(each.chain.steps) in (2, 3)
        targets = {join.target for join in each.chain.joins}
        assert targets == set(range(1, len(each.chain.steps)))
    backwards = dict(reversed(world.items()))
    assert cross_server_chains(backwards, 60, seed=seed) == chains
    assert cross_server_chains(world, 60, seed=seed + 100) != chains


def test_no_chain_reads_the_same_page_twice() -> None:
    world = {
        "news": server("news", tool("search_news", "News of the web.", required="query")),
        **{n: server(n, tool("fetch_page", "Read a web page.", required="url")) for n in "ab"},
    }
    found = cross_server_chains(world, 2, seed=0, share_of_three=1)
    assert {each.chain.servers for each in found} == {("news", "a"), ("news", "b")}
    assert cross_server_chains(world, 3, seed=0, share_of_three=1) == found


def test_of_few_servers_no_pair_and_no_tool_takes_all_places() -> None:
    mails = [tool(f"send_email_{n}", "Send a mail.", required="to subject") for n in range(5)]
    world = {"crm": server("crm", tool("list_contacts", "Contacts of the CRM."))}
    for others, num in (("ab", 3 * 2), ("abcdefg", 12)):
        world |= {name: server(name, *mails) for name in others}
        found = cross_server_chains(world, 100, seed=0, share_of_three=0)
        assert len(found) == num
        assert max(Counter(each.chain.servers for each in found).values()) <= 3


def test_where_documents_give_fewer_chains_there_are_fewer() -> None:
    world = a_world(2, generator(0, "test"))
    assert len(cross_server_chains(world, 1000, seed=0)) < 10
    assert cross_server_chains({}, 10, seed=0) == []
    assert cross_server_chains({"shop": SHOP}, 10, seed=0) == []


@pytest.mark.volume
def test_ten_thousand_tools_are_no_more_work_than_their_number() -> None:
    world = a_world(814, generator(0, "test"))
    assert sum(len(each.tools) for each in world.values()) > 9000
    assert (
        len(cross_server_chains(world, 500, seed=0)) == 500
    )  # comparing all pairs would take minutes


@pytest.mark.volume
def test_real_documents_give_several_hundred_chains_over_servers() -> None:
    world: dict[str, DocumentedServer] = {}
    for at, found in enumerate(toucan.read(real_data(TOUCAN))):
        if isinstance(found, ServerDocument):
            kept = prepare_once(found)
            tools = tuple(t.spec for t in kept.tools if t.spec is not None and t.rejection is None)
            if kept.rejection is None:
                name = f"{kept.name}-{at}"
                world[name] = server(name, *tools, domain=kept.domain)
    chains = cross_server_chains(world, 400, seed=0)
    assert len(chains) == 400
    assert len({name for each in chains for name in each.chain.servers}) > 50
    for each in chains:
        check(each, world)
    offline = {name: offline_chains(world[name], seed=0) for name in sorted(world)[::10]}
    for name, made in offline.items():
        for each in made:
            check(each, {name: world[name]})
