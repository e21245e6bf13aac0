"""The documents of servers as far as a prompt has room for them, and what was left out."""

from collections.abc import Iterable, Sequence
from typing import Final

from astra_mcp.seeds import generator
from astra_mcp.synthesis.trajectories.server import (
    DocumentedServer,
    Documents,
    document_of,
    shown_server,
)
from astra_mcp.synthesis.trajectories.task import TaskDraft
from astra_mcp.types import JsonObject, JsonValue, canonical_json

__all__ = ["expected_tools", "servers_of", "shown_documents"]

_MAX_BYTES: Final = 96_000
"""Of all documents in one prompt, as JSON. Schemas are not cut, so beyond that tools are left out."""
_MAX_NAMES: Final = 200
"""Names of tools without room that are told."""


def servers_of(draft: TaskDraft, documents: Documents) -> list[DocumentedServer]:
    """The servers of a task, in its order.

    Raises:
        PipelineError: The run has other documents than those that it was made of.
    """
    return [document_of(documents, name, draft.versions.get(name)) for name in draft.servers]


def shown_documents(
    servers: Sequence[DocumentedServer], *, first: Iterable[tuple[str, str]] = (), seed: int = 0
) -> list[JsonValue]:
    """Write down the documents of servers; together at most about 96,000 bytes.

    Where not all tools have room, those that come first are shown first, then others in a seeded order; each
    tool without room is told by its name.

    Args:
        servers: Share the room alike.
        first: Server and tool of those that matter most.
        seed: Decides which others are shown.
    """
    wanted = set(first)
    room = _MAX_BYTES // max(1, len(servers))
    return [
        _within(server, {t for s, t in wanted if s == server.name}, room, seed)
        for server in servers
    ]


def _within(server: DocumentedServer, first: set[str], room: int, seed: int) -> JsonObject:
    whole = shown_server(server)
    if len(canonical_json(whole)) <= room:
        return whole
    names = [tool.name for tool in server.tools]
    generator(seed, "shown tools", server.name).shuffle(names)
    names.sort(key=lambda name: name not in first)
    room -= len(canonical_json(shown_server(server, ())))
    shown: set[str] = set()
    for name in names:
        size = len(canonical_json(shown_server(server, [name])["tools"]))
        if size <= room:
            shown.add(name)
            room -= size
    left_out = [tool.name for tool in server.tools if tool.name not in shown]
    return {
        **shown_server(server, shown),
        "tools_without_room": [*left_out[:_MAX_NAMES]],
        "num_tools_without_room": len(left_out),
    }


def expected_tools(draft: TaskDraft) -> list[tuple[str, str]]:
    """Server and tool of each call that the writer of a task had in mind, in the order where it has one."""
    steps = draft.chain.steps if draft.chain else draft.expected
    return [(step.server, step.tool) for step in steps]
