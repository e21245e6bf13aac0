"""A scripted model that plays no episode: it answers at once, in words, and calls no tool."""

from astra_mcp.completions import Answer, CompletionRequest

__all__ = ["answer"]


def answer(request: CompletionRequest) -> Answer:
    """Say that nothing is to be done."""
    del request
    return Answer(content="nothing", completion_tokens=1)
