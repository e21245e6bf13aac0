"""A scripted model that is asked for squares: the policy of a completions server."""

import anyio

from astra_mcp.completions import Answer, CompletionRequest

__all__ = ["answer", "answer_in_time", "name_asked"]

_SECONDS = 1.0


def name_asked(text: str) -> str:
    """The item that a question is about."""
    return text.split(":", maxsplit=1)[0]


def answer(request: CompletionRequest) -> Answer:
    """Answer by the number in the item's name; an answer counts as one token."""
    name = name_asked(request.text)
    square = int(name.removeprefix("item-")) ** 2
    return Answer(content={"item": name, "square": square}, completion_tokens=1)


async def answer_in_time(request: CompletionRequest) -> Answer:
    """Answer like a model that thinks, so that calls pile up."""
    await anyio.sleep(_SECONDS)
    return answer(request)
