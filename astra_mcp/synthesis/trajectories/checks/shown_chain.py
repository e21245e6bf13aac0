"""A chain beside the documents that it was made of, as prompts show it."""

from collections.abc import Mapping

from astra_mcp.errors import PipelineError
from astra_mcp.synthesis.trajectories.chain import Chain
from astra_mcp.synthesis.trajectories.server import DocumentedServer, Documents, shown_server
from astra_mcp.synthesis.trajectories.task import TaskDraft
from astra_mcp.types import JsonObject, JsonValue, ToolSpec, canonical_json

__all__ = ["chain_of", "servers_of", "shown_servers", "shown_steps", "tools_of"]

_MAX_BYTES = 64_000
"""Of the documents of all servers in a prompt; where they are longer, only the chain's tools are shown."""


def chain_of(draft: TaskDraft) -> Chain:
    """The chain of a draft that has to have one.

    Raises:
        PipelineError: It has none: it came to a stage that is not for it.
    """
    if draft.chain is None:
        raise PipelineError(
            f"a task of a server alone has no chain to check (query: {draft.query[:60]!r}); its place is"
            " behind these stages"
        )
    return draft.chain


def servers_of(
    chain: Chain, versions: Mapping[str, str], documents: Documents
) -> tuple[DocumentedServer, ...]:
    """Find the servers of a chain, in the order of their first call.

    Raises:
        PipelineError: The documents are not those that the chain was made of.
    """
    found: list[DocumentedServer] = []
    for name in chain.servers:
        server = documents.get(name)
        if server is None or versions.get(name) != server.version:
            raise PipelineError(
                f"a chain was made of other documents of the server {name!r} than this run has: begin"
                " with the servers again"
            )
        found.append(server)
    return tuple(found)


def tools_of(chain: Chain, documents: Documents) -> tuple[ToolSpec, ...]:
    """Find the tool of each step.

    Raises:
        PipelineError: A step names a tool that its server does not have.
    """
    found: list[ToolSpec] = []
    for step in chain.steps:
        server = documents.get(step.server)
        tool = server.tool(step.tool) if server else None
        if tool is None:
            raise PipelineError(
                f"a chain calls {step.tool!r}, which the server {step.server!r} does not have: it should"
                " have been dropped where it was found"
            )
        found.append(tool)
    return tuple(found)


def shown_servers(chain: Chain, servers: tuple[DocumentedServer, ...]) -> list[JsonValue]:
    """Write down the documents of a chain's servers; long ones, of the tools that it calls alone."""
    whole = [shown_server(server) for server in servers]
    if len(canonical_json(whole)) <= _MAX_BYTES:
        return [*whole]
    named = {server.name: set[str]() for server in servers}
    for step in chain.steps:
        named[step.server].add(step.tool)
    return [shown_server(server, named[server.name]) for server in servers]


def shown_steps(chain: Chain) -> JsonObject:
    """Write a chain down: its steps by number, from 1, and what leads from one to another."""
    return {
        "steps": [
            {"step": number, "server": step.server, "tool": step.tool}
            for number, step in enumerate(chain.steps, 1)
        ],
        "joins": [
            {
                "from_step": join.source + 1,
                "field": join.field,
                "to_step": join.target + 1,
                "argument": join.argument,
            }
            for join in chain.joins
        ],
    }
