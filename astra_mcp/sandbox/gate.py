"""Decides about each fork of a template's group: one passes per request of the host, the others fail.

The kernel stops the call and asks over a listener (seccomp user notification). The answer may be "go on",
because the flags that were checked are in a register, where nobody can change them afterwards. What came of
a fork is stopped once more, at its first step, and gets the session's channel in the place of its template's:
the host puts it there, whatever the code of the new process does.
"""

import contextlib
import errno
import fcntl
import os
import select
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import anyio
from anyio import to_thread

from astra_mcp.errors import SandboxError
from astra_mcp.sandbox.runtime import START_SECONDS
from astra_mcp.sandbox.zygote.seccomp import FORK_FLAGS
from astra_mcp.sandbox.zygote.settings import CHANNEL

__all__ = ["BranchRefusedError", "ForkGate"]

_RECEIVE, _ANSWER, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_QUESTION_BYTES = 80
_QUESTION = struct.Struct("QII16xQQQ")
"""Id of the question, process that asks, flags; then, of the call, its first three arguments."""
_VERDICT = struct.Struct("QqiI")
"""Id of the question, return value, errno, flags."""
_DESCRIPTOR = struct.Struct("QIIII")
"""Id of the question, flags, descriptor here, descriptor there, flags of that."""
_CONTINUE = 1
_IN_THE_PLACE_OF = 1
_PATIENCE = 16
"""How often a process may ask in vain in its life."""


class BranchRefusedError(SandboxError):
    """A healthy template could not fork, such as when memory is short."""


class _Question(NamedTuple):
    number: int
    process: int
    first: int
    """Flags of a fork; else the call is the first step of a new process."""
    told: int
    """Why there is no new process, where its template takes that step."""


class ForkGate:
    """Answers the questions of one template and of the sessions that branch from it."""

    def __init__(self, listener: int, template: int, *, on_flood: Callable[[int], None]) -> None:
        """Take over a listener.

        Args:
            listener: Closed by :meth:`watch`.
            template: Who may fork.
            on_flood: Told the process that asks in vain again and again.
        """
        self._listener = listener
        self._template = template
        self._on_flood = on_flood
        self._offered: int | None = None
        """Channel of the session to come, between grant and revocation."""
        self._has_forked = False
        """Whether a fork passed since the last grant."""
        self._members: set[int] = set()
        """Processes that got their channel."""
        self._refused: Counter[int] = Counter()
        self._outcome: int | BranchRefusedError | None = None
        self._decided = anyio.Event()
        self._questions = select.poll()
        self._questions.register(listener, select.POLLIN)
        self._scope = anyio.CancelScope()

    def grant(self, channel: int) -> None:
        """Let the next fork of the template itself pass, and give what comes of it this descriptor."""
        self._offered, self._has_forked = channel, False
        self._outcome, self._decided = None, anyio.Event()

    async def newcomer(self) -> int:
        """Wait until a new process has its channel; returns its id, for which the kernel vouches.

        Raises:
            BranchRefusedError: The template could not fork.
            SandboxError: No new process came.
        """
        try:
            with anyio.fail_after(START_SECONDS):
                await self._decided.wait()
        except TimeoutError as error:
            raise SandboxError("a session did not start in time") from error
        match self._outcome:
            case int(process):
                return process
            case BranchRefusedError() as refusal:
                raise refusal
            case None:
                raise SandboxError("a process ended while a session was to be made of it")

    def revoke(self) -> None:
        """Let no further fork pass."""
        self._offered = None

    def forget(self, process: int) -> None:
        """Let go of a session that is gone; its number may be given to another."""
        self._members.discard(process)
        del self._refused[process]

    async def watch(self) -> None:
        """Answer until the last process of the group is gone or the gate is closed."""
        try:
            with self._scope:
                while True:
                    await anyio.wait_readable(self._listener)
                    if not self._has_question():
                        return
                    await self._answer()
        finally:
            self._decided.set()
            os.close(self._listener)

    def close(self) -> None:
        """Stop watching; every fork fails from then on."""
        self._scope.cancel()

    def _has_question(self) -> bool:
        """False where the listener only says that nobody is left; reading it would block then."""
        return any(events & select.POLLIN for _, events in self._questions.poll(0))

    async def _answer(self) -> None:
        buffer = bytearray(_QUESTION_BYTES)
        with _asker_may_be_gone():
            fcntl.ioctl(self._listener, _RECEIVE, buffer)
            number, process, _, first, _, told = _QUESTION.unpack_from(buffer)
            question = _Question(number, process, first, told)
            if await self._passes(question):
                self._say(question, (0, 0, _CONTINUE))
                return
            self._say(question, (0, -errno.EPERM, 0))
            self._refused[process] += 1
            if self._refused[process] == _PATIENCE:
                self._on_flood(process)

    async def _passes(self, question: _Question) -> bool:
        if self._offered is None or question.process in self._members:
            return False
        is_template = question.process == self._template
        if question.first == FORK_FLAGS:
            may_fork = is_template and not self._has_forked
            self._has_forked |= may_fork
            return may_fork
        if is_template and question.told:
            reason = os.strerror(question.told)
            self._decide(BranchRefusedError(f"a session could not be started: {reason}"))
        elif self._has_forked and not is_template:
            await self._let_in(question, self._offered)
        else:
            return False
        return True

    async def _let_in(self, question: _Question, channel: int) -> None:
        self._offered = None
        self._members.add(question.process)
        try:
            # In a thread: it waits for the process to be run, which on a busy machine is not at once.
            await to_thread.run_sync(self._put, question.number, os.dup(channel))
        except OSError:
            self._decided.set()  # without an outcome: it is gone
            raise
        self._decide(question.process)

    def _put(self, number: int, channel: int) -> None:
        """Replace the only descriptor of the process that asks."""
        request = _DESCRIPTOR.pack(number, _IN_THE_PLACE_OF, channel, CHANNEL, 0)
        try:
            while True:
                with contextlib.suppress(InterruptedError):
                    fcntl.ioctl(self._listener, _ADD_DESCRIPTOR, request)
                    return
        finally:
            os.close(channel)

    def _decide(self, outcome: int | BranchRefusedError) -> None:
        self._outcome = outcome
        self._decided.set()

    def _say(self, question: _Question, verdict: tuple[int, int, int]) -> None:
        fcntl.ioctl(self._listener, _ANSWER, _VERDICT.pack(question.number, *verdict))


@contextlib.contextmanager
def _asker_may_be_gone() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EINTR):  # it was killed
            raise
