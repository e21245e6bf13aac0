"""The catalog of folders: names are unique, unknown ones are answered with the closest."""

from dataclasses import dataclass
from typing import Any

import pytest

from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import ConfigError, UnknownNameError
from registry.published.catalog import FolderCatalog


@dataclass
class NamedServer:
    """The least that a catalog needs of a server."""

    name: str


def a_bundle(name: str) -> Bundle:
    tool: dict[str, Any] = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
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
        "tools": [tool],
        "provenance": {"source": "original"},
    }
    return Bundle.model_validate({"document": document, "code": "", "server": {}})


@pytest.fixture
def catalog() -> FolderCatalog[NamedServer]:
    bundles = [a_bundle("tide-tables"), a_bundle("air-quality")]
    return FolderCatalog(bundles, lambda b: NamedServer(b.name))


def test_environments_and_servers_are_listed_by_name(catalog: FolderCatalog[NamedServer]) -> None:
    assert [b.name for b in catalog.bundles()] == ["air-quality", "tide-tables"]
    assert [s.name for s in catalog.upstreams()] == ["air-quality", "tide-tables"]


def test_the_job_leaves_out_sub_tasks_without_a_tool(catalog: FolderCatalog[NamedServer]) -> None:
    assert [item.id for item in catalog.job("air-quality")] == [1]


def test_an_unknown_name_is_answered_with_the_closest(catalog: FolderCatalog[NamedServer]) -> None:
    with pytest.raises(UnknownNameError, match="did you mean tide-tables"):
        catalog.upstream("tide-table")
    with pytest.raises(UnknownNameError, match="environments list"):
        catalog.bundle("zzz")
    with pytest.raises(UnknownNameError, match="there are air-quality, notes, tide-tables"):
        catalog.upstream("zzz", besides=["notes"])
    with pytest.raises(UnknownNameError, match="GET /v1/servers"):
        catalog.upstream("zzz", besides=[f"q{n}" for n in range(20)])


def test_two_environments_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two environments are named 'a'"):
        FolderCatalog([a_bundle("a"), a_bundle("a")], lambda b: NamedServer(b.name))
