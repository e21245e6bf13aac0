"""What a sandbox offers to its users, whatever enforces it.

Two implementations: the locked zygote (:mod:`astra_mcp.sandbox.locked`) and plain processes for trusted
code on platforms without it (:mod:`astra_mcp.sandbox.unsandboxed`). Everything a session says is data
from untrusted code: its values are never evaluated, its claims about itself never trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NewType, Protocol, Self

from pydantic import Field

from astra_mcp.sandbox.memory import machine_memory
from astra_mcp.types import FrozenModel, JsonValue

__all__ = [
    "ModuleId",
    "Raised",
    "Returned",
    "Sandbox",
    "SandboxLimits",
    "SandboxReport",
    "SandboxSession",
]

ModuleId = NewType("ModuleId", str)
"""Hash of a module's source text and load seed; the same source is compiled once."""


class SandboxLimits(FrozenModel):
    """Bounds of the processes; all but ``total_memory_bytes`` and ``idle_templates`` of one session's.

    The host enforces the hard ones.
    """

    memory_bytes: int = Field(default=512 << 20, ge=64 << 20)
    """Address space of the process (RLIMIT_AS), which is its total: it has no children."""
    total_memory_bytes: int | None = Field(default=None, ge=64 << 20)
    """What all processes of a sandbox may hold together; half of the machine's memory where it is None, which
    the workers of a gateway share. Where they hold more, the largest is stopped."""
    cpu_seconds: int = Field(default=60, ge=1)
    """Processor time over the life of the session (RLIMIT_CPU)."""
    load_seconds: float = Field(default=5.0, gt=0)
    """Time to execute the module, once per template; counted like ``hard_seconds``."""
    soft_seconds: float = Field(default=2.0, gt=0)
    """Processor time of a call after which it is interrupted inside; tool code can swallow it."""
    hard_seconds: float = Field(default=5.0, gt=0)
    """Time of a call after which the host kills the process; the authority. It is wall time for a tool
    that waits; one that the machine keeps from running gets as much processor time, within ten times the
    wall time."""
    result_bytes: int = Field(default=1 << 20, ge=1024)
    """Size of one encoded result; a larger one becomes an error of the tool."""
    output_bytes: int = Field(default=64 << 10, ge=0)
    """How much printed text is kept per call; the rest is dropped."""
    idle_templates: int = Field(default=32, ge=1)
    """Processes without a session that are kept, the last ones used, to make the next session from; one that
    has sessions is never closed for others."""

    def shared_among(self, sandboxes: int) -> Self:
        """Limits of each of so many sandboxes, of which none is to take the memory that is meant for all."""
        if self.total_memory_bytes is not None:
            return self
        return self.model_copy(update={"total_memory_bytes": machine_memory() // 2 // sandboxes})


class SandboxReport(FrozenModel):
    """What isolates tool code on this machine."""

    backend: str
    """``zygote`` or ``unsandboxed``."""
    machine: str
    """Processor architecture, such as ``x86_64``."""
    seccomp: bool
    no_new_privs: bool
    rlimits: bool
    landlock_abi: int
    """0 where landlock is missing."""
    uid: int
    """User id that tool code runs as."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the required layers that are missing; empty where the sandbox can run."""
        layers = {
            "seccomp": self.seccomp,
            "no_new_privs": self.no_new_privs,
            "rlimits": self.rlimits,
        }
        return tuple(name for name, present in layers.items() if not present)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Layers that strengthen the sandbox and are missing; marked in every record."""
        if self.backend == "unsandboxed":
            return ("unsandboxed",)
        return () if self.landlock_abi else ("no landlock",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The tool returned."""

    value: JsonValue
    """What it returned, as JSON."""
    output: str = ""
    """What it printed; never part of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """The tool raised; the session lives on."""

    kind: str
    """Name of the exception's class; ``Timeout`` for the soft limit, ``NotJson`` for a value that
    JSON cannot carry, ``ResultTooLarge`` for one over the limit of bytes or of values."""
    message: str
    """At most 2,000 characters; without path or traceback."""
    output: str = field(default="", kw_only=True)
    is_timeout: bool = False
    """The soft limit interrupted it: how far it came depends on the machine, and so does the state."""


class SandboxSession(Protocol):
    """One episode's process. Calls run one at a time; a second one waits for the first."""

    async def call(self, function: str, arguments: Mapping[str, JsonValue]) -> Returned | Raised:
        """Call a public top-level function of the module by keyword arguments.

        The virtual clock advances by one second before each call.

        Raises:
            SandboxDiedError: The process ended or was killed for what the tool did (time, memory,
                exit, forged reply). The session is dead; every later call raises the same.
            SandboxLostError: The process ended for no fault of the tool; otherwise alike.
        """
        ...

    async def aclose(self) -> None:
        """Kill the process and wait until it is gone; closing twice is allowed."""
        ...


class Sandbox(Protocol):
    """Owner of the processes that run tool code. Opened by ``open_sandbox``."""

    @property
    def report(self) -> SandboxReport:
        """What isolates the sessions."""
        ...

    async def load(
        self, code: str, *, load_seed: int = 0, clock: datetime, layout: int = 0
    ) -> ModuleId:
        """Compile a module and execute it once as a template, in a locked process.

        Loading the same code twice is free. Templates are few and evicted when unused; a session of an
        evicted one builds it anew. Of thousands, one that was not loaded for long must be loaded again.

        Args:
            code: Source text of the module.
            load_seed: Seed under which it is executed.
            clock: Time at which it is executed.
            layout: How the memory is laid out in which it is executed; results must not depend on it.

        Raises:
            ToolCodeError: Does not compile, or raised while it was executed; names the line.
        """
        ...

    async def open_session(
        self, module: ModuleId, *, seed: int, clock: datetime | None = None
    ) -> SandboxSession:
        """Start one episode's process from a module's template.

        Random numbers, uuids and the clock depend on ``seed``, ``clock``, the module and the calls alone.
        The clock starts where the module's did, unless another time is given. The caller closes the session.

        Raises:
            SandboxError: The process could not be started.
        """
        ...
