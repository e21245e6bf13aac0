"""With what a run was made, as the files that it writes say it; a note holds no option."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from astra_mcp.compose.runs.notes import KnownRun, RunKind
from astra_mcp.errors import ConfigError
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory import SystemMessage, Trajectory

__all__ = ["settings_of"]

_MAX_BYTES = 8 << 20
"""Of the first line of a rollout; of a longer one nothing is told."""


def settings_of(run: KnownRun) -> Mapping[str, str]:
    """Read with what a run was made: its settings by their names, in words.

    Of a rollout its first trajectory says it, of a training the file with which its folder was begun. A
    synthesis keeps none.

    Args:
        run: May have written nothing yet, or be gone; then there is nothing to tell.

    Raises:
        ConfigError: Its file cannot be read, or holds something else.
    """
    place = run.note.place
    if place is None:
        return {}
    match run.kind:
        case RunKind.ROLLOUT:
            return _of_rollout(place)
        case RunKind.TRAINING:
            # A gateway without a look at a training needs none of what knows its folder.
            from training.sft.run_folder import RunFolder  # noqa: PLC0415

            return {name: _words(value) for name, value in RunFolder(place).settings.items()}
        case RunKind.SYNTHESIS:
            return {}


def _of_rollout(file: Path) -> Mapping[str, str]:
    first = _first_in(file)
    return {} if first is None else dict(_told_by(first, file))


def _first_in(file: Path) -> Trajectory | None:
    """Read the first line alone; None where it has no end yet, or a late one."""
    if not file.is_file():
        return None
    try:
        with file.open("rb") as lines:
            line = lines.readline(_MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    if not line.endswith(b"\n"):
        return None
    try:
        return Trajectory.from_line(_object_in(line.decode()))
    except (ValueError, RecursionError):
        raise ConfigError(
            f"{file}: line 1 is no trajectory: name another file with --out"
        ) from None


def _told_by(first: Trajectory, file: Path) -> Iterator[tuple[str, str]]:
    yield "agent", first.agent.name
    if first.agent.model is not None:
        yield "model", first.agent.model
    yield "seed", str(first.seeds.root)
    yield from _flat(_options_of(first, file))
    if first.messages and isinstance(first.messages[0], SystemMessage):
        yield "system prompt", first.messages[0].content
    yield "astra-mcp", first.versions.astra_mcp


def _options_of(first: Trajectory, file: Path) -> Mapping[str, Any]:
    try:
        return {} if first.options is None else _object_in(first.options)
    except (ValueError, RecursionError):
        raise ConfigError(f"{file}: the options of line 1 are no JSON object") from None


def _object_in(text: str) -> Mapping[str, Any]:
    found = parse_strict(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - of a file, not of a caller
    return cast("Mapping[str, Any]", found)


def _flat(options: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Name each option by its place, such as ``failures.rate``."""
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(cast("Mapping[str, Any]", value), f"{before}{name}.")
        else:
            yield f"{before}{name}", _words(value)


def _words(value: object) -> str:
    """Say a value: a text as it is, others as JSON, and what was not asked for by a dash."""
    if value is None:
        return "\u2013"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
