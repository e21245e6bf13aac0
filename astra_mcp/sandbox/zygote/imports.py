"""Which modules tool code may import, all of them loaded before the process is locked.

The guard gives tool authors a clear message; it is no boundary, the kernel is. What the kernel would let
through, and what would tell one process from another, is withdrawn.
"""

import builtins
import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, ModuleType
from typing import NoReturn

__all__ = ["ALLOWED", "TOOL_MODULE", "install_guard", "preload", "withdraw_system"]

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

_SYSTEM: Mapping[str, frozenset[str]] = {
    "_posixsubprocess": frozenset(),
    "_signal": frozenset(),
    "_socket": frozenset({"CMSG_LEN"}),  # the runtime's own, for as long as templates branch
    "_uuid": frozenset(),
    "faulthandler": frozenset(),
    "fcntl": frozenset(),
    "gc": frozenset(),
    "posix": frozenset({"_exit", "fspath", "strerror"}),
    "resource": frozenset(),
    "select": frozenset(),
    "sys.monitoring": frozenset(),
}
"""Modules that ask the kernel or the interpreter about this process, and what else they offer."""
_WITHDRAWN: Mapping[str, Sequence[str]] = {
    "_abc": _words("_get_dump"),
    "_imp": _words("create_builtin create_dynamic exec_builtin exec_dynamic"),
    "_thread": _words("_count start_new start_new_thread"),
    "sys": _words("""
        _current_exceptions _current_frames _debugmallocstats activate_stack_trampoline addaudithook
        call_tracing getallocatedblocks getprofile getrefcount gettrace getunicodeinternedsize setprofile
        settrace
        """),
}
"""Single functions of modules that tools need; a real clock could be imported anew, and what traces
calls or counts references sees into the runtime."""
_UNNAMED = _words("_ctypes _socket ctypes fcntl resource select socket")
_CONSTANT = {"cpu_count": 1, "getpid": 1, "getppid": 1}

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


def withdraw_system(tools: ModuleType) -> None:
    """Take away what tells of this process, and the modules of the runtime; last before tool code runs."""
    replaced = {id(f): (f, _stand_in(name)) for name, f in _system_functions()}
    for module in [*sys.modules.values()]:
        members = vars(module)
        for name, member in [*members.items()]:
            if id(member) in replaced:
                members[name] = replaced[id(member)][1]
    for name in [*sys.modules]:
        if name in _UNNAMED or name.partition(".")[0] == "astra_mcp":
            del sys.modules[name]
    sys.modules["__main__"] = tools
    sys.modules["posix"].__dict__["urandom"] = os.urandom
    sys.argv, sys.orig_argv, sys.path, sys.executable = [""], [""], [], ""
    sys.path_importer_cache.clear()


def _system_functions() -> Iterator[tuple[str, object]]:
    modules = {**sys.modules, "sys.monitoring": getattr(sys, "monitoring", None)}
    for name, kept in _SYSTEM.items():
        for member, value in vars(modules.get(name) or ModuleType(name)).items():
            if isinstance(value, BuiltinFunctionType) and member not in kept:
                yield member, value
    for name, members in _WITHDRAWN.items():
        for member in members:
            if hasattr(modules[name], member):
                yield member, getattr(modules[name], member)


def _stand_in(name: str) -> Callable[..., object]:
    if name in _CONSTANT:
        return lambda: _CONSTANT[name]
    return _refuse


def _refuse(*_arguments: object, **_options: object) -> NoReturn:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
