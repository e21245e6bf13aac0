"""The keys of the gateway: the control key file, and comparison in constant time.

The control key opens the control plane, where gold and rewards can be read. It lies in
``$ASTRA_MCP_HOME/control.key``, readable by its owner alone, so that an agent that runs as another user
cannot read it. Knows files and bytes, no HTTP.
"""

import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from astra_mcp.errors import ConfigError

__all__ = [
    "MIN_KEY_LENGTH",
    "control_key_path",
    "derive_secret",
    "ensure_control_key",
    "is_known",
    "read_control_key",
]

MIN_KEY_LENGTH = 16
"""Shorter API keys are refused: they can be guessed."""
_KEY_BYTES = 32
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def control_key_path(home: Path) -> Path:
    """Name the file of the control key."""
    return home / "control.key"


def ensure_control_key(home: Path) -> str:
    """Read the control key; make one where there is none. Concurrent starts agree on one key.

    Raises:
        ConfigError: Others can read the file, it is empty, or the folder cannot be written.
    """
    path = control_key_path(home)
    if not path.exists():
        try:
            _create(path)
        except OSError as error:
            msg = f"{path} cannot be written ({error.strerror}): choose another ASTRA_MCP_HOME"
            raise ConfigError(msg) from None
    return read_control_key(home)


def read_control_key(home: Path) -> str:
    """Read the control key of a gateway that was started before.

    Raises:
        ConfigError: There is no key, others can read it, or it is empty.
    """
    path = control_key_path(home)
    try:
        with path.open(encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode
            key = file.read().strip()
    except FileNotFoundError:
        msg = f"{path} does not exist: `astra-mcp serve` makes it at its first start"
        raise ConfigError(msg) from None
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read ({error}): is it your own ASTRA_MCP_HOME?"
        raise ConfigError(msg) from None
    if os.name == "posix" and mode & _OTHERS:
        raise ConfigError(
            f"{path} can be read by others (mode {stat.S_IMODE(mode):o}), so it may be known: "
            "delete it and start the gateway again to get a new one"
        )
    if len(key) < MIN_KEY_LENGTH:
        msg = f"{path} holds no key: delete it and start the gateway again to get a new one"
        raise ConfigError(msg)
    return key


def derive_secret(control_key: str) -> bytes:
    """Derive the secret of episode keys and interactive states; as stable as the control key."""
    return hmac.digest(control_key.encode(), b"astra-mcp/episodes", "sha256")


def is_known(given: str, keys: Iterable[str]) -> bool:
    """Compare a key with all known ones in a time that depends on none of them."""
    digest = sha256(given.encode()).digest()
    known = False
    for key in keys:
        known |= hmac.compare_digest(digest, sha256(key.encode()).digest())
    return known


def _create(path: Path) -> None:
    """Write a new key whole or not at all, and never over another one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(draft, flags, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(_KEY_BYTES) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another start was faster; its key holds
    finally:
        draft.unlink()
