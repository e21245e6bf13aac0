"""The versions that the adapter is written for: it subclasses what verl does not promise to keep."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from astra_mcp.errors import ConfigError

__all__ = ["VERL", "check_verl"]

VERL = "0.9.1"
_TOGETHER = ("ray", "tensordict", "TransferQueue", "transformers", "torch")


def check_verl() -> Mapping[str, str]:
    """Find verl and what it stands on.

    Raises:
        ConfigError: Something is not installed, or verl is of another version; says what to install.
    """
    found: dict[str, str] = {}
    for name in ("verl", *_TOGETHER):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            raise ConfigError(f"--backend verl needs {name}: install astra-mcp[verl]") from None
    if found["verl"] != VERL:
        raise ConfigError(
            f"verl {found['verl']} is installed, and --backend verl is written for {VERL}: install"
            " astra-mcp[verl] into an environment of its own"
        )
    return found
