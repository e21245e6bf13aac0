"""What every area shares: the loop, the processes, Hypothesis's profiles, and that the gate skips nothing."""

import gc
import logging
import os
import ssl
from collections.abc import AsyncGenerator, Generator
from functools import cache
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings

from astra_mcp.serving.process.logs import ACCESS_LOGGER, LIBRARIES

from completions_server import CompletionsServer, open_completions_server
from real_documents import NOT_PRESENT

# No deadline: the machine of a gate is busy. A slow start of a generator is no fault of the product.
settings.register_profile(
    "fast", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fast")

NEW_OBJECTS = 50_000
"""So many more are made before garbage is looked for."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while modules are imported, and later not in what they are: it takes long."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS)
        gc.enable()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, which uvicorn and the sandbox need."""
    return "asyncio"


@pytest.fixture
async def completions() -> AsyncGenerator[CompletionsServer]:
    """The scripted endpoint of a model."""
    async with open_completions_server() as server:
        yield server


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use three workers for two processors, since many tests wait for processes, up to what those bear."""
    return min(len(os.sched_getaffinity(0)) * 3 // 2, 8)


@pytest.fixture(scope="session", autouse=True)
def shared_certificates() -> Generator[None]:
    """Read the public certificates once; otherwise each of thousands of HTTP clients takes 20 ms for it."""
    create = ssl.create_default_context
    shared = cache(create)

    def create_or_share(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        is_public = not args and kwargs == {"cafile": certifi.where()}
        return (shared if is_public else create)(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", create_or_share)
        yield


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    """Undo what a command that runs in this process does to logging."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    changed = [logging.getLogger(name) for name in (ACCESS_LOGGER, *LIBRARIES)]
    levels = [logger.level for logger in changed]
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for logger, before in zip(changed, levels, strict=True):
        logger.setLevel(before)


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
