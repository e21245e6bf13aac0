"""Raw servers and sessions with them; what waits by the clock waits less here."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from servers.deployed import DeployedServers, DeployedSession

from deployed_workshop import Noted, deployed, noting, raw_entry, session


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files often, and end processes that resist soon."""
    monkeypatch.setattr("servers.deployed.collection.POLL_SECONDS", 0.05)
    monkeypatch.setattr("servers.deployed.transports.stdio.TERMINATE_SECONDS", 0.3)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncGenerator[DeployedServers]:
    """The raw server, which speaks both eras, with a process for each session."""
    async with deployed(tmp_path, raw=raw_entry()) as opened:
        yield opened


@pytest.fixture
def one(servers: DeployedServers) -> DeployedSession:
    """A session with a process of its own."""
    return session(servers)


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncGenerator[DeployedServers]:
    """The raw server, with one process for all."""
    async with deployed(tmp_path, raw=raw_entry(isolation="shared")) as opened:
        yield opened


@pytest.fixture
async def modern(tmp_path: Path) -> AsyncGenerator[DeployedServers]:
    """The raw server, which speaks the modern era alone."""
    async with deployed(tmp_path, raw=raw_entry("modern")) as opened:
        yield opened


@pytest.fixture
async def noted(tmp_path: Path) -> AsyncGenerator[Noted]:
    """The raw server, which writes its calls down; and what it has written."""
    async with noting(tmp_path) as opened:
        yield opened
