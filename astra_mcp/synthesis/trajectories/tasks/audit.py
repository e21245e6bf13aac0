"""An audit of stored tasks by people: a sample to label, and what the labels come to."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Final, cast

from pydantic import Field, ValidationError, field_validator

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.chain import ToolRef
from astra_mcp.synthesis.trajectories.task import Axis, Task, TaskOrigin, TaskScores
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import FrozenModel

__all__ = [
    "AuditRow",
    "FlagRate",
    "flag_rates",
    "read_labels",
    "sample_tasks",
    "wilson_interval",
    "write_sample",
]

_CONFIDENCE: Final = 0.95


class AuditRow(FrozenModel):
    """A task that a person looks at; ``flag`` and ``reason`` are what they fill in."""

    id: str = Field(min_length=1)
    servers: tuple[str, ...] = ()
    origin: TaskOrigin
    axis: Axis
    language: str | None = None
    query: str = ""
    original: str | None = None
    """Of a variation."""
    chain: tuple[ToolRef, ...] = ()
    """The calls that it was written for; empty of a server-only task."""
    scores: TaskScores | None = None
    flag: bool | None = Field(strict=True)
    """True where the task should not be one, False where nothing is wrong; None, or an empty text, where
    nobody has looked."""
    reason: str = ""

    @field_validator("flag", mode="before")
    @classmethod
    def _is_looked_at(cls, value: object) -> object:
        return None if value == "" else value

    @classmethod
    def of(cls, task: Task) -> "AuditRow":
        """Write a task down, without a label."""
        return cls(
            id=task.id,
            servers=task.servers,
            origin=task.origin,
            axis=task.axis,
            language=task.language,
            query=task.query,
            original=task.original,
            chain=task.chain.steps if task.chain else (),
            scores=task.scores,
            flag=None,
        )


class FlagRate(FrozenModel):
    """How many of a group of tasks were flagged."""

    group: str
    """``all``, or the origin or the axis that its tasks share."""
    num_flagged: int
    num_labelled: int
    num_unlabelled: int
    rate: float | None
    """Of those that have a label; None where none has."""
    low: float
    """Of the 95 % interval of Wilson."""
    high: float


def sample_tasks(tasks: Iterable[Task], num: int, *, seed: int) -> list[Task]:
    """Draw tasks, each as likely as another, whatever the order in which they are given.

    Args:
        tasks: Of the store; of two with one id the first counts.
        num: How many; all of them where there are no more.
        seed: The same one draws the same of the same tasks.
    """
    by_id: dict[str, Task] = {}
    for task in tasks:
        by_id.setdefault(task.id, task)
    ids = sorted(by_id)
    drawn = generator(seed, "audit").sample(ids, min(num, len(ids)))
    return [by_id[id] for id in drawn]


def write_sample(tasks: Iterable[Task], path: Path) -> None:
    """Write tasks down to be labelled, one object on a line.

    Raises:
        ConfigError: There is such a file, which may hold labels, or it cannot be written.
    """
    rows = (AuditRow.of(task).model_dump(mode="json") for task in tasks)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        with path.open("xb") as file:
            try:
                file.write(text.encode("utf-8"))
            except OSError:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise ConfigError(
            f"{path} is there already, and may hold labels: name another file"
        ) from None
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from None


def read_labels(path: Path) -> list[AuditRow]:
    """Read a sample back, labelled wholly or in part.

    Raises:
        ConfigError: It cannot be read or is none; names the line and the field.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line} is no UTF-8: save the file as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    rows: dict[str, AuditRow] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _row(line, f"{path}, line {number}")
        if row.id in rows:
            raise ConfigError(f"{path}, line {number}: id: {row.id} stands twice; leave one line")
        rows[row.id] = row
    if not rows:
        raise ConfigError(f"{path} holds no task: give it the labelled sample")
    return [*rows.values()]


def _row(line: str, place: str) -> AuditRow:
    try:
        value = parse_strict(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{place} is no object: one task stands on each line")
    try:
        return AuditRow.model_validate(cast("dict[str, object]", value))
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(str(part) for part in fault["loc"])
        if field == "flag" and fault["type"] != "missing":
            told = "write true where something is wrong with the task, false where nothing is"
        else:
            told = fault_words(fault["type"], fault["msg"])
        raise ConfigError(f"{place}: {field}: {told}") from None


def flag_rates(rows: Sequence[AuditRow]) -> list[FlagRate]:
    """Count flags of all tasks, then by origin and by axis; groups without a task are left out."""
    groups: dict[str, list[AuditRow]] = {"all": [*rows]}
    for name in (*TaskOrigin, *Axis):
        members = [row for row in rows if name in (row.origin, row.axis)]
        if members:
            groups[name.value] = members
    return [_rate(group, members) for group, members in groups.items()]


def _rate(group: str, rows: Iterable[AuditRow]) -> FlagRate:
    flags = Counter(row.flag for row in rows)
    num_labelled = flags[True] + flags[False]
    low, high = wilson_interval(flags[True], num_labelled)
    return FlagRate(
        group=group,
        num_flagged=flags[True],
        num_labelled=num_labelled,
        num_unlabelled=flags[None],
        rate=flags[True] / num_labelled if num_labelled else None,
        low=low,
        high=high,
    )


def wilson_interval(num: int, total: int, confidence: float = _CONFIDENCE) -> tuple[float, float]:
    """Bound a share by the score interval. Source: Wilson 1927.

    Args:
        num: How many of them.
        total: Of how many; of none the share may be any.
        confidence: With which the interval holds the share, in (0, 1).
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, square = num / total, z * z / total
    middle = (share + square / 2) / (1 + square)
    reach = z * sqrt(share * (1 - share) / total + square / total / 4) / (1 + square)
    # The ends are exact where rounding would leave them beside 0 and 1.
    return 0.0 if num == 0 else middle - reach, 1.0 if num == total else middle + reach
