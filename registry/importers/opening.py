"""Opening a file of documents: packed or plain, whichever it is."""

import gzip
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from astra_mcp.errors import ConfigError

__all__ = ["PACKING_FAULTS", "open_documents"]

_GZIP = b"\x1f\x8b"

PACKING_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)
"""What reading raises where a packed file ends too early or is damaged."""


def open_documents(path: Path) -> BinaryIO:
    """Open for reading; a file that gzip packed is unpacked on the way, whatever its name.

    Raises:
        ConfigError: It cannot be opened; names the path and the reason.
    """
    try:
        with path.open("rb") as file:
            is_packed = file.read(len(_GZIP)) == _GZIP
        return cast("BinaryIO", gzip.open(path, "rb")) if is_packed else path.open("rb")
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror or error}"
        raise ConfigError(msg) from None
