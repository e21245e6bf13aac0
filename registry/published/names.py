"""The names of what is published, in small files under the home: what TAB offers opens nothing else.

Whoever publishes writes them anew; whoever completes a word reads them. Needs the standard library alone,
so that reading costs a shell no time. What they say may be old: a command asks the catalog itself.
"""

import logging
import secrets
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["NameKind", "Names", "read_names", "write_names"]

_FOLDER: Final = "names"
_log = logging.getLogger("astra_mcp.registry")


class NameKind(StrEnum):
    """Who publishes a name; each kind has a file of its own, so that none waits for another."""

    ENVIRONMENTS = "environments"
    """Bundles: those that ship with the package and those of the settings' folders."""
    DEPLOYED = "deployed"
    """Real servers, which the file of servers names."""
    REGISTERED = "registered"
    """Servers that the registry keeps, crawled ones included."""


class Names(NamedTuple):
    """What was published when it was last written down; each in the order of the names."""

    environments: tuple[str, ...]
    deployed: tuple[str, ...]
    registered: tuple[str, ...]

    @property
    def servers(self) -> tuple[str, ...]:
        """All of them: every environment is a server too."""
        return tuple(sorted({*self.environments, *self.deployed, *self.registered}))


def read_names(home: Path) -> Names:
    """Read what was published last; of what nobody wrote down, or cannot be read, there is none."""
    return Names(*(tuple((_text(home / _FOLDER / kind) or "").split()) for kind in NameKind))


def write_names(home: Path, kind: NameKind, names: Iterable[str]) -> None:
    """Write down what is published now, in place of what was.

    A home that is not there is not made for it, and one that cannot be written is logged: nothing but
    completion depends on it.
    """
    text = "".join(f"{name}\n" for name in sorted(names))
    file = home / _FOLDER / kind
    if not home.is_dir() or _text(file) == text:
        return
    draft = file.with_name(f".{kind}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        _log.warning("the names for completion cannot be written: %s", error)
    finally:
        if draft.exists():
            draft.unlink()


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
