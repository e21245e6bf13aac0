"""A scripted model that is asked for squares: the question, and the policy of a completions server."""

import anyio
from pydantic import BaseModel, ConfigDict

from astra_mcp.completions import Answer, CompletionRequest
from astra_mcp.llm.prompt import Prompt

__all__ = ["Square", "answer", "answer_in_time", "name_asked", "question"]

_SECONDS = 1.0


class Square(BaseModel):
    """What the model is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: str
    square: int


def question(name: str) -> Prompt:
    """Ask about an item whose name ends in its number."""
    text = f"{name}: answer with its name and the square of its number, as JSON."
    return Prompt(messages=({"role": "user", "content": text},), template_hash="1")


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
