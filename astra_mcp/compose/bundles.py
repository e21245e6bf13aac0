"""The bundles that the settings name, and the sandbox that they may run in on this machine."""

import resource
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from astra_mcp.compose.settings import Settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
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
from registry.published.names import read_names
from servers.bundled import bundled_folder

__all__ = [
    "BUNDLE_FILE",
    "deployed_names",
    "deployed_server",
    "find_bundle",
    "find_bundle_folder",
    "find_bundles",
    "load_published",
    "open_bundle_sandbox",
    "unknown_server",
]

BUNDLE_FILE = "environment.json"
"""A folder that holds this file is a bundle."""


def find_bundles(folder: Path) -> tuple[Path, ...]:
    """Find the bundle folders at a path: itself, or its direct sub-folders, by name.

    Raises:
        ConfigError: There is no such folder, or no bundle in it.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder: name a bundle folder or a folder of bundles")
    if (folder / BUNDLE_FILE).is_file():
        return (folder,)
    found = tuple(sorted(p.parent for p in folder.glob(f"*/{BUNDLE_FILE}")))
    if not found:
        msg = f"{folder} holds no bundle (no {BUNDLE_FILE} in it or in its sub-folders)"
        raise ConfigError(msg)
    return found


def load_published(settings: Settings) -> tuple[Bundle, ...]:
    """Load the bundled environments and those of the settings' folders.

    Raises:
        BundleError: One or more do not load; carries the faults of all.
        ConfigError: A folder holds no bundle, or two bundles have one name.
    """
    places = (bundled_folder(), *settings.environments)
    folders = dict.fromkeys(f.resolve() for place in places for f in find_bundles(place))
    bundles: dict[str, tuple[Bundle, Path]] = {}
    faults: list[BundleFault] = []
    for folder in folders:
        try:
            bundle = load_bundle(folder)
        except BundleError as error:
            faults.extend(BundleFault(f"{folder.name}/{fault}") for fault in error.faults)
            continue
        if bundle.name in bundles:
            raise ConfigError(
                f"{bundles[bundle.name][1]} and {folder} are both named {bundle.name!r}: rename one"
            )
        bundles[bundle.name] = (bundle, folder)
    if faults:
        raise BundleError(f"{len(faults)} faults; what is published", faults)
    return tuple(bundle for bundle, _ in bundles.values())


def find_bundle(bundles: Mapping[str, Bundle], name: str) -> Bundle:
    """Find an environment among those of some names.

    Raises:
        UnknownNameError: There is none; names the closest ones.
    """
    if name in bundles:
        return bundles[name]
    hint = "`astra-mcp environments list` names all"
    raise UnknownNameError.among("environment", name, bundles, hint)


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
    return _environment_folders(settings).get(name)


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
    known = [*_environment_folders(settings), *besides]
    return UnknownNameError.among("environment or server of the registry", name, known, otherwise)


def _environment_folders(settings: Settings) -> dict[str, Path]:
    places = (bundled_folder(), *settings.environments)
    return {folder.name: folder for place in places for folder in find_bundles(place)}


@asynccontextmanager
async def open_bundle_sandbox(
    settings: Settings, bundles: Iterable[Bundle], *, trusted: bool = False
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
    async with open_sandbox(settings.sandbox, unsandboxed=bool(report.missing)) as sandbox:
        yield sandbox


def _allow_open_files() -> None:
    """Raise the soft limit to the hard one: an episode takes a record, a socket and a process handle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _require_trust(report: SandboxReport, bundles: Iterable[Bundle], *, trusted: bool) -> None:
    missing = ", ".join(report.missing)
    shipped = {load_bundle(folder).content_hash for folder in find_bundles(bundled_folder())}
    foreign = [b.name for b in bundles if b.content_hash not in shipped]
    if foreign and not trusted:
        raise SandboxUnavailableError(
            f"this machine lacks {missing}, so the tool code of {', '.join(foreign)} cannot be "
            "isolated: run on Linux (see `astra-mcp doctor`), or pass --trusted if you trust it"
        )
    say.print(f"notice: this machine lacks {missing}; tool code runs unsandboxed", style="yellow")
