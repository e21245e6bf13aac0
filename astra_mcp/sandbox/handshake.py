"""The first conversation with a tool process: give it a module, give it a seed.

Knows the wire and the module's text; does not know how the process came to be.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Self

import anyio

from astra_mcp.errors import SandboxError, ToolCodeError
from astra_mcp.sandbox.channel import Channel, ChannelClosedError, Message, OversizedMessageError
from astra_mcp.sandbox.deadline import exchange_within
from astra_mcp.sandbox.protocol import ModuleId, SandboxLimits
from astra_mcp.sandbox.replies import MalformedReplyError, head_limit, parse_head
from astra_mcp.sandbox.runtime import START_SECONDS
from astra_mcp.types import canonical_json

__all__ = [
    "ModuleSource",
    "begin_session",
    "load_module",
    "nanoseconds",
    "wait_until_up",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEAD_LIMIT = head_limit(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleSource:
    """A module as it is loaded: its text, and the world in which it is executed once."""

    id: ModuleId
    code: str
    load_seed: int
    clock: int
    """Time of its virtual clock, in nanoseconds since 1970-01-01 UTC."""
    layout: int
    """How the memory is laid out in which it is executed."""

    @classmethod
    def of(cls, code: str, *, load_seed: int, clock: datetime, layout: int) -> Self:
        """Name a module by everything that its execution depends on.

        Raises:
            ValueError: The clock carries no time zone.
        """
        time = nanoseconds(clock)
        digest = sha256(canonical_json([code, str(load_seed), time, layout])).hexdigest()
        return cls(id=ModuleId(digest), code=code, load_seed=load_seed, clock=time, layout=layout)


def nanoseconds(clock: datetime) -> int:
    """Tell a time as processes are told it: since 1970-01-01 UTC.

    Raises:
        ValueError: The clock carries no time zone.
    """
    if clock.tzinfo is None:
        raise ValueError("the clock of a module needs a time zone")
    return (clock - _EPOCH) // timedelta(microseconds=1) * 1000


async def wait_until_up(channel: Channel) -> int | None:
    """Wait for a new process; returns the descriptor that came with its first words, if any.

    Raises:
        SandboxError: It did not come up.
    """
    try:
        with anyio.fail_after(START_SECONDS):
            _, descriptors = await channel.receive_with_descriptors(head_limit=_HEAD_LIMIT)
    except TimeoutError as error:
        raise SandboxError("a tool process did not start in time") from error
    return descriptors[0] if descriptors else None


async def load_module(
    channel: Channel, source: ModuleSource, limits: SandboxLimits, *, pid: int
) -> None:
    """Have a process compile and execute a module.

    Raises:
        ToolCodeError: It does not compile, it raised, it took too long, or it ended its process.
        SandboxError: The machine was too busy to execute it.
    """

    async def load() -> Message:
        await channel.send(request, source.code.encode("utf-8", "replace"))
        return await channel.receive(head_limit=_HEAD_LIMIT, body_limit=0)

    request: dict[str, object] = {
        "op": "load",
        "seed": source.load_seed,
        "clock": source.clock,
        "layout": source.layout,
    }
    try:
        head = parse_head(await exchange_within(limits.load_seconds, channel, pid, load))
    except TimeoutError as error:
        seconds = f"{limits.load_seconds:g}"
        raise ToolCodeError(f"tools.py: takes longer than {seconds} s to load") from error
    except ChannelClosedError as error:
        raise ToolCodeError("tools.py: ended its process while it was loaded") from error
    except (MalformedReplyError, OversizedMessageError) as error:
        raise ToolCodeError("tools.py: tampered with its process while it was loaded") from error
    if head.get("status") != "loaded":
        line = head.get("line")
        place = f"tools.py line {line}" if isinstance(line, int) else "tools.py"
        raise ToolCodeError(f"{place}: {head.get('kind')}: {head.get('message')}")


async def begin_session(channel: Channel, *, seed: int, clock: int) -> None:
    """Set clock and seed of a process that holds the module.

    Raises:
        SandboxError: It did not answer as it should.
    """
    try:
        with anyio.fail_after(START_SECONDS):
            await channel.send({"op": "begin", "seed": seed, "clock": clock})
            message = await channel.receive(head_limit=_HEAD_LIMIT, body_limit=0)
    except TimeoutError as error:
        raise SandboxError("a session did not start in time") from error
    if parse_head(message).get("status") != "ready":
        raise SandboxError("a session did not start as it should")
