"""The steps by which a database of the registry comes to the tables of today; package data of Alembic.

Knows the tables as they were at each step, never as :mod:`registry.store.tables` has them now: a step that
was published never changes. Only :mod:`registry.store.database` runs them.
"""

from typing import Final

__all__ = ["HEAD"]

HEAD: Final = "0003"
"""The last step. A database that stands there is opened without loading Alembic, which takes its time."""
