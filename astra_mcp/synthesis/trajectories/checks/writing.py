"""The first stage: a chain becomes what a user would ask (prompt 1 of ASTRA's appendix A.3)."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, incomplete
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.chain import FoundChain
from astra_mcp.synthesis.trajectories.checks.query import MAX_QUERY, query_faults
from astra_mcp.synthesis.trajectories.checks.shown_chain import (
    servers_of,
    shown_servers,
    shown_steps,
    tools_of,
)
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents
from astra_mcp.synthesis.trajectories.task import TaskDraft, TaskOrigin
from astra_mcp.text.language import language_of

__all__ = ["Writing"]

_PROMPT = "chain_task"
_RULES = "1"
"""Of the checks in code; a change of theirs decides anew."""


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True)

    reason: str = ""
    valid: bool
    query: str = ""


@dataclass(frozen=True, slots=True)
class Writing:
    """Has a task written for a chain; a chain that makes no sense is rejected."""

    documents: Documents
    model: Asks
    name_of_model: str
    language: str | None = None
    """Of the tasks, as ISO 639-1; None for that of the chain's first server, where it is known."""
    name = "write"
    takes = FoundChain

    @property
    def version(self) -> str:
        """Of the prompt, the model, the wanted language and the checks."""
        return stage_version(
            _PROMPT, model=self.name_of_model, language=self.language, rules=_RULES
        )

    async def run(self, item: Item[FoundChain]) -> Made[TaskDraft] | Rejected:
        """Have one written."""
        chain, versions = item.value.chain, item.value.versions
        servers = servers_of(chain, versions, self.documents)
        tools_of(chain, self.documents)
        language = self._language(servers)
        written = await ask(
            self.model,
            _PROMPT,
            _Written,
            servers=shown_servers(chain, servers),
            chain=shown_steps(chain),
            language=language or "that of the servers' documents",
            most=MAX_QUERY,
        )
        query = written.query.strip()
        if not written.valid:
            return Rejected("invalid_chain", written.reason.strip() or "the model gave no reason")
        if not query:
            raise incomplete(_PROMPT, "calls the chain valid and has no query")
        names = [tool.name for server in servers for tool in server.tools]
        for fault in query_faults(query, tools=names, language=language):
            return Rejected(fault.reason, fault.detail)
        draft = TaskDraft(
            servers=chain.servers,
            versions={server.name: server.version for server in servers},
            origin=TaskOrigin.CHAIN,
            query=query,
            language=language_of([query]) or language,
            chain=chain,
        )
        return Made.of(Item(id=item.id, value=draft))

    def _language(self, servers: tuple[DocumentedServer, ...]) -> str | None:
        return self.language or servers[0].language
