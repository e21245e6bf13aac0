"""What waits by the clock waits less here."""

import pytest


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files often, and end processes that resist soon."""
    monkeypatch.setattr("servers.deployed.collection.POLL_SECONDS", 0.05)
    monkeypatch.setattr("servers.deployed.transports.stdio.TERMINATE_SECONDS", 0.3)
