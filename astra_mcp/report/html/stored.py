"""A report as JSON, so that another process shows it later."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import Report

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
        return _adapter().validate_json(content)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise ConfigError(
            f"{file} holds no report of this version: run its command again"
        ) from None


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Report)
