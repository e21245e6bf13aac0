"""Where synthesized bundles go, and the acceptance that they pass before."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from os import cpu_count
from pathlib import Path

import anyio

from astra_mcp.compose.bundles import open_bundle_sandbox
from astra_mcp.compose.settings import Settings
from astra_mcp.compose.verdicts import StoredVerdicts
from astra_mcp.environments.acceptance.remembered import acceptance_version, verify_or_remember
from astra_mcp.environments.acceptance.verdict import FailedCheck
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import texts_of, write_bundle
from astra_mcp.errors import ConfigError
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.synthesis.environments.publication import Acceptance

__all__ = ["BundleFolder", "open_acceptance", "versioned_acceptance"]


class BundleFolder:
    """Publishes bundles as folders, those of a split in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Publish under a folder, which is made when the first bundle comes."""
        self._folder = folder

    def holds(self, bundle: Bundle, split: str | None) -> bool:
        """Whether the files of the bundle are there as they would be written."""
        place = self._place(split) / bundle.name
        if not place.exists():
            return False
        for file, text in texts_of(bundle).items():
            written = place / file
            if not written.is_file() or written.read_bytes() != text.encode():
                raise ConfigError(
                    f"{place} is there already and holds something else: choose another folder, "
                    "or delete it first"
                )
        return True

    def publish(self, bundle: Bundle, split: str | None) -> None:
        """Write its folder, unless another run has meanwhile."""
        try:
            write_bundle(bundle.name, texts_of(bundle), self._place(split))
        except ConfigError:
            if not self.holds(bundle, split):
                raise

    def _place(self, split: str | None) -> Path:
        return self._folder if split is None else self._folder / split


@asynccontextmanager
async def open_acceptance(settings: Settings) -> AsyncGenerator[Acceptance]:
    """Open the acceptance of synthesized bundles; what it said of one before is remembered.

    Raises:
        SandboxUnavailableError: This machine cannot isolate tool code.
    """
    async with open_bundle_sandbox(settings, ()) as sandbox:
        yield versioned_acceptance(settings, sandbox)[0]


def versioned_acceptance(settings: Settings, sandbox: Sandbox) -> tuple[Acceptance, str]:
    """The acceptance in a sandbox, several bundles at once, and the name of its version."""
    version = acceptance_version(settings.sandbox, sandbox.report.backend)
    store = StoredVerdicts(settings.home, version)
    at_once = anyio.CapacityLimiter(2 * (cpu_count() or 1))

    async def accept(bundle: Bundle) -> Sequence[FailedCheck]:
        async with at_once:
            verdict, _ = await verify_or_remember(bundle, sandbox, store)
        return verdict.failed_checks

    return accept, version
