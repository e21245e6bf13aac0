"""Settings that have a name, one file each: those of the paper, of the study of collapses, and for one GPU.

Knows no library of training. The command line reads them under a run's own file.
"""

import tomllib
from importlib.resources import files

from astra_mcp.errors import ConfigError
from astra_mcp.report.choices import closest
from astra_mcp.types import JsonObject

__all__ = ["find_preset", "preset_names"]

_ENDING = ".toml"


def preset_names() -> list[str]:
    """Name all presets."""
    found = (each.name for each in files(__name__).iterdir())
    return sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING))


def find_preset(name: str) -> JsonObject:
    """Read one.

    Raises:
        ConfigError: There is no such preset; names the closest one.
    """
    known = preset_names()
    if name not in known:
        near = closest(name, known)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
        raise ConfigError(f"preset {name!r}: there is none of this name for verl; {hint}")
    return tomllib.loads((files(__name__) / f"{name}{_ENDING}").read_text(encoding="utf-8"))
