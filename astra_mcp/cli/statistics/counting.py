"""Which environments are meant, and what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from astra_mcp.compose.bundles import find_bundle_folder, find_bundles
from astra_mcp.compose.settings import Settings
from astra_mcp.environments.loading import load_bundle
from astra_mcp.environments.statistics import (
    PAPER,
    EnvironmentCounts,
    Statistics,
    counts_of,
    summarise,
)
from astra_mcp.errors import BundleError, UnknownNameError
from astra_mcp.report.console import say
from astra_mcp.types import JsonObject
from servers.bundled import bundled_folder

__all__ = ["Counted", "count_environments"]


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted, and what could not be."""

    environments: Sequence[EnvironmentCounts]
    statistics: Statistics
    not_loaded: Sequence[tuple[str, str]]
    """Names of bundles that do not load, and the first reason of each."""

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {
            **self.statistics.as_json(),
            "not_loaded": [{"name": name, "reason": reason} for name, reason in self.not_loaded],
            "paper": PAPER.model_dump(mode="json"),
        }


def count_environments(words: Sequence[str], settings: Settings) -> Counted:
    """Count the environments that a person names.

    Args:
        words: Names of published environments, bundles, or folders of bundles; none means all that
            ``serve`` publishes.
        settings: Say what is published.

    Raises:
        ConfigError: A folder holds no bundle.
        UnknownNameError: No environment has a name.
    """
    folders = dict.fromkeys(f.resolve() for place in _places(words, settings) for f in place)
    environments: list[EnvironmentCounts] = []
    not_loaded: list[tuple[str, str]] = []
    with say.bars(transient=True) as progress:
        task = progress.add_task("reading", total=len(folders))
        for folder in folders:
            try:
                environments.append(counts_of(load_bundle(folder).document))
            except BundleError as error:
                not_loaded.append((folder.name, str(error.faults[0])))
            progress.advance(task)
    return Counted(environments, summarise(environments), not_loaded)


def _places(words: Sequence[str], settings: Settings) -> list[Sequence[Path]]:
    if not words:
        return [find_bundles(place) for place in (bundled_folder(), *settings.environments)]
    return [_named(word, settings) for word in words]


def _named(word: str, settings: Settings) -> Sequence[Path]:
    if Path(word).is_dir():
        return find_bundles(Path(word))
    folder = find_bundle_folder(word, settings)
    if folder is None:
        hint = "`astra-mcp environments list` names all; a folder is named by its path"
        published = [f.name for place in _places((), settings) for f in place]
        raise UnknownNameError.among("environment", word, published, hint)
    return find_bundles(folder)
