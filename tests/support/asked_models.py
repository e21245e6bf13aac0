"""A structured question to the scripted endpoint, and a cache that keeps its answers in memory."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
from pydantic import BaseModel, ConfigDict

from astra_mcp.llm.config import Role
from astra_mcp.llm.model import Model, open_model
from astra_mcp.llm.prompt import PromptTemplate
from astra_mcp.llm.usage import Budget
from astra_mcp.types import JsonObject

from completions_server import CompletionsServer

QUESTION = PromptTemplate(
    "question", "{% block user %}How good is {{ text | delimited('text') }}?{% endblock %}"
)


class Verdict(BaseModel):
    """What the question is answered with."""

    model_config = ConfigDict(frozen=True)

    score: int


class CacheInMemory:
    """A completion cache of one test."""

    def __init__(self) -> None:
        self.values: dict[str, JsonObject] = {}
        self.num_looks = 0

    async def get(self, key: str) -> JsonObject | None:
        """Find what was put."""
        self.num_looks += 1
        await anyio.lowlevel.checkpoint()
        return self.values.get(key)

    async def put(self, key: str, value: JsonObject) -> None:
        """Keep a value."""
        await anyio.lowlevel.checkpoint()
        self.values[key] = value


def a_model(
    server: CompletionsServer,
    *,
    role: Role = Role.JUDGE,
    cache: CacheInMemory | None = None,
    budget: Budget | None = None,
    **settings: Any,
) -> AbstractAsyncContextManager[Model]:
    """Open the model of a role at a server."""
    return open_model(role, server.config(**settings), cache=cache, budget=budget)


async def judge(model: Model, text: str = "a tale", *, sample: int = 0) -> int:
    """Ask the question, and take the score."""
    with anyio.fail_after(20):
        return (await model.ask(QUESTION.render(text=text), Verdict, sample=sample)).score
