"""The bundles that the settings name, and the sandbox that they may run in on this machine."""

import logging
import resource
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol

from astra_mcp.compose.settings import Settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import texts_of, write_bundle
from astra_mcp.environments.loading import read_bundle
from astra_mcp.errors import (
    BundleError,
    BundleFault,
    ConfigError,
    SandboxUnavailableError,
    UnknownNameError,
)
from astra_mcp.home import user_path
from astra_mcp.report.console import say
from astra_mcp.sandbox import Sandbox, SandboxReport, examine_machine, open_sandbox
from registry.bundles.digest import BundleDigest
from registry.bundles.folder import FEW, MARK, BundleFolder, FoundBundle, bundle_folders
from registry.published.names import read_names
from servers.bundled import bundled_folder

__all__ = [
    "BundlePublisher",
    "FoundEnvironments",
    "Hashed",
    "deployed_names",
    "deployed_server",
    "find_bundle_folder",
    "find_bundle_folders",
    "find_bundles",
    "find_published",
    "open_bundle_sandbox",
    "shipped_hashes",
    "unknown_environment",
    "unknown_server",
]

MAX_TOLD = 5
"""So many faulty bundles are told of one by one."""
_STEP = 100
_log = logging.getLogger("astra_mcp.registry")


class Hashed(Protocol):
    """Code of which it is asked whether it is trusted."""

    @property
    def name(self) -> str:
        """The environment's."""
        ...

    @property
    def content_hash(self) -> str:
        """Of the document and the code."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEnvironments:
    """The bundled environments and those of the settings' folders, as they were found on disk."""

    found: Mapping[str, FoundBundle]
    """By name."""
    faulty: Mapping[str, FoundBundle]
    """Those, of a folder of many, that cannot be published."""
    folders: tuple[BundleFolder, ...]
    """Where they lie, without the bundled ones, which stay as they are."""

    @property
    def digests(self) -> tuple[BundleDigest, ...]:
        """What lists need of those that can be published, by name."""
        found = sorted(self.found.items())
        return tuple(bundle.digest for _, bundle in found if bundle.digest is not None)

    @property
    def warnings(self) -> Iterator[str]:
        """Say of each faulty one, up to a few, what is wrong with it."""
        for name, found in islice(sorted(self.faulty.items()), MAX_TOLD):
            yield f"{name} is not published: {'; '.join(found.faults)}"
        if len(self.faulty) > MAX_TOLD:
            yield f"{len(self.faulty) - MAX_TOLD} further bundles are not published for their faults"


def find_bundles(folder: Path) -> tuple[Path, ...]:
    """Find the bundle folders at a path: itself, or its direct sub-folders, by name.

    Raises:
        ConfigError: There is no such folder, or no bundle in it.
    """
    found = tuple(sorted(bundle_folders(folder)))
    if not found:
        msg = f"{folder} holds no bundle (no {MARK} in it or in its sub-folders)"
        raise ConfigError(msg)
    return found


def find_published(settings: Settings) -> FoundEnvironments:
    """Find the bundled environments and those of the settings' folders.

    Those of a folder that holds few are loaded completely. Of many, what lists need is read where the index
    under the home does not know it already; people who look see how far it is.

    Raises:
        BundleError: One or more of few do not load; carries the faults of all.
        ConfigError: A folder holds no bundle, or two bundles have one name.
    """
    places = dict.fromkeys(place.resolve() for place in _places(settings))
    folders = tuple(BundleFolder(place, settings.home) for place in places)
    found: dict[str, FoundBundle] = {}
    for folder in folders:
        for bundle in _read(folder, may_be_empty=folder.place == _made(settings)):
            _add(found, bundle)
    faulty = {name: bundle for name, bundle in found.items() if bundle.faults}
    stopping = {name: bundle for name, bundle in faulty.items() if bundle.is_few}
    if stopping:
        faults = [
            BundleFault(f"{name}/{fault}") for name, b in stopping.items() for fault in b.faults
        ]
        raise BundleError(f"{len(faults)} faults; what is published", faults)
    return FoundEnvironments(
        found={name: bundle for name, bundle in found.items() if name not in faulty},
        faulty=faulty,
        folders=folders[1:],
    )


def _places(settings: Settings) -> Iterator[Path]:
    """The folders of what is published; that of synthesis where it was ever asked for."""
    yield bundled_folder()
    yield from settings.environments
    if settings.made_environments.is_dir():
        yield settings.made_environments


def _made(settings: Settings) -> Path:
    return settings.made_environments.resolve()


def _read(folder: BundleFolder, *, may_be_empty: bool) -> Iterable[FoundBundle]:
    began = time.monotonic()
    with say.bars(transient=True) as progress:
        task = progress.add_task("reading bundles", total=None, visible=False)

        def hear(done: int, total: int) -> None:
            if total > FEW and done % _STEP == 0:
                progress.update(task, completed=done, total=total, visible=True)

        found = folder.scan(hear)
    if not found and not may_be_empty:
        msg = f"{folder.place} holds no bundle (no {MARK} in it or in its sub-folders)"
        raise ConfigError(msg)
    took = time.monotonic() - began
    if len(found) > FEW:
        _log.info("%d bundles of %s were found in %.1f s", len(found), folder.place, took)
    return [bundle for _, bundle in sorted(found.items()) if bundle is not None]


