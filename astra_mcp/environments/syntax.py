"""Reading tool code as a tree."""

import ast
import warnings
from threading import Lock

__all__ = ["parse_code"]

_PARSING = Lock()
"""CPython 3.11 counts the depth of all parsers together: where garbage is looked for in one, a thread that
parses meanwhile breaks both with a SystemError (python/cpython#106905)."""


def parse_code(code: str) -> ast.Module:
    """Parse the text of a module, whatever other threads parse; nothing of it is executed.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It holds a null character.
        RecursionError, MemoryError: It nests too deeply.
    """
    with _PARSING, warnings.catch_warnings(action="ignore"):
        return ast.parse(code)
