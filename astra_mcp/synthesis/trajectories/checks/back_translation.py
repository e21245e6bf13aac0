"""A stage that may be left out: is the chain found again from the task alone?"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.chain import Chain, ToolRef
from astra_mcp.synthesis.trajectories.checks.shown_chain import chain_of, servers_of
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents, shown_server
from astra_mcp.synthesis.trajectories.task import TaskDraft

__all__ = ["BackTranslation", "Translator"]

_PROMPT = "back_translation"
_MAX_AT_ONCE = 8


class _Named(BaseModel):
    model_config = ConfigDict(frozen=True)

    server: str = ""
    tool: str


class _Guess(BaseModel):
    model_config = ConfigDict(frozen=True)

    reason: str = ""
    calls: tuple[_Named, ...]


@dataclass(frozen=True, slots=True)
class Translator:
    """A model that is asked for the chain; one that stands in a list twice is asked twice, anew."""

    model: Asks
    name: str


@dataclass(frozen=True, slots=True)
class BackTranslation:
    """Lets tasks through whose chain more translators find than do not.

    A translator sees the task and all documents of its servers, not the chain, and has several tries; one of
    them has to name exactly the chain's tools in their order.
    """

    documents: Documents
    translators: tuple[Translator, ...]
    num_tries: int = 3
    name = "back_translation"
    takes = TaskDraft

    def __post_init__(self) -> None:
        if not self.translators or self.num_tries < 1:
            raise ValueError("back-translation takes at least one model and one try")

    @property
    def version(self) -> str:
        """Of the prompt, the models in their order, and the number of tries."""
        models = [translator.name for translator in self.translators]
        return stage_version(_PROMPT, models=models, tries=self.num_tries)

    async def run(self, item: Item[TaskDraft]) -> Made[TaskDraft] | Rejected:
        """Have one translated back."""
        chain = chain_of(item.value)
        servers = servers_of(chain, item.value.versions, self.documents)

        async def translate(place: int) -> str | None:
            return await self._translate(place, item.value.query, chain, servers)

        others = await map_concurrently(translate, range(len(self.translators)), limit=_MAX_AT_ONCE)
        against = [other for other in others if other is not None]
        if 2 * len(against) < len(others):
            return Made.of(item)
        told = f"{len(against)} of {len(others)} did not find {_written(chain.steps)}"
        return Rejected("not_recovered", f"{told}: {'; '.join(against)}")

    async def _translate(
        self, place: int, query: str, chain: Chain, servers: tuple[DocumentedServer, ...]
    ) -> str | None:
        """Ask one until the chain comes; what came last where it never does, None where it does."""
        translator = self.translators[place]
        doubles = [each.name for each in self.translators[:place]].count(translator.name)
        shown = [shown_server(server) for server in servers]
        found: Sequence[ToolRef] = ()
        for attempt in range(self.num_tries):
            guess = await ask(
                translator.model,
                _PROMPT,
                _Guess,
                sample=doubles * self.num_tries + attempt,
                servers=shown,
                query=query,
            )
            found = [_tool_of(named, servers) for named in guess.calls]
            if tuple(found) == chain.steps:
                return None
        return f"{translator.name} named {_written(found)}"


def _tool_of(named: _Named, servers: Sequence[DocumentedServer]) -> ToolRef:
    """What was named; the server may be left out where it is plain which one has the tool."""
    having = [server.name for server in servers if server.tool(named.tool) is not None]
    server = having[0] if not named.server and len(having) == 1 else named.server
    return ToolRef(server=server, tool=named.tool)


def _written(steps: Sequence[ToolRef]) -> str:
    return " -> ".join(step.tool for step in steps)[:300] or "nothing"
