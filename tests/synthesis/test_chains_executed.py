"""Chains over servers as they run behind a gateway: what a join names is what the later call is given."""

import sys
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from astra_mcp.compose.synthesis.documents import WantedServers, read_documents
from astra_mcp.synthesis.trajectories.chain import ChainRunner
from astra_mcp.synthesis.trajectories.chains.cross_server import cross_server_chains
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, open_test_gateway
from gateway.api.client import GatewayClient
from gateway.edge.keys import read_control_key
from registry.documents.preparation import prepare_server
from registry.importers.detection import detect
from registry.intake.importing import import_documents
from registry.store.database import open_database
from training.rollout.chain_runner import GatewayChainRunner

from emulated_calls import serving_gateway
from executed_chains import ChainOutcome, execute_chains, joins_that_are_not_kept, shown
from real_documents import TOUCAN, real_data


def list_contacts() -> list[dict[str, str]]:
    """List the contacts of the CRM."""
    return [{"name": "Ann Brandt", "email": "ann@harbour.example"}, {"name": "Bo", "email": ""}]


def search_places(query: str) -> dict[str, object]:
    """Places on a map."""
    return {"places": [{"name": query, "latitude": 59.91, "longitude": 10.75}]}


def find_airports(country: str) -> dict[str, list[str]]:
    """Find airports for a flight."""
    del country
    return {"airports": []}


def send_email(to: str, subject: str) -> str:
    """Send a mail."""
    return f"{subject!r} went to {to}"


def send_mail(recipient: str, subject: str) -> str:
    """Send a mail."""
    raise ValueError(f"the mailbox of {recipient} has no place for {subject}")


def get_forecast(lat: float, lon: float) -> str:
    """Weather of the next days."""
    return f"rain at {lat} and {lon}"


def get_airport_weather(airport_code: str) -> str:
    """Weather at an airport."""
    return f"fog at {airport_code}"


SERVERS = (
    InMemoryServer("crm", list_contacts),
    InMemoryServer("maps", search_places),
    InMemoryServer("flights", find_airports),
    InMemoryServer("post", send_email),
    InMemoryServer("full", send_mail),
    InMemoryServer("weather", get_forecast, get_airport_weather),
)
WRITTEN = {
    server.name: DocumentedServer(
        name=server.name, domain="travel", language="en", version=server.version, tools=server.tools
    )
    for server in SERVERS
}


@pytest.fixture
async def runner(anyio_backend: str, tmp_path: Path) -> AsyncGenerator[ChainRunner]:
    """Executes chains behind a gateway over the servers of this file."""
    async with open_test_gateway(InMemoryCatalog(*SERVERS), tmp_path) as gateway:
        yield GatewayChainRunner(gateway.control, "chains")


@pytest.mark.claim("P57")
@pytest.mark.claim("P63")
async def test_a_joined_argument_is_the_field_of_the_earlier_result_and_failures_say_why(
    runner: ChainRunner,
) -> None:
    chains = cross_server_chains(WRITTEN, 7, seed=0)
    outcomes = await execute_chains(WRITTEN, chains, runner, wanted=7, seed=0)
    by_tools = {tuple(s.tool for s in o.found.chain.steps): o for o in outcomes}

    mailed = by_tools["list_contacts", "send_email"]
    assert mailed.executed[1].arguments["to"] == "ann@harbour.example"
    forecast = by_tools["search_places", "get_forecast"]
    assert forecast.executed[1].arguments == {"lat": 59.91, "lon": 10.75}
    empty = by_tools["find_airports", "get_airport_weather"]
    assert (empty.fault, empty.executed) == ("nothing_to_bind", ())
    refused = by_tools["list_contacts", "send_mail"]
    assert refused.fault == "call_failed"
    assert "the mailbox of ann@harbour.example has no place" in refused.detail
    for outcome in (mailed, forecast):
        await check(outcome, WRITTEN)


async def test_an_argument_that_the_earlier_result_does_not_tell_is_noticed(
    runner: ChainRunner,
) -> None:
    chains = cross_server_chains({n: WRITTEN[n] for n in ("crm", "post")}, 1, seed=0)
    (outcome,) = await execute_chains(WRITTEN, chains, runner, wanted=1, seed=0)
    first, second = outcome.executed
    other = second.model_copy(update={"arguments": {**second.arguments, "to": "eve@example.org"}})
    changed = ChainOutcome(outcome.found, executed=(first, other))

    assert await joins_that_are_not_kept(outcome) == []
    assert await joins_that_are_not_kept(changed) == ["email -> to: 'eve@example.org'"]


async def check(outcome: ChainOutcome, documents: Documents) -> None:
    """Hold an executed chain against what chains over servers are to be."""
    chain = outcome.found.chain
    assert len(chain.servers) == len(chain.steps) in (2, 3)
    assert [call.step for call in outcome.executed] == [*chain.steps]
    assert {join.target for join in chain.joins} == set(range(1, len(chain.steps)))
    assert all(
        chain.steps[join.source].server != chain.steps[join.target].server for join in chain.joins
    )
    assert outcome.found.versions == {name: documents[name].version for name in chain.servers}
    assert await joins_that_are_not_kept(outcome) == []


@pytest.mark.volume
@pytest.mark.timeout(600)
@pytest.mark.claim("P57")
async def test_fifty_chains_over_real_documents_run_and_keep_their_joins(
    anyio_backend: str, tmp_path: Path
) -> None:
    file = real_data(TOUCAN)
    async with open_database(f"sqlite:///{tmp_path / 'registry.db'}") as database:
        await import_documents(database, detect(file).read(file), prepare=prepare_server)
        documents = await read_documents(database, WantedServers(crawled=True))
    chains = cross_server_chains(documents, 400, seed=0)
    with serving_gateway(tmp_path) as served:
        async with GatewayClient(served.url, read_control_key(tmp_path)) as gateway:
            runner = GatewayChainRunner(gateway, "chains")
            outcomes = await execute_chains(documents, chains, runner, wanted=50, seed=0)
    succeeded = [outcome for outcome in outcomes if not outcome.fault]
    ends = Counter(outcome.fault or "executed" for outcome in outcomes)
    sys.stdout.write("\n".join([*map(shown, succeeded), f"{len(outcomes)} tried: {ends}\n"]))
    for outcome in succeeded:
        await check(outcome, documents)

    assert len(succeeded) == 50
    servers = {name for outcome in succeeded for name in outcome.found.chain.servers}
    assert len(servers) >= 30
    assert any(len(outcome.executed) == 3 for outcome in succeeded)
    assert {o.fault for o in outcomes if o.fault} <= {
        "call_failed", "invented_argument", "nothing_to_bind", "no_arguments",
    }  # fmt: skip
    assert len(outcomes) < 200
