"""Looking at a database without changing it: whether it can be used, and what it holds."""

import anyio.to_thread

from astra_mcp.concurrency import completed
from registry.store.database import Database
from registry.store.engines import Deadlines, make_engine
from registry.store.opening import is_current
from registry.store.servers import count_servers

__all__ = ["describe_database"]


async def describe_database(url: str, *, deadlines: Deadlines) -> str:
    """Say what a database holds; its tables are neither made nor migrated.

    Args:
        url: Of a database that exists; where a SQLite file does not, an empty one is made.
        deadlines: Of the reading.

    Raises:
        ConfigError: The URL is wrong, or the driver of its database is not installed.
        RegistryError: The database cannot be read, or a newer version of this program made it.
    """
    engine = make_engine(url, deadlines, connections=1)
    try:
        database = Database(engine, deadlines)
        if not await database.read(is_current):
            return "its tables are made or migrated at the next use"
        return f"{await database.read(count_servers)} servers are kept"
    finally:
        await completed(anyio.to_thread.run_sync(engine.dispose))
