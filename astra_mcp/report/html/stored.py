"""A report as JSON, so that another process shows it later."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import BarChart, DataTable, LinePlot, Report

__all__ = ["read_report", "report_bytes"]

_MAX_BYTES = 16 << 20
"""Of a stored report; a longer one is not read."""


def report_bytes(report: Report) -> bytes:
    """Write a report down."""
    # Texts of models may hold what is no text: pydantic's own writer refuses all of it then.
    values = _adapter().dump_python(report, mode="json")
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")


def read_report(file: Path) -> Report:
    """Read a report that was written down.

    Raises:
        ConfigError: The file cannot be read, or is of no report.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ConfigError(f"{file} has more than {_MAX_BYTES:,} bytes, and is not shown")
        return _sound(_adapter().validate_json(content))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError:  # of its form, or of its numbers
        raise ConfigError(
            f"{file} holds no report of this version: run its command again"
        ) from None


def _sound(report: Report) -> Report:
    """Find out whether the parts of a report can be shown.

    Raises:
        ValueError: A row or a line has another number of values than its columns, or a bar is negative.
    """
    for part in (part for section in report.sections for part in section.parts):
        match part:
            case DataTable():
                is_sound = all(len(row) <= len(part.columns) for row in part.rows)
                is_sound &= len(part.paths) in (0, len(part.rows))
            case LinePlot():
                is_sound = all(len(line.values) == len(part.x) for line in part.series)
            case BarChart():
                is_sound = all(bar.count >= 0 for bar in part.bars)
            case _:
                is_sound = True
        if not is_sound:
            raise ValueError(part.caption)
    return report


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Report)
