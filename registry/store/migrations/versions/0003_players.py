"""Let the index of episodes say who played each, and in which run."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns, and have every record read again, which says it."""
    op.add_column("episode", sa.Column("player", sa.Text()))
    op.add_column("episode", sa.Column("run", sa.Text()))
    op.execute("UPDATE episode SET record_bytes = -1")
