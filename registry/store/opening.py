"""Bringing a database to the tables of today, under a lock: two processes may open one at once."""

from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.orm import Session

from astra_mcp.errors import RegistryError
from registry.store import migrations

__all__ = ["is_current", "migrate"]

_LOCK = 0x61737472615F6D63
"""Of PostgreSQL's locks by number, the one that a migration holds; ``astra_mc`` in ASCII."""


def is_current(session: Session) -> bool:
    """True where nothing is to be done.

    Raises:
        RegistryError: A newer version of this program made it.
    """
    reached = _reached(session)
    known = {file.name[:4] for file in _folder().glob("versions/[0-9]*.py")}
    if reached is not None and reached not in known:
        msg = (
            f"the registry was made by a newer version of astra-mcp (its tables are of step {reached}): "
            "update astra-mcp, or name another database"
        )
        raise RegistryError(msg)
    return reached == migrations.HEAD


def migrate(session: Session) -> None:
    """Take the steps that are left, in the session's transaction.

    SQLite's writing transaction excludes others; PostgreSQL's takes a lock for it.
    """
    from alembic import command  # noqa: PLC0415 - takes longer to load than a database to open
    from alembic.config import Config  # noqa: PLC0415

    connection = session.connection()
    if connection.dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if is_current(session):
        return
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_folder()))
    command.upgrade(config, "head")


def _reached(session: Session) -> str | None:
    if not inspect(session.connection()).has_table("alembic_version"):
        return None
    return session.scalar(text("SELECT version_num FROM alembic_version"))


def _folder() -> Path:
    return Path(migrations.__file__).parent
