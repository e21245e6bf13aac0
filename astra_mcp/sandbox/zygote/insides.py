"""Takes from tool code what would tell it of the process around it: the runtime's frames and variables.

What a session can reach must be the same wherever it runs. Python shows every caller's frame, every variable
that a function closes over and every class there is, so the types that show them are amended here, before
anything else runs. It is no boundary: the kernel is.
"""

import ctypes
import gc
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any, cast

__all__ = ["amend", "hide_classes", "hide_runtime"]

_RUNTIME = "astra_mcp."
_HIDDEN_CLASSES = frozenset({"__main__", "_ctypes", "ctypes", "_socket", "socket", "select"})
"""Modules whose classes lead out of the interpreter."""


def amend(kind: type, **members: object) -> None:
    """Replace members of a class, also of a built-in one, which refuses ``setattr``."""
    # Its ``__dict__`` is a read-only view of the one that holds them.
    held = cast("list[dict[str, object]]", gc.get_referents(kind.__dict__))
    held[0].update(members)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def hide_runtime() -> None:
    """Cut frames and functions off from what holds the runtime's state.

    What replaces the members keeps the real ones in variables that it closes over, and hides those too.
    """
    amend(FunctionType, __globals__=_globals_of(vars(FunctionType)["__globals__"].__get__))
    amend(FunctionType, __code__=_read_only(vars(FunctionType)["__code__"].__get__))
    amend(FunctionType, __closure__=property(lambda _function: None))
    amend(FrameType, f_globals=_globals_of(vars(FrameType)["f_globals"].__get__))
    amend(FrameType, f_builtins=property(lambda _frame: {}), f_back=property(lambda _frame: None))
    amend(FrameType, f_locals=property(lambda _frame: {}))
    # Tells how often each line of the runtime has run.
    amend(CodeType, _co_code_adaptive=property(lambda code: code.co_code))


def _read_only(read: Callable[[object], object]) -> property:
    # The bound method itself would hand out the descriptor, and with it the right to write.
    return property(lambda holder: read(holder))  # noqa: PLW0108


def _globals_of(read: Callable[[object], dict[str, Any]]) -> property:
    look = dict[str, Any].get

    def visible(holder: object) -> dict[str, Any]:
        found = read(holder)
        return {} if str(look(found, "__name__")).startswith(_RUNTIME) else found

    return property(visible)


def hide_classes() -> None:
    """Leave the runtime's classes, and those that lead out of the interpreter, out of ``__subclasses__``."""
    children: Callable[[type], list[type]] = type.__subclasses__
    hidden = frozenset(id(c) for c in _descendants(object, children) if _is_hidden(c))
    identity = id

    def __subclasses__(self: type) -> list[type]:  # noqa: N807 - its name where it is called
        return [c for c in children(self) if identity(c) not in hidden]

    amend(type, __subclasses__=__subclasses__)


def _descendants(kind: type, children: Callable[[type], list[type]]) -> Iterator[type]:
    seen = {kind}
    waiting = [kind]
    while waiting:
        fresh = [c for c in children(waiting.pop()) if c not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    yield from seen


def _is_hidden(kind: type) -> bool:
    module = kind.__module__
    return module.partition(".")[0] in _HIDDEN_CLASSES or module.startswith(_RUNTIME)
