"""Make the table of tasks."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make it."""
    op.create_table(
        "task",
        sa.Column("run", sa.String(), primary_key=True),
        sa.Column("id", sa.String(), primary_key=True, index=True),
        sa.Column("document", sa.JSON(), nullable=False),
    )
