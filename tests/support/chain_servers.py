"""Documents of servers, chains over them, and tasks that were written for chains."""

from collections.abc import Mapping, Sequence
from typing import Any

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.pipeline import Made, Rejected
from astra_mcp.synthesis.trajectories.chain import Chain, ChainOrigin, FoundChain, Join, ToolRef
from astra_mcp.synthesis.trajectories.server import DocumentedServer
from astra_mcp.synthesis.trajectories.task import TaskDraft, TaskOrigin
from astra_mcp.types import JsonObject, ToolSpec

__all__ = [
    "CANCEL",
    "DOCUMENTS",
    "FAILURE",
    "ORDERS",
    "QUERY",
    "TEXT",
    "Outcome",
    "chain",
    "chain_task",
    "found_chain",
    "join",
    "reason",
    "result_of",
    "server",
    "tool",
]

TEXT: JsonObject = {"type": "string"}


def tool(
    name: str,
    description: str = "",
    /,
    *,
    required: Sequence[str] | None = None,
    returns: Mapping[str, Any] | None = None,
    **properties: Any,
) -> ToolSpec:
    """A tool; all of its properties are required unless some are named."""
    names = [*properties] if required is None else [*required]
    schema = {"type": "object", "properties": properties, "required": names}
    output = None if returns is None else result_of(**returns)
    words = description or f"{name} does its work."
    return ToolSpec(name=name, description=words, input_schema=schema, output_schema=output)


def result_of(**properties: Any) -> dict[str, Any]:
    """The schema of a result that is an object."""
    return {"type": "object", "properties": properties}


def server(name: str, *tools: ToolSpec, **more: Any) -> DocumentedServer:
    """A server of some tools."""
    told: dict[str, Any] = {"version": f"{name}-1", "language": "en", **more}
    return DocumentedServer(name=name, tools=tools, **told)


ORDERS = server(
    "orders",
    tool("find_customer", email=TEXT, returns={"customer_id": TEXT, "city": TEXT}),
    tool(
        "list_orders",
        customer_id=TEXT,
        returns={"orders": {"type": "array", "items": result_of(id=TEXT)}},
    ),
    tool("cancel_order", order_id=TEXT, reason=TEXT, returns={"status": TEXT}),
)
DOCUMENTS = {ORDERS.name: ORDERS}


def chain(*tools: str, joins: Sequence[Join] = (), of: DocumentedServer = ORDERS) -> Chain:
    """A chain of one server, or of several where tools are named as ``server/tool``."""
    steps = [name.rpartition("/")[::2] for name in tools]
    refs = tuple(ToolRef(server=owner or of.name, tool=name) for owner, name in steps)
    return Chain(steps=refs, origin=ChainOrigin.GRAPH, joins=tuple(joins))


def join(source: int, field: str, target: int, argument: str) -> Join:
    """A join between two steps, from 0."""
    return Join(source=source, field=field, target=target, argument=argument)


def _versions(found: Chain) -> dict[str, str]:
    return {name: f"{name}-1" for name in found.servers}


def found_chain(found: Chain) -> FoundChain:
    """The chain on its way, made of documents of this module."""
    return FoundChain(chain=found, versions=_versions(found))


def chain_task(query: str, found: Chain, **more: Any) -> TaskDraft:
    """A task that was written for a chain."""
    return TaskDraft(
        servers=found.servers,
        versions=_versions(found),
        origin=TaskOrigin.CHAIN,
        query=query,
        chain=found,
        **more,
    )


CANCEL = chain("find_customer", "list_orders", "cancel_order")
QUERY = "Please cancel the oldest order of ann@example.com, since it came too late."
FAILURE = ModelError("no answer", ModelFault.TIMEOUT)
Outcome = Made[TaskDraft] | Rejected


def reason(outcome: Outcome) -> str:
    """Why a task was rejected."""
    assert isinstance(outcome, Rejected), outcome
    return outcome.reason
