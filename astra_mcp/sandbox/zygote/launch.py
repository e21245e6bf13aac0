"""Start of a process beyond the boundary: ``python -s -S -B -P launch.py MODE DESCRIPTOR SETTINGS``.

The packages above this one are entered as empty shells, so that its modules load by their full names
without running code that the process must not hold. (``-I`` and ``-E`` would ignore PYTHONHASHSEED.)
"""

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


def main(mode: str, descriptor: str, settings: str) -> None:
    """Run one mode: ``plain`` is a single session without a sandbox."""
    enter_packages()
    from astra_mcp.sandbox.zygote import determinism  # noqa: PLC0415 - after enter_packages

    determinism.install()
    from astra_mcp.sandbox.zygote import modes  # noqa: PLC0415

    modes.MODES[mode](int(descriptor), settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