def _add(found: dict[str, FoundBundle], bundle: FoundBundle) -> None:
    known = found.setdefault(bundle.name, bundle)
    if known is not bundle and known.folder.resolve() != bundle.folder.resolve():
        raise ConfigError(
            f"{known.folder} and {bundle.folder} are both named {bundle.name!r}: rename one"
        )


def find_bundle_folder(name: str, settings: Settings) -> Path | None:
    """Find the bundle that a person names: a published environment, or the path of a folder.

    Args:
        name: Of the environment, or a path.
        settings: Name further folders.

    Returns:
        None where no environment has the name.
    """
    path = user_path(Path(name))
    if path.name != name:  # has a separator, so it is no environment's name
        return path
    return find_bundle_folders(settings).get(name)


def unknown_environment(name: str, known: Iterable[str]) -> UnknownNameError:
    """Say that no environment has this name, and what is closest."""
    hint = "`astra-mcp environments list` names all"
    return UnknownNameError.among("environment", name, known, hint)


def deployed_names(settings: Settings) -> Collection[str]:
    """Name the deployed servers of the settings' file.

    Raises:
        ConfigError: The file is wrong.
    """
    file = settings.serve.mcp_config
    if file is None:
        return ()
    from servers.deployed.config import read_entries  # noqa: PLC0415 - with all that reaches them

    return read_entries(file)


def deployed_server(name: str, settings: Settings) -> UnknownNameError | None:
    """Say of a name that it is a deployed server's, where it is or was, and how such a one is reached."""
    if name not in {*read_names(settings.home).deployed, *deployed_names(settings)}:
        return None
    return UnknownNameError(
        f"{name!r} is a deployed server, which needs a gateway that knows its file: set "
        f"serve.mcp_config, or start `astra-mcp serve --mcp-config FILE`, over stdio `astra-mcp serve "
        f"--stdio --server {name} --mcp-config FILE`"
    )


def unknown_server(name: str, settings: Settings, *, besides: Iterable[str]) -> UnknownNameError:
    """Say that nothing has this name, and what is closest.

    Args:
        name: As the person wrote it.
        settings: Say which environments there are.
        besides: What else may have been meant.
    """
    deployed = deployed_server(name, settings)
    if deployed is not None:
        return deployed
    otherwise = (
        "`astra-mcp environments list` and `astra-mcp registry list` name all; "
        "a folder is named by a path, as ./NAME"
    )
    known = [*find_bundle_folders(settings), *besides]
    return UnknownNameError.among("environment or server of the registry", name, known, otherwise)


def find_bundle_folders(settings: Settings) -> dict[str, Path]:
    """Find the folders of the bundled environments and of those of the settings, by name.

    Raises:
        ConfigError: A folder holds no bundle.
    """
    made = _made(settings)
    return {
        folder.name: folder
        for place in _places(settings)
        for folder in (bundle_folders(place) if place.resolve() == made else find_bundles(place))
    }


@asynccontextmanager
async def open_bundle_sandbox(
    settings: Settings, bundles: Iterable[Hashed], *, trusted: bool = False
) -> AsyncGenerator[Sandbox]:
    """Open the sandbox that these bundles may run in on this machine.

    Where a required layer is missing, the environments that ship with this package run in plain
    processes with a notice; any other code does so only when it is trusted.

    Raises:
        SandboxUnavailableError: A layer is missing and not all of the code is trusted.
    """
    _allow_open_files()
    report = examine_machine()
    if report.missing:
        _require_trust(report, bundles, trusted=trusted)
    limits = settings.sandbox.shared_among(settings.serve.workers)
    async with open_sandbox(limits, unsandboxed=bool(report.missing)) as sandbox:
        yield sandbox


def shipped_hashes() -> frozenset[str]:
    """The content hashes of the environments that ship with this package."""
    folders = find_bundles(bundled_folder())
    return frozenset(read_bundle(folder).content_hash for folder in folders)


def _allow_open_files() -> None:
    """Raise the soft limit to the hard one: an episode takes a record, a socket and a process handle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _require_trust(report: SandboxReport, bundles: Iterable[Hashed], *, trusted: bool) -> None:
    missing = ", ".join(report.missing)
    shipped = shipped_hashes()
    foreign = [] if trusted else [b.name for b in bundles if b.content_hash not in shipped]
    if foreign:
        raise SandboxUnavailableError(
            f"this machine lacks {missing}, so the tool code of {', '.join(foreign)} cannot be "
            "isolated: run on Linux (see `astra-mcp doctor`), or pass --trusted if you trust it"
        )
    say.print(f"notice: this machine lacks {missing}; tool code runs unsandboxed", style="yellow")


class BundlePublisher:
    """Publishes bundles as folders, those of a split in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Publish under a folder, which is made when the first bundle comes."""
        self._folder = folder

    def prepare(self) -> None:
        """Make the folder, and find out before long work whether bundles can be written there.

        Raises:
            ConfigError: They cannot.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=self._folder).close()
        except OSError as error:
            raise ConfigError(
                f"{self._folder} cannot be written: {error.strerror}; choose another folder"
            ) from None

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
