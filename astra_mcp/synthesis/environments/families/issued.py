"""Codes that a tool makes up from what it is given: the same function here and in the code of tools."""

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["issued", "source_of"]


def issued(*parts: str) -> int:
    """A number of six digits that nobody guesses from the parts that it depends on, nor from that of other parts."""
    number = 7
    for sign in "/".join(parts) + "//":
        number = (number * 131 + ord(sign) ^ number >> 5) % 899981
    return number + 100000


def source_of(function: Callable[..., Any]) -> str:
    """The source of a function, as tool code takes it over."""
    return inspect.getsource(function)
