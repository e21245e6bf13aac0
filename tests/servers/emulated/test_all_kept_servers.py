"""The kept servers of a real file behind one gateway, and each of their tools called once."""

from itertools import islice
from pathlib import Path

import pytest

from registry.documents.preparation import prepare_server
from registry.importers.detection import detect
from registry.intake.importing import import_documents
from registry.store.database import open_database

from emulated_calls import call_all, plan_calls, serving_gateway
from mcp_wire import Kind
from real_documents import TOUCAN, real_data

READY_SECONDS = 60.0
"""Generous, for machines that do much else: alone it takes a few seconds (``benchmarks/emulated.py``)."""
MAX_MIB = 600.0


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("documents", "min_servers"), [(50, 20), pytest.param(None, 600, marks=pytest.mark.volume)]
)
@pytest.mark.claim("P30")
async def test_every_tool_of_every_kept_server_is_called_at_its_own_endpoint(
    documents: int | None, min_servers: int, tmp_path: Path
) -> None:
    file = real_data(TOUCAN)
    async with open_database(f"sqlite:///{tmp_path / 'registry.db'}") as database:
        found = islice(detect(file).read(file), documents)
        await import_documents(database, found, prepare=prepare_server)
        names, calls = await plan_calls(database, seed=0)
    assert len(names) >= min_servers
    with serving_gateway(tmp_path) as gateway:
        assert gateway.emulated == len(names)
        assert gateway.ready_seconds < READY_SECONDS
        outcomes = await call_all(gateway.url, calls)
        resident = gateway.resident_mib
    assert outcomes.faults == []
    assert outcomes.kinds[Kind.RESULT] + outcomes.kinds[Kind.ERROR] == len(calls)
    assert outcomes.kinds[Kind.RESULT] > len(calls) / 2
    assert resident <= MAX_MIB
