"""What a gateway publishes: listed by name, and unknown names are answered with the closest."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from astra_mcp.compose.bundles import FoundEnvironments
from astra_mcp.compose.catalog import PublishedCatalog
from astra_mcp.compose.environments import PublishedEnvironments, Servers
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import UnknownNameError
from astra_mcp.sandbox import Sandbox
from registry.bundles.digest import BundleDigest
from registry.bundles.folder import FoundBundle
from servers.deployed import open_deployed
from servers.emulated.fleet import EmulatedServers, NoDocuments


def a_bundle(name: str) -> Bundle:
    document: dict[str, Any] = {
        "schema_version": 1,
        "name": name,
        "title": name,
        "description": "d",
        "domain": "weather",
        "language": "en",
        "question": "q",
        "sub_tasks": [
            {"id": 1, "answer": "42 km", "tool": "look"},
            {"id": 2, "answer": "the longer one"},
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {}}}],
        "provenance": {"source": "original"},
    }
    return Bundle.model_validate({"document": document, "code": "", "server": {}})


@asynccontextmanager
async def publishing(home: Path, *names: str) -> AsyncGenerator[PublishedCatalog]:
    bundles = [a_bundle(name) for name in names]
    rows = {b.name: FoundBundle(Path(b.name), BundleDigest.of(b), (), True, b) for b in bundles}
    found = FoundEnvironments(found=rows, faulty={}, folders=())
    async with open_deployed(None, home=home) as deployed:
        emulated = EmulatedServers(NoDocuments(), {})
        sandbox = cast("Sandbox", None)  # nothing runs
        yield PublishedCatalog(PublishedEnvironments(found, Servers(sandbox)), deployed, emulated)


async def test_environments_are_listed_by_name_and_scored_on_sub_tasks_with_a_tool(
    tmp_path: Path,
) -> None:
    async with publishing(tmp_path, "tide-tables", "air-quality") as catalog:
        names = ["air-quality", "tide-tables"]
        assert [e.name for e in catalog.environments()] == names
        assert [s.name for s in catalog.upstreams()] == names
        assert catalog.upstream("tide-tables") is catalog.upstreams()[1]
        assert [item.id for item in catalog.job("air-quality")] == [1]
        assert (catalog.domain("air-quality"), catalog.domain("zzz")) == ("weather", None)


async def test_an_unknown_name_is_answered_with_the_closest(tmp_path: Path) -> None:
    async with publishing(tmp_path, "tide-tables", "air-quality") as catalog:
        with pytest.raises(UnknownNameError, match="did you mean tide-tables"):
            catalog.upstream("tide-table")
        with pytest.raises(UnknownNameError, match="environments list"):
            catalog.question("zzz")
        with pytest.raises(UnknownNameError, match="there are air-quality, tide-tables"):
            catalog.upstream("zzz")
    async with publishing(tmp_path) as catalog:
        with pytest.raises(UnknownNameError, match="there is none"):
            catalog.upstream("zzz")
    async with publishing(tmp_path, *(f"q{n}" for n in range(20))) as catalog:
        with pytest.raises(UnknownNameError, match="GET /v1/servers"):
            catalog.upstream("zzz")
