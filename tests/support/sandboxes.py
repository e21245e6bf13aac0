"""Sessions of sandboxes, all at one time of the virtual clock."""

from datetime import UTC, datetime

from astra_mcp.sandbox import Sandbox
from astra_mcp.sandbox.session import ProcessSession

__all__ = ["CLOCK", "opened"]

CLOCK = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Where virtual clocks start."""


async def opened(sandbox: Sandbox, code: str, *, seed: int = 1) -> ProcessSession:
    """Load a module and open a session of it."""
    session = await sandbox.open_session(await sandbox.load(code, clock=CLOCK), seed=seed)
    assert isinstance(session, ProcessSession)
    return session
