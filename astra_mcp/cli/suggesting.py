"""Commands that say, of a wrong value of an option, which right one is closest, and show it as it is."""

import ast
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import typer
from typer.core import TyperGroup

from astra_mcp.report.choices import closest
from astra_mcp.text.plain import visible

__all__ = ["SuggestingGroup"]

_REFUSAL = re.compile(r"(?P<word>'.*?'|\".*?\") is not one of (?P<known>.*?)\.?", re.DOTALL)
"""How an option with a list of values refuses another one."""
_LIBRARY_WORDS = "Value error, "
_USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__bases__[0])
"""Every wrong use; the library has no public name for it."""


class SuggestingGroup(TyperGroup):
    """The root of commands whose options have lists of values."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the options that stand before a command."""
        with _explained():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _explained():
            return super().invoke(ctx)


@contextmanager
def _explained() -> Generator[None]:
    """Complete a refusal, and keep what was typed from steering the terminal."""
    try:
        yield
    except _USAGE_ERROR as caught:
        error = cast("typer.BadParameter", caught)
        message = error.message
        error.message = visible(
            _with_closest(message) if isinstance(caught, typer.BadParameter) else message
        )
        raise


def _with_closest(message: str) -> str:
    message = message.removeprefix(_LIBRARY_WORDS)
    refusal = _REFUSAL.fullmatch(message)
    if refusal is None:
        return message
    (word,), known = _words(refusal["word"]), _words(refusal["known"])
    begun = [each for each in known if word and each.startswith(word)]
    close = " or ".join(begun) or closest(word, known)
    return f"{message.removesuffix('.')}; did you mean {close}?" if close else message


def _words(quoted: str) -> tuple[str, ...]:
    """Read words as Python quotes them."""
    return cast("tuple[str, ...]", ast.literal_eval(f"({quoted},)"))
