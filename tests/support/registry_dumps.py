"""Everything that a registry holds, to compare two of them."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import SQLModel

_TIMES = ("imported_at", "changed_at")


def dump(session: Session) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table in the order of their keys, without the times of importing."""
    tables = SQLModel.metadata.sorted_tables
    return {
        table.name: [
            {name: value for name, value in row.items() if name not in _TIMES}
            for row in session.execute(select(table).order_by(*table.primary_key)).mappings()
        ]
        for table in tables
    }
