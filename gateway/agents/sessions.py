"""The sessions of the handshake era: where each was opened, what its client can do, when it was last used.

The SDK's session manager opens and ends them; requests that never reach it are seen here alone, so that idle
sessions are told here. Knows ids and endpoints; knows neither HTTP nor what a session asks for.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic

import anyio
from anyio.lowlevel import checkpoint
from mcp.shared.dispatcher import coerce_request_id

from astra_mcp.mcp.request_context import Cancellation
from astra_mcp.types import JsonValue
from gateway.agents.targets import Target

IDLE_SECONDS = 1800.0
OVER_SECONDS = 600.0
"""A session of an episode that ended by itself may be used for so long still: its agent thinks, and does not
know yet."""
CLOSED_SECONDS = 5.0
"""A session of an episode that was closed may be used for so long still, to ask for a lost answer."""
OPENED_SECONDS = 60.0
"""A session whose client never came back, not even to say that it is ready, is kept for so long."""
MAX_SESSIONS = 10_000
_ROUND_SECONDS = 5.0


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """One client's session at one endpoint."""

    id: str
    target: Target
    caller: str
    """Name whose state its requests use at an interactive endpoint."""
    version: str
    """The protocol revision that was agreed on."""
    capabilities: Mapping[str, JsonValue]
    """What its client declared."""
    last_used: float
    """By the clock of its :class:`Sessions`."""
    is_used: bool = False
    """True once its client came back with it."""
    num_held: int = 0
    """Requests and streams under way."""
    under_way: dict[str | int, Cancellation] = field(default_factory=dict[str | int, Cancellation])
    """Its requests that are being answered without the SDK, by id; whole numbers stand for their digits."""

    def cancel(self, request_id: str | int) -> None:
        """Cancel a request that is being answered without the SDK, if there is one of this id."""
        cancellation = self.under_way.get(coerce_request_id(request_id))
        if cancellation is not None:
            cancellation.set()


@dataclass(kw_only=True, eq=False)
class Sessions:
    """The open sessions of one gateway."""

    idle_seconds: float = IDLE_SECONDS
    """A session without a request for so long is idle."""
    max_sessions: int = MAX_SESSIONS
    """Beyond, those that were unused for longest count as idle."""
    now: Callable[[], float] = monotonic
    """Seconds of a clock that never goes back."""
    _open: dict[str, Session] = field(default_factory=dict[str, Session], init=False)
    _closed: set[Target] = field(default_factory=set[Target], init=False)

    def __len__(self) -> int:
        return len(self._open)

    def add(
        self,
        session_id: str,
        target: Target,
        *,
        caller: str,
        version: str,
        capabilities: Mapping[str, JsonValue],
    ) -> Session:
        """Remember a session that was opened."""
        session = Session(
            id=session_id,
            target=target,
            caller=caller,
            version=version,
            capabilities=capabilities,
            last_used=self.now(),
        )
        self._open[session_id] = session
        return session

    def find(self, session_id: str, target: Target) -> Session | None:
        """Find a session, which is thereby used; None where it is unknown or belongs elsewhere."""
        session = self._open.get(session_id)
        if session is None or session.target != target:
            return None
        session.last_used = self.now()
        session.is_used = True
        return session

    def is_elsewhere(self, session_id: str, target: Target) -> bool:
        """True where the session was opened at another endpoint: here it is none."""
        session = self._open.get(session_id)
        return session is not None and session.target != target

    def remove(self, session_id: str) -> Session | None:
        """Forget a session that has ended; answers what was known of it."""
        return self._open.pop(session_id, None)

    def note_closed(self, target: Target) -> None:
        """Take an endpoint for closed: its sessions are idle soon."""
        self._closed.add(target)

    def hold(self, session: Session) -> None:
        """Keep a session from being idle while a request or a stream of it is under way."""
        session.num_held += 1

    def release(self, session: Session) -> None:
        """Undo one :meth:`hold`."""
        session.num_held -= 1
        session.last_used = self.now()

    def idle(self, is_over: Callable[[Target], bool] = lambda _: False) -> tuple[Session, ...]:
        """Name the sessions that nobody used for too long, or ever, and those of which there are too many.

        Sessions at endpoints that ``is_over`` tells to take no more calls are idle sooner.
        """
        now = self.now()
        due, due_where_over = now - self.idle_seconds, now - OVER_SECONDS
        due_where_unused, due_where_closed = now - OPENED_SECONDS, now - CLOSED_SECONDS
        surplus = len(self._open) - self.max_sessions
        unused = sorted(
            (s for s in self._open.values() if not s.num_held), key=lambda s: s.last_used
        )
        return tuple(
            s
            for place, s in enumerate(unused)
            if place < surplus
            or s.last_used <= due
            or (s.last_used <= due_where_unused and not s.is_used)
            or (s.last_used <= due_where_closed and s.target in self._closed)
            or (s.last_used <= due_where_over and is_over(s.target))
        )

    async def end_idle(
        self, end: Callable[[Session], Awaitable[None]], is_over: Callable[[Target], bool]
    ) -> None:
        """End idle sessions until cancelled: each is forgotten here, then ended where it was opened.

        Others have their turn between any two: what a session leaves to be cancelled takes milliseconds, and
        clients that vanish leave dozens at once.
        """
        while True:
            await anyio.sleep(min(_ROUND_SECONDS, self.idle_seconds))
            for session, last_used in [(s, s.last_used) for s in self.idle(is_over)]:
                is_idle = not session.num_held and session.last_used == last_used  # still
                if is_idle and self.remove(session.id) is not None:
                    await end(session)
                    await checkpoint()
            if self._closed:
                self._closed.intersection_update(s.target for s in self._open.values())
