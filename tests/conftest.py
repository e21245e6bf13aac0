"""Fixtures that every area shares, and the rule that the gate skips nothing."""

import os
from collections.abc import Generator

import pytest

from real_documents import NOT_PRESENT


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, which uvicorn and the sandbox need."""
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where ``ASTRA_MCP_REQUIRE_ALL`` is set.

    Documents that may not be published with the repository are the one thing that nobody can install.
    """
    report = yield
    is_unpublished = NOT_PRESENT in str(report.longrepr)
    if report.skipped and not is_unpublished and os.environ.get("ASTRA_MCP_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but the gate requires every test"
    return report
