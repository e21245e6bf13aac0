"""What a gateway publishes: listed by name, and unknown names are answered with the closest."""

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from astra_mcp.compose import environments
from astra_mcp.compose.bundles import FoundEnvironments
from astra_mcp.compose.catalog import PublishedCatalog
from astra_mcp.compose.environments import PublishedEnvironments, Servers
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.errors import BundleFault, UnknownNameError
from astra_mcp.sandbox import Sandbox
from gateway.api.interactive import InteractiveCatalog
from registry.bundles.digest import BundleDigest
from registry.bundles.folder import BundleFolder, FoundBundle
from servers.deployed import open_deployed
from servers.emulated.fleet import EmulatedServers, NoDocuments

PLACE = Path("bundles")


def a_bundle(name: str, *, version: str = "1.0.0") -> Bundle:
    document: dict[str, Any] = {
        "schema_version": 1,
        "name": name,
        "title": name,
        "description": "d",
        "version": version,
        "domain": "weather",
        "language": "en",
        "question": "q",
        "sub_tasks": [
            {"id": 1, "answer": "42 km", "tool": "look"},
            {"id": 2, "answer": "the longer one"},
        ],
        "questions": [
            {
                "id": "deeper",
                "question": "how deep?",
                "sub_tasks": [{"id": 1, "answer": "7 fathoms", "tool": "look"}],
                "gold": [{"tool": "look", "solves": [1]}],
            }
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {}}}],
        "provenance": {"source": "original"},
    }
    return Bundle.model_validate({"document": document, "code": "", "server": {}})


def found_bundle(name: str, *, is_few: bool = True, version: str = "1.0.0") -> FoundBundle:
    bundle = a_bundle(name, version=version)
    loaded = bundle if is_few else None
    return FoundBundle(PLACE / name, BundleDigest.of(bundle), (), is_few, loaded)


def allow(digest: BundleDigest) -> None:
    """Refuse nothing."""
    del digest


@asynccontextmanager
async def publishing(
    home: Path, *names: str, many: Sequence[str] = ()
) -> AsyncGenerator[PublishedCatalog]:
    rows = {name: found_bundle(name) for name in names}
    rows |= {name: found_bundle(name, is_few=False) for name in many}
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


async def test_a_further_question_has_its_own_job_and_an_unknown_one_is_refused(
    tmp_path: Path,
) -> None:
    async with publishing(tmp_path, "tide-tables") as catalog:
        assert catalog.environments()[0].num_questions == 2
        [further] = catalog.questions("tide-tables")
        assert (further.id, further.question, further.sub_tasks) == ("deeper", "how deep?", 1)
        assert catalog.question("tide-tables", "deeper") == "how deep?"
        assert [item.answer for item in catalog.job("tide-tables", "deeper")] == ["7 fathoms"]
        assert [call.solves for call in catalog.gold("tide-tables", "deeper")] == [(1,)]
        assert (catalog.question("tide-tables"), catalog.gold("tide-tables")) == ("q", ())
        with pytest.raises(UnknownNameError, match="did you mean deeper"):
            catalog.question("tide-tables", "deep")


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


async def test_environments_of_a_folder_of_many_stand_apart_unless_they_are_named(
    tmp_path: Path,
) -> None:
    async with publishing(tmp_path, "air-quality", many=["tide-1", "tide-2"]) as catalog:
        assert [s.name for s in catalog.upstreams()] == ["air-quality", "tide-1", "tide-2"]
        assert [s.name for s in catalog.together()] == ["air-quality"]
        assert catalog.environment("tide-2").question == catalog.question("tide-2") == "q"
        every, named = (
            InteractiveCatalog(catalog, shown) for shown in ("all", ("tide-1", "air-quality"))
        )
        assert [s.name for s in every.together()] == ["air-quality"]
        assert every.upstream("tide-2").tools == catalog.environment("tide-2").tools
        assert [s.name for s in named.together()] == ["air-quality", "tide-1"]


async def test_a_bundle_that_comes_changes_goes_or_spoils_is_told_of_and_published_accordingly(
    tmp_path: Path,
) -> None:
    async with publishing(tmp_path, "air-quality", many=["tide-1", "tide-2"]) as catalog:
        told: list[str] = []
        catalog.watch(told.append)
        kept, before = catalog.upstream("air-quality"), catalog.upstream("tide-1")
        spoilt = FoundBundle(PLACE / "tide-2", None, (BundleFault("it is no JSON"),), False, None)
        other = Path("elsewhere")
        doubled = found_bundle("air-quality", version="1.0.1")._replace(folder=other / "a")
        await catalog.bundles.take(other, {"a": doubled}, allow)
        await catalog.bundles.take(
            PLACE,
            {
                "new": found_bundle("new", is_few=False),
                "refused": found_bundle("refused"),
                "tide-1": found_bundle("tide-1", is_few=False, version="1.0.1"),
                "tide-2": spoilt,
            },
            lambda digest: "it may not run here" if digest.name == "refused" else None,
        )
        assert sorted(told) == ["new", "tide-1", "tide-2"]
        assert [s.name for s in catalog.upstreams()] == ["air-quality", "new", "tide-1"]
        assert [e.name for e in catalog.environments()] == ["air-quality", "new", "tide-1"]
        assert catalog.upstream("tide-1").version != before.version
        assert catalog.upstream("air-quality") is kept
        for name, reason in {"tide-2": "no JSON", "refused": "may not run here"}.items():
            with pytest.raises(UnknownNameError, match=f"{name} is not published: .*{reason}"):
                catalog.upstream(name)

        await catalog.bundles.take(PLACE, {"air-quality": None}, allow)
        assert [s.name for s in catalog.together()] == []
        with pytest.raises(UnknownNameError, match="no environment is named"):
            catalog.question("air-quality")


async def test_a_folder_is_followed_and_one_that_cannot_be_read_is_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(environments, "FOLLOW_SECONDS", 0.01)
    place, moved = tmp_path / "place", tmp_path / "moved"
    create_bundle("ash", place)
    folder = BundleFolder(place, tmp_path)
    folder.scan()
    told = anyio.Event()
    async with publishing(tmp_path, "air-quality") as catalog, anyio.create_task_group() as group:
        catalog.watch(lambda _: told.set())
        place.rename(moved)
        group.start_soon(catalog.bundles.follow, [folder], allow)
        with anyio.fail_after(20):
            while "cannot be followed" not in caplog.text:
                await anyio.lowlevel.checkpoint()
            for file in create_bundle("birch", moved).iterdir():
                os.utime(file, (0, 0))
            moved.rename(place)
            await told.wait()
        assert catalog.upstream("birch").name == "birch"
        assert caplog.text.count("cannot be followed") == 1
        group.cancel_scope.cancel()
