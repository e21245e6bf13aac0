"""Which modules tool code may import, all of them loaded before the process is locked.

The guard gives tool authors a clear message; it is no boundary, the kernel is.
"""

import builtins
import contextlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

__all__ = ["ALLOWED", "TOOL_MODULE", "install_guard", "preload"]

TOOL_MODULE = "tools"
"""Name under which tool code runs."""


def _words(text: str) -> list[str]:
    return text.split()


ALLOWED = frozenset(
    _words("""
    __future__ abc array ast base64 binascii bisect calendar cmath codecs collections collections.abc
    colorsys contextlib copy copyreg csv dataclasses datetime decimal difflib enum fnmatch fractions
    functools graphlib hashlib heapq hmac html html.parser inspect io ipaddress itertools json keyword
    locale logging math numbers operator pprint queue random re reprlib secrets shlex statistics string
    struct textwrap time traceback types typing unicodedata urllib urllib.parse uuid warnings weakref zlib
    """)
)
"""The standard library without files, network, processes and the interpreter's insides. ``zoneinfo``
is not among them: its data lives in files."""

_LAZY = _words("""
    _strptime _pydecimal linecache stringprep tokenize tracemalloc encodings.idna encodings.ascii
    encodings.latin_1 encodings.utf_16 encodings.utf_32 encodings.utf_8_sig encodings.cp1252
    encodings.gbk encodings.gb18030 encodings.big5 encodings.punycode encodings.hex_codec
    encodings.base64_codec json.decoder json.encoder
    """)
"""What the allowed modules import only when a function first needs it."""

_FOR_ATTACKS = _words("atexit ctypes mmap multiprocessing socket subprocess threading")

_HINTS = {"zoneinfo": "; use datetime.timezone with a fixed offset"}


def preload(*, unguarded: bool = False) -> None:
    """Import everything that tools may use: nothing can be opened later.

    Args:
        unguarded: Also what only an attack needs, so that tests meet the kernel and not an ImportError.
    """
    extra = _FOR_ATTACKS if unguarded else ()
    for name in (*sorted(ALLOWED), *_LAZY, *extra):
        with contextlib.suppress(ImportError):  # a codec that this interpreter was built without
            importlib.import_module(name)


def install_guard() -> None:
    """Refuse other modules to tool code, in words that say which."""
    real_import = builtins.__import__
    # C code such as datetime.strptime imports in the name of the tool that called it.
    permitted = ALLOWED.union(_LAZY)

    def guarded_import(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        by_tool = globals is not None and globals.get("__name__") == TOOL_MODULE
        if by_tool and (level or name not in permitted):
            raise ImportError(f"module {name!r} is not available to tools{_HINTS.get(name, '')}")
        return real_import(name, globals, locals, fromlist or (), level)

    builtins.__import__ = guarded_import
    for name in ("ctypes", "_ctypes", "resource"):
        sys.modules.pop(name, None)
