"""The prompts of this package, by which its stages ask."""

from typing import Final

from astra_mcp.synthesis.asking import PromptBook

__all__ = ["ask", "stage_version"]

_BOOK: Final = PromptBook("astra_mcp.synthesis.trajectories.prompts")

ask = _BOOK.ask
stage_version = _BOOK.version
