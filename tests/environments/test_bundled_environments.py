"""Every environment that ships with the package passes the acceptance."""

from collections import Counter
from pathlib import Path

import pytest

from astra_mcp.environments.acceptance import verify_bundle
from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.environments.loading import load_bundle
from astra_mcp.sandbox import Sandbox
from servers.bundled import bundled_folder

OFTEN = {"clutch-road-scoring", "port-omission-transfer", "loan-overpayment"}
"""Verified before every commit; the others take as long each, and the oracle plays them all anyway."""
FOLDERS = sorted(p.parent for p in bundled_folder().glob("*/environment.json"))
EACH = [pytest.param(f, marks=() if f.name in OFTEN else pytest.mark.volume) for f in FOLDERS]


@pytest.mark.parametrize("folder", EACH, ids=lambda p: p.name)
async def test_a_bundled_environment_is_verified(folder: Path, sandbox: Sandbox) -> None:
    bundle = load_bundle(folder)
    assert bundle.document.status == "verified"
    assert (await verify_bundle(bundle, sandbox)).failed_checks == ()


@pytest.mark.claim("P15")
def test_the_bundled_environments_are_many_and_various() -> None:
    documents = [load_bundle(folder).document for folder in FOLDERS]
    assert len(documents) >= 16
    assert {d.scenario_type for d in documents} == set(ScenarioType)
    assert len({d.domain for d in documents}) >= 8
    assert Counter(d.language for d in documents)["zh"] >= 4
    assert sum(bool(d.provenance.rows) for d in documents) >= 6


@pytest.mark.claim("P6")
def test_one_tool_may_serve_several_sub_questions() -> None:
    jobs = [load_bundle(folder).job for folder in FOLDERS]
    shared = [job for job in jobs if max(Counter(i.tools for i in job).values()) > 1]
    assert shared
