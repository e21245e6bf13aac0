"""The world of a session: its seed, clock and layout of memory, the same in examination and in service.

All of it follows from the bundle's content and the episode's seed, by a hash that tool code cannot take: it
would have to know the document and itself. No secret of a machine is in it, so an episode can be replayed
anywhere.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from astra_mcp.environments.bundle import Bundle
from astra_mcp.sandbox.protocol import Sandbox, SandboxSession
from astra_mcp.seeds import derive_seed

__all__ = ["NUM_LAYOUTS", "World", "seconds_left", "start_session"]

NUM_LAYOUTS = 2
"""How many layouts of memory there are; each has a template of its own."""
_LATEST = timedelta(hours=4)
"""How much later than the document's clock that of a session stands at most."""
_MARGIN = timedelta(minutes=10)
"""What a session has before the day ends: a second for each call, and its pauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What differs between two sessions of one bundle before their first call."""

    seed: int
    """Decides random numbers and uuids."""
    clock: datetime
    """Where the virtual clock starts."""
    layout: int
    """Number of the layout of memory."""

    @classmethod
    def of(cls, content_hash: str, clock: datetime, episode_seed: int) -> Self:
        """Derive the world of one session.

        Args:
            content_hash: That of the bundle.
            clock: The document's.
            episode_seed: Seed that the session was opened with.
        """
        root = derive_seed(int(content_hash, 16), "session", episode_seed)
        seconds = derive_seed(root, "clock") % seconds_left(clock)
        return cls(
            seed=derive_seed(root, "seed"),
            clock=clock + timedelta(seconds=seconds),
            layout=derive_seed(root, "layout") % NUM_LAYOUTS,
        )


async def start_session(sandbox: Sandbox, bundle: Bundle, world: World) -> SandboxSession:
    """Start a process that holds a bundle's initial state: the one way in which any is started.

    Raises:
        ToolCodeError: The tool code does not load.
        SandboxError: The process could not be started.
    """
    document = bundle.document
    module = await sandbox.load(
        bundle.code, load_seed=document.load_seed, clock=document.clock, layout=world.layout
    )
    return await sandbox.open_session(module, seed=world.seed, clock=world.clock)


def seconds_left(clock: datetime) -> int:
    """How many whole seconds later a session may start, such that "today" stays the same day.

    It is that of the document's zone, and the one that tools see without naming a zone: UTC.
    """
    left = min(_until_midnight(clock), _until_midnight(clock.astimezone(UTC))) - _MARGIN
    return max(1, min(left, _LATEST) // timedelta(seconds=1))


def _until_midnight(clock: datetime) -> timedelta:
    midnight = clock.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return midnight - clock
