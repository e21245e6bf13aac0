"""Text as it may be shown: escaped, laid out in tables that fit 80 columns, and drawn beside bars.

Documents, records, servers, models and arguments write most of what is printed. None of it may steer the
terminal, draw markup, or pass for a line of ours: so a string is always shown as it is, and only
:func:`styled` gives it a style. Nothing outside this package imports ``rich``.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.progress import (
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

from astra_mcp.text.plain import visible

__all__ = [
    "Cell",
    "Column",
    "Progress",
    "ProgressColumn",
    "Table",
    "TaskID",
    "TimeRemainingColumn",
    "Words",
    "cut",
    "json_text",
    "number",
    "shown_time",
    "styled",
    "utc_text",
    "whole",
]

Cell = str | Text
"""A string, which is escaped, or what :func:`styled` made of some."""


def cut(text: str, length: int) -> str:
    """Put a text into one line of so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def json_text(value: object) -> str:
    """Write a value down as programs do, in one line."""
    return json.dumps(value, ensure_ascii=False)


def shown_time(at: datetime) -> str:
    """Write a moment down for people: always UTC, and to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def utc_text(at: datetime) -> str:
    """Write a moment down for programs, in full and as records have it: in UTC, with a ``Z`` behind it."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def styled(*parts: str | tuple[str, str]) -> Text:
    """Join texts, each as it is or with a style: ``styled(("error:", "bold red"), " ", message)``."""
    pairs = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(*((visible(text), style) for text, style in pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    name: str
    is_whole: bool = False
    """Never wrapped, since its words are short; the other columns give way."""
    is_number: bool = False


def whole(name: str) -> Column:
    """Describe a column of short words."""
    return Column(name=name, is_whole=True)


def number(name: str) -> Column:
    """Describe a column of figures."""
    return Column(name=name, is_whole=True, is_number=True)


class Table:
    """A table in as many columns as the terminal has; long texts wrap, and nothing is cut off."""

    def __init__(self, *columns: str | Column, header: bool = True) -> None:
        """Name the columns; a bare name is one whose texts wrap.

        Args:
            *columns: In order.
            header: False to leave their names out.
        """
        self.drawn = RichTable(
            box=SIMPLE_HEAD if header else None,
            show_header=header,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for column in columns:
            form = Column(name=column) if isinstance(column, str) else column
            self.drawn.add_column(
                styled(form.name),
                justify="right" if form.is_number else "left",
                no_wrap=form.is_whole,
                min_width=len(form.name) if form.is_whole else None,
                overflow="fold",
            )

    def add_row(self, *cells: Cell, style: str | None = None) -> None:
        """Add a row; a string stays one line of its own making, however many it holds."""
        shown = (styled(_one_line(cell)) if isinstance(cell, str) else cell for cell in cells)
        self.drawn.add_row(*shown, style=style)


class Words(ProgressColumn):
    """A text beside a bar."""

    def __init__(self, field: str | None = None) -> None:
        """Name the text.

        Args:
            field: Of the task; None for its description.
        """
        super().__init__()
        self._field = field

    def render(self, task: Task) -> Text:
        """Show it as it is, in one line."""
        text = task.description if self._field is None else task.fields[self._field]
        return styled(_one_line(text))


def _one_line(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", r"\n")
