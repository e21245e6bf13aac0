"""Decides about each fork of a template's group: one passes per request of the host, the others fail.

The kernel stops the call and asks over a listener (seccomp user notification). The answer may be "go on",
because the flags that were checked are in a register, where nobody can change them afterwards. What came of
a fork is stopped once more, at its first step, and gets the session's channel in the place of its template's:
the host puts it there, whatever the code of the new process does.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import select
import signal
import socket
import struct
from collections import Counter
from collections.abc import Callable, Generator

from astra_mcp.errors import StartRefusedError
from astra_mcp.sandbox.zygote.seccomp import FORK_FLAGS
from astra_mcp.sandbox.zygote.settings import CHANNEL

__all__ = ["BranchRefusedError", "ForkGate"]

_RECEIVE, _ANSWER, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
_QUESTION_BYTES = 80
_QUESTION = struct.Struct("QII16xQ")
"""Id of the question, process that asks, flags; then, of the call, its first argument."""
_VERDICT = struct.Struct("QqiI")
"""Id of the question, return value, errno, flags."""
_DESCRIPTOR = struct.Struct("QIIII")
"""Id of the question, flags, descriptor here, descriptor there, flags of that."""
_CONTINUE = 1
_IN_THE_PLACE_OF, _AND_ANSWER = 1, 2
_ALL_SIGNALS = signal.valid_signals()
_PATIENCE = 16
"""How often a process may ask in vain in its life."""


class BranchRefusedError(StartRefusedError):
    """A healthy template could not fork, such as when memory is short."""


class ForkGate:
    """Answers the questions of one template and of the sessions that branch from it."""

    def __init__(self, listener: int, template: int, *, on_flood: Callable[[int], None]) -> None:
        """Take over a listener, and answer from now on.

        Args:
            listener: Closed where nobody is left to ask, and by :meth:`close`.
            template: Who may fork.
            on_flood: Told the process that asks in vain again and again.
        """
        self._listener: int | None = listener
        self._template = template
        self._on_flood = on_flood
        self._is_open = False
        """Whether the template may wait for its forks; until it has loaded they fail at once."""
        self._waiting: int | None = None
        """Question of the template, which is to fork when a session is wanted."""
        self._offered: socket.socket | None = None
        """Channel of the session to come."""
        self._has_forked = False
        """Whether a fork passed since the last grant."""
        self.newcomer = 0
        """Process that got the channel of the last grant, for whose id the kernel vouches; 0: none did."""
        self.refusal: BranchRefusedError | None = None
        """Why the template could not fork at the last grant."""
        self._members: set[int] = set()
        """Processes that got their channel."""
        self._refused: Counter[int] = Counter()
        self._questions = select.poll()
        self._questions.register(listener, select.POLLIN)
        asyncio.get_running_loop().add_reader(listener, self._on_readable)

    def open(self) -> None:
        """Have the template wait where it asks to fork, from now on."""
        self._is_open = True

    def grant(self, channel: socket.socket) -> None:
        """Let a fork of the template itself pass, and give what comes of it this end of a channel.

        It is closed here, at the latest by :meth:`revoke`; where no session comes, the other end shows that.
        """
        self._offered, self._has_forked = channel, False
        self.newcomer, self.refusal = 0, None
        if self._listener is None:  # nobody is left to take it
            self.revoke()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            with _asker_may_be_gone():
                self._let_fork(waiting)

    def revoke(self) -> None:
        """Let no further fork pass."""
        offered, self._offered = self._offered, None
        if offered is not None:
            offered.close()

    def forget(self, process: int) -> None:
        """Let go of a session that is gone; its number may be given to another."""
        self._members.discard(process)
        del self._refused[process]

    def close(self) -> None:
        """Stop answering; every fork fails from then on."""
        listener, self._listener = self._listener, None
        if listener is not None:
            asyncio.get_running_loop().remove_reader(listener)
            os.close(listener)
        self.revoke()

    def _on_readable(self) -> None:
        events = sum(events for _, events in self._questions.poll(0))
        if events & select.POLLIN:
            self._answer()
        elif events:  # nobody is left to ask; reading it would block
            self.close()
        # Else a signal has taken the question back, as tool code can have it: others go on asking.

    def _answer(self) -> None:
        question = bytearray(_QUESTION_BYTES)
        with _asker_may_be_gone():
            self._ask_kernel(_RECEIVE, question)
            number, process, _, argument = _QUESTION.unpack_from(question)
            is_template = process == self._template
            if argument == FORK_FLAGS and is_template and self._is_open:
                if self._offered is None or self._has_forked:
                    self._waiting = number
                else:
                    self._let_fork(number)
            elif argument == FORK_FLAGS or self._offered is None:
                self._refuse(number, process)
            elif is_template and argument:
                reason = os.strerror(argument)
                self.refusal = BranchRefusedError(f"a session could not be started: {reason}")
                self._say(number, value=0)
                self.revoke()
            elif self._has_forked and not is_template and process not in self._members:
                self._let_in(number, process, self._offered)
                self.revoke()
            else:
                self._refuse(number, process)

    def _let_fork(self, number: int) -> None:
        self._has_forked = True
        try:
            self._say(number, flags=_CONTINUE)
        except OSError:
            self._has_forked = False  # a signal came in between: it will ask again
            raise

    def _let_in(self, number: int, process: int, channel: socket.socket) -> None:
        """Replace the only descriptor of the process that asks; it is waited for until it has run."""
        place = (_IN_THE_PLACE_OF, channel.fileno(), CHANNEL, 0)
        try:
            with_answer = (place[0] | _AND_ANSWER, *place[1:])
            with (
                _no_signals()
            ):  # one that comes while the kernel waits leaves the answer without descriptor
                self._ask_kernel(_ADD_DESCRIPTOR, _DESCRIPTOR.pack(number, *with_answer))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            # Linux before 5.14 takes two steps.
            self._ask_kernel(_ADD_DESCRIPTOR, _DESCRIPTOR.pack(number, *place))
            self._say(number, value=CHANNEL)
        self._members.add(process)
        self.newcomer = process

    def _refuse(self, number: int, process: int) -> None:
        # Before it is answered: one that a signal takes back meanwhile was asked in vain as well.
        self._refused[process] += 1
        if self._refused[process] == _PATIENCE:
            self._on_flood(process)
        self._say(number, error=-errno.EPERM)

    def _say(self, number: int, *, value: int = 0, error: int = 0, flags: int = 0) -> None:
        self._ask_kernel(_ANSWER, _VERDICT.pack(number, value, error, flags))

    def _ask_kernel(self, request: int, argument: bytes | bytearray) -> None:
        while self._listener is not None:
            with contextlib.suppress(InterruptedError):
                fcntl.ioctl(self._listener, request, argument)
                return


@contextlib.contextmanager
def _no_signals() -> Generator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _asker_may_be_gone() -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESRCH):  # it was killed, or a signal came
            raise
