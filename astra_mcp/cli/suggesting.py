"""Commands that say, of a wrong value of an option, which right one is closest."""

import ast
import re
from typing import Any, cast

import typer
from typer.core import TyperGroup

from astra_mcp.report.choices import closest

__all__ = ["SuggestingGroup"]

_REFUSAL = re.compile(r"(?P<word>'.*?'|\".*?\") is not one of (?P<known>.*?)\.?", re.DOTALL)
"""How an option with a list of values refuses another one."""
_LIBRARY_WORDS = "Value error, "


class SuggestingGroup(TyperGroup):
    """The root of commands whose options have lists of values."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _with_closest(error.message)
            raise


def _with_closest(message: str) -> str:
    message = message.removeprefix(_LIBRARY_WORDS)
    refusal = _REFUSAL.fullmatch(message)
    if refusal is None:
        return message
    (word,), known = _words(refusal["word"]), _words(refusal["known"])
    close = closest(word, known)
    return f"{message.removesuffix('.')}; did you mean {close}?" if close else message


def _words(quoted: str) -> tuple[str, ...]:
    """Read words as Python quotes them."""
    return cast("tuple[str, ...]", ast.literal_eval(f"({quoted},)"))
