"""Verdicts under the home, a small file for each: satisfies the acceptance's ``VerdictStore``."""

import logging
import secrets
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from astra_mcp.environments.acceptance.verdict import Verdict

__all__ = ["StoredVerdicts"]

_log = logging.getLogger("astra_mcp.registry")
_verdicts = TypeAdapter(Verdict)


class StoredVerdicts:
    """The verdicts of one version of the acceptance."""

    def __init__(self, home: Path, version: str) -> None:
        """Look for them in the home; nothing is made there before the first one is kept."""
        self._folder = home / "verdicts" / version[:16]

    def find(self, content_hash: str) -> Verdict | None:
        """What was kept of a bundle; None where nothing was, or what is there is damaged."""
        try:
            head, _, body = self._file(content_hash).read_bytes().partition(b"\n")
            return _verdicts.validate_json(body) if head == _head(body) else None
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            _log.warning("a verdict cannot be read: %s", error)
            return None

    def keep(self, content_hash: str, verdict: Verdict) -> None:
        """Keep a verdict; one that cannot be written is logged: it saves time and nothing else."""
        body = _verdicts.dump_json(verdict)
        file = self._file(content_hash)
        draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_bytes(_head(body) + b"\n" + body)
            draft.replace(file)
        except OSError as error:
            _log.warning("a verdict cannot be written: %s", error)
            draft.unlink(missing_ok=True)

    def _file(self, content_hash: str) -> Path:
        return self._folder / content_hash[:2] / content_hash


def _head(body: bytes) -> bytes:
    return sha256(body).hexdigest().encode()
