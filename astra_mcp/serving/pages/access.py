"""Who may see the pages: links that let in once, the sessions that they begin, and the secret of forms.

A link is known by the process that made it, until it is used or its time is over. A session is a cookie that
every process of the home can check, since its signature follows from the control key; one that was ended
before its time leaves a file in the home. Knows no HTTP.
"""

import hmac
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

__all__ = ["LINK_SECONDS", "SESSION_SECONDS", "LoginLinks", "Session", "Sessions"]

LINK_SECONDS = 600.0
SESSION_SECONDS = 12 * 3600
_MAX_LINKS = 64
"""Unused links that are remembered; beyond, the oldest one is forgotten."""
_MAX_WRONG = 10
"""So many wrong links may be tried at once."""
_WRONG_SECONDS = 1.0
"""After so long one more may be; a right one always."""
_BYTES = 32


class _Link(NamedTuple):
    path: str
    until: float


class LoginLinks:
    """The links of one process that nobody has used yet."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        """Know of none.

        Args:
            now: Seconds since any moment.
        """
        self._now = now
        self._links: dict[bytes, _Link] = {}
        self._full_at = 0.0
        """When as many wrong ones may be tried as ever."""

    def mint(self, path: str) -> str:
        """Make the token of a link that leads to a page."""
        token = secrets.token_hex(_BYTES)
        while len(self._links) >= _MAX_LINKS:
            del self._links[next(iter(self._links))]
        self._links[_digest(token)] = _Link(path, self._now() + LINK_SECONDS)
        return token

    def redeem(self, token: str) -> str | None:
        """Use a token up: where its link leads, or None where it is wrong, used or too old."""
        link = self._links.pop(_digest(token), None)
        if link is not None and self._now() < link.until:
            return link.path
        if not self.wait_seconds:
            self._full_at = max(self._full_at, self._now()) + _WRONG_SECONDS
        return None

    @property
    def wait_seconds(self) -> float:
        """So long wrong tokens are told to wait, since too many were tried; 0 as a rule."""
        return max(0.0, self._full_at - self._now() - (_MAX_WRONG - 1) * _WRONG_SECONDS)


class Session(NamedTuple):
    """A browser that was let in."""

    id: str
    form_token: str
    """What every form of it must send: a page of somebody else does not know it."""
    until: float
    """Seconds since the epoch; its end."""


class Sessions:
    """Makes and checks what a browser keeps; all processes of a home agree."""

    def __init__(
        self, control_key: str, ended: Path, *, now: Callable[[], float] = time.time
    ) -> None:
        """Derive the key of signatures.

        Args:
            control_key: Another one ends all sessions.
            ended: A folder that says which sessions were ended before their time; made when one is.
            now: Seconds since the epoch.
        """
        self._key = hmac.digest(control_key.encode(), b"astra-mcp/pages", "sha256")
        self._ended = ended
        self._now = now

    def begin(self) -> str:
        """Make the value of a cookie."""
        told = f"{int(self._now()) + SESSION_SECONDS}.{secrets.token_hex(16)}"
        return f"{told}.{self._sign('session', told)}"

    def find(self, value: str) -> Session | None:
        """Read the value of a cookie; None where we did not write it, or its time is over."""
        told, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", told).encode()):
            return None
        until, _, id_ = told.partition(".")
        found = Session(id_, self._sign("form", id_), float(until))
        return found if self.lasts(found) else None

    def lasts(self, session: Session) -> bool:
        """Tell whether its time is not over and nobody has ended it."""
        return self._now() < session.until and not self._file(session).exists()

    def end(self, session: Session) -> None:
        """Take its cookie no more, whoever has a copy of it.

        Raises:
            OSError: That cannot be written down now.
        """
        self._ended.mkdir(mode=0o700, exist_ok=True)
        for old in self._ended.iterdir():
            until = old.name.partition(".")[0]
            if until.isdecimal() and int(until) <= self._now():
                old.unlink(missing_ok=True)  # another process may have been faster
        self._file(session).touch(mode=0o600)

    def _file(self, session: Session) -> Path:
        return self._ended / f"{int(session.until)}.{session.id}"

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.digest(self._key, f"{purpose}\0{text}".encode(), "sha256").hex()


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
