"""Start of a process beyond the boundary: ``python -s -S -B -P launch.py MODE DESCRIPTOR SETTINGS``.

The packages above this one are entered as empty shells, so that its modules load by their full names
without running code that the process must not hold. (``-I`` and ``-E`` would ignore PYTHONHASHSEED.)
"""

import os
import sys
import types
from pathlib import Path


def enter_packages() -> None:
    """Make ``astra_mcp.sandbox.zygote`` importable without its parents' code."""
    folder = Path(__file__).resolve().parent
    for name, path in (("astra_mcp", folder.parents[1]), ("astra_mcp.sandbox", folder.parent)):
        package = types.ModuleType(name)
        package.__path__ = [str(path)]
        sys.modules[name] = package


def drop_fork_hooks() -> None:
    """Have no module do anything at a fork.

    What ``logging`` does there runs in a template too, and by names that tool code can give another meaning:
    it would count the sessions.
    """

    def register_at_fork(**_hooks: object) -> None:
        """Forget them."""

    os.register_at_fork = register_at_fork


def fix_addresses() -> None:
    """Start over without address randomisation, where the kernel lets us."""
    if sys.platform != "linux":
        return
    from astra_mcp.sandbox.zygote.kernel import Kernel  # noqa: PLC0415 - after enter_packages

    if Kernel().disable_address_randomisation():
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 - the same command again


def main(mode: str, descriptor: str, settings: str) -> None:
    """Run one mode of :mod:`astra_mcp.sandbox.zygote.modes`."""
    enter_packages()
    drop_fork_hooks()
    fix_addresses()
    from astra_mcp.sandbox.zygote import determinism  # noqa: PLC0415

    determinism.install()  # before any module copies a name out of those it patches
    from astra_mcp.sandbox.zygote import modes  # noqa: PLC0415
    from astra_mcp.sandbox.zygote.settings import Settings  # noqa: PLC0415

    modes.MODES[mode](int(descriptor), Settings.decode(settings))


if __name__ == "__main__":
    main(*sys.argv[1:])
