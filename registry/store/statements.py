"""Statements about many values or rows, in the words of either database.

Databases bound how many values stand in one statement. Rows are written in the order of their keys: two
transactions that wrote some of the same rows in two orders could wait for one another for ever.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Table
from sqlalchemy.orm import Session

__all__ = ["batches", "insert_missing", "insert_or_replace"]

Value = TypeVar("Value")


def batches(values: Iterable[Value], size: int) -> Iterator[list[Value]]:
    """Cut values into lists of at most so many, in their order."""
    remaining = iter(values)
    while batch := list(islice(remaining, size)):
        yield batch


def insert_missing(session: Session, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose primary key is not there yet; the others stay as they are."""
    if rows:
        statement = _insert(session, table)
        session.execute(statement.on_conflict_do_nothing(), _sorted(table, rows))


def insert_or_replace(session: Session, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, or give those of their primary keys their values; the last of equal keys holds."""
    if rows:
        keys = [column.name for column in table.primary_key]
        statement = _insert(session, table)
        values = {name: statement.excluded[name] for name in rows[0] if name not in keys}
        statement = statement.on_conflict_do_update(index_elements=keys, set_=values)
        session.execute(statement, _sorted(table, rows))


def _sorted(table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    keys = [column.name for column in table.primary_key]
    return sorted(rows, key=lambda row: [row[name] for name in keys])


def _insert(session: Session, table: Table) -> Any:
    """Begin an insertion in the words of the session's database; each dialect takes its time to load."""
    dialect = import_module(f"sqlalchemy.dialects.{session.connection().dialect.name}")
    return dialect.insert(table)
