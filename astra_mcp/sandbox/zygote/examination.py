"""Finds out what this machine offers by doing it, in a process that ends afterwards."""

import os
from collections.abc import Callable

from astra_mcp.sandbox.zygote.lockdown import (
    LayerMissingError,
    Lockdown,
    drop_root,
    limit_resources,
)
from astra_mcp.sandbox.zygote.settings import Settings

__all__ = ["examine"]


def examine(settings: Settings) -> dict[str, bool | int]:
    """Lock this process as a tool's process would be, and say which layers held."""
    try:
        lockdown = Lockdown()
    except LayerMissingError:
        return {"seccomp": False, "landlock_abi": 0, "uid": os.getuid()}
    facts: dict[str, bool | int] = {"landlock_abi": lockdown.landlock_abi}
    # One who cannot stop being root cannot give up privileges either.
    facts["no_new_privs"] = _holds(lockdown.give_up_new_privileges) and _holds(drop_root)
    facts["uid"] = os.getuid()
    facts["rlimits"] = _holds(lambda: limit_resources(settings))
    facts["seccomp"] = (
        _holds(lockdown.open_gate) and _holds(lockdown.filter_tool) and not _can_open_files()
    )
    return facts


def _holds(step: Callable[[], object]) -> bool:
    try:
        step()
    except (OSError, ValueError, LayerMissingError):
        return False
    return True


def _can_open_files() -> bool:
    try:
        os.close(os.open("/", os.O_RDONLY))
    except PermissionError:
        return False
    return True
