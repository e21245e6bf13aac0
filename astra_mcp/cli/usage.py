"""How the cost of models looks to people."""

from astra_mcp.llm.usage import Usage
from astra_mcp.report.console import out

__all__ = ["print_usage"]


def print_usage(usage: Usage) -> None:
    """Show how often a model was asked, where it was."""
    if usage.calls or usage.cached:
        out.print(f"{usage.calls} calls of the model, {usage.cached} answered by the cache")
