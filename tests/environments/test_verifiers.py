"""The acceptance in a process of its own says the same, and one that is lost takes nothing with it."""

import os
import signal
from pathlib import Path

import pytest

from astra_mcp.compose.bundles import find_bundles
from astra_mcp.environments.acceptance import verify_bundle
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.environments.verifiers import open_verifiers
from astra_mcp.errors import SandboxError
from astra_mcp.sandbox import Sandbox, SandboxLimits
from servers.bundled import bundled_folder


def verifiers_running() -> set[int]:
    """The processes of this one in which the acceptance runs."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_text() for pid in children}
    return {pid for pid, command in commands.items() if "environments.verifiers" in command}


async def test_another_process_says_the_same_and_a_killed_one_is_replaced(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    bundle = load_bundle(create_bundle("ash", tmp_path))
    here = await verify_bundle(bundle, sandbox)
    async with open_verifiers(SandboxLimits()) as verifiers:
        assert verifiers_running() == set()
        there = await verifiers.verify(bundle)
        assert (there.name, there.failed_checks) == (here.name, here.failed_checks)
        (process,) = verifiers_running()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(SandboxError, match="ended, or gave no answer"):
            await verifiers.verify(bundle)
        assert (await verifiers.verify(bundle)).failed_checks == here.failed_checks
        assert process not in verifiers_running()
    assert verifiers_running() == set()


@pytest.mark.parametrize("folder", find_bundles(bundled_folder()), ids=lambda folder: folder.name)
def test_a_bundle_is_the_same_on_the_other_side(folder: Path) -> None:
    bundle = load_bundle(folder)
    assert Bundle.model_validate_json(bundle.model_dump_json(by_alias=True)) == bundle
