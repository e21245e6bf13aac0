"""The server of one bundle among many: what is known before it is loaded, and what is kept of it."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle, read_bundle
from astra_mcp.errors import UpstreamError
from astra_mcp.sandbox import Sandbox
from astra_mcp.types import ServerStatus
from registry.bundles.digest import BundleDigest
from servers.stored_environment import OpenedEnvironments, StoredEnvironment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return create_bundle("ash", tmp_path)


def stored(folder: Path, sandbox: Sandbox) -> StoredEnvironment:
    """As a gateway has it: read, and not loaded; one bundle stays unpacked."""
    digest = BundleDigest.of(read_bundle(folder))
    opened = OpenedEnvironments(sandbox, max_opened=1)
    return StoredEnvironment(digest, partial(load_bundle, folder), opened)


async def test_its_tools_are_known_before_it_is_loaded_and_it_outlives_its_folder(
    folder: Path, sandbox: Sandbox
) -> None:
    bundle = load_bundle(folder)
    server = stored(folder, sandbox)
    assert (server.tools, server.version) == (bundle.document.tools, bundle.content_hash)
    await server.prepare()
    shutil.rmtree(folder)
    assert server.bundle == bundle
    session = server.open_session(key="k", seed=1)
    [gold, *_] = bundle.document.gold
    reply = await session.call(gold.tool, gold.values)
    assert not reply.result.is_error
    await session.aclose()


async def test_one_that_proves_faulty_is_refused_with_all_of_its_faults(
    folder: Path, sandbox: Sandbox
) -> None:
    code = folder / "tools.py"
    code.write_text(code.read_text().replace("def find_book(author", "def find_book(writer"))
    server = stored(folder, sandbox)
    with pytest.raises(UpstreamError, match=r"(?s)ash does not load:\n.*tools\.py.*author"):
        await server.prepare()
    assert server.status[0] is ServerStatus.FAILED
    with pytest.raises(UpstreamError, match=r"ash does not load"):
        _ = server.bundle


async def test_one_that_has_changed_since_it_was_listed_is_not_what_was_listed(
    folder: Path, sandbox: Sandbox
) -> None:
    server = stored(folder, sandbox)
    with (folder / "tools.py").open("a") as code:
        code.write("\nX = 1\n")
    with pytest.raises(UpstreamError, match=r"another one than a moment ago"):
        await server.prepare()
