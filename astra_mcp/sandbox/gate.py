"""Decides about each fork of a template's group: one passes per request of the host, the others fail.

The kernel stops the call and asks over a listener (seccomp user notification). The answer may be "go on",
because the flags that were checked are in a register, where nobody can change them afterwards.
"""

import errno
import fcntl
import os
import select
import struct

import anyio

__all__ = ["ForkGate"]

_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_QUESTION_BYTES = 80
_QUESTION = struct.Struct("QI")
"""Id of the question, process that asks."""
_VERDICT = struct.Struct("QqiI")
"""Id of the question, return value, errno, flags."""
_CONTINUE = 1


class ForkGate:
    """Answers the questions of one template and of the sessions that branch from it."""

    def __init__(self, listener: int, template: int) -> None:
        self._listener = listener
        self._template = template
        self._granted = False
        self.is_used = False
        """Whether a fork passed since the last grant."""
        self._questions = select.poll()
        self._questions.register(listener, select.POLLIN)
        self._scope = anyio.CancelScope()

    def grant(self) -> None:
        """Let the next fork of the template itself pass."""
        self._granted = True
        self.is_used = False

    def revoke(self) -> None:
        """Let no further fork pass."""
        self._granted = False

    async def watch(self) -> None:
        """Answer until the last process of the group is gone or the gate is closed."""
        try:
            with self._scope:
                while True:
                    await anyio.wait_readable(self._listener)
                    if not self._has_question():
                        return
                    self._answer()
        finally:
            os.close(self._listener)

    def close(self) -> None:
        """Stop watching; every fork fails from then on."""
        self._scope.cancel()

    def _has_question(self) -> bool:
        """False where the listener only says that nobody is left; reading it would block then."""
        return any(events & select.POLLIN for _, events in self._questions.poll(0))

    def _answer(self) -> None:
        question = bytearray(_QUESTION_BYTES)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, question)
            number, process = _QUESTION.unpack_from(question)
            passes = self._granted and process == self._template
            if passes:
                self._granted, self.is_used = False, True
            verdict = (0, 0, _CONTINUE) if passes else (0, -errno.EPERM, 0)
            fcntl.ioctl(self._listener, _ANSWER, _VERDICT.pack(number, *verdict))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINTR):  # the asking process was killed
                raise
