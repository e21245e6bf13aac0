"""How the conformance fixture asks its client: by requests in the handshake era, by results in the other.

Knows the SDK's request context and nothing of which tool asks what.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from astra_mcp.types import JsonObject, JsonValue

Context = ServerRequestContext[Any, Any]
_CAPABILITIES = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to the client."""

    key: str
    """Its name among the questions of one tool."""
    method: str
    params: JsonObject

    @property
    def capability(self) -> str:
        """What a client must declare to be asked this."""
        return _CAPABILITIES[self.method]


class NeedsInputError(Exception):
    """The modern era's way to ask: the call ends with what it needs, and is sent again with it."""

    def __init__(self, result: JsonObject) -> None:
        super().__init__("the call needs input")
        self.result = result


def is_modern(ctx: Context) -> bool:
    """Tell the two eras apart."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def declared(ctx: Context) -> frozenset[str]:
    """Say which capabilities the client declares."""
    capabilities = ctx.session.client_capabilities
    found = capabilities.model_dump(exclude_none=True) if capabilities is not None else {}
    return frozenset(found)


async def converse(
    ctx: Context, *rounds: Sequence[Question], keeps_state: bool = False
) -> dict[str, JsonObject]:
    """Ask the client all questions, one round after the other.

    Args:
        ctx: The request in which to ask.
        rounds: Each is asked when the one before it is answered.
        keeps_state: Hand the client what it has answered so far, to be sent back.

    Raises:
        NeedsInputError: The client has to be asked, and speaks the modern era.
        MCPError: The client does not declare what a question needs.
    """
    _require(ctx, [question for asked in rounds for question in asked])
    if is_modern(ctx):
        return _gather(ctx.params or {}, rounds, keeps_state=keeps_state)
    return {q.key: await _request(ctx, q) for asked in rounds for q in asked}


def _require(ctx: Context, questions: Sequence[Question]) -> None:
    missing = {q.capability for q in questions} - declared(ctx)
    if missing:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"the client does not declare {', '.join(sorted(missing))}",
            {"requiredCapabilities": {name: {} for name in sorted(missing)}},
        )


def _gather(
    params: Mapping[str, Any], rounds: Sequence[Sequence[Question]], *, keeps_state: bool
) -> dict[str, JsonObject]:
    known: dict[str, JsonObject] = json.loads(params.get("requestState") or "{}")
    known |= cast("dict[str, JsonObject]", params.get("inputResponses") or {})
    for asked in rounds:
        missing = [q for q in asked if q.key not in known]
        if missing:
            requests: JsonObject = {
                q.key: {"method": q.method, "params": q.params} for q in missing
            }
            result: JsonObject = {"resultType": "input_required", "inputRequests": requests}
            state: dict[str, JsonValue] = {"requestState": json.dumps(known)} if keeps_state else {}
            raise NeedsInputError(result | state)
    return known


async def _request(ctx: Context, question: Question) -> JsonObject:
    request: types.ServerRequest
    kind: type[types.ElicitResult | types.CreateMessageResult | types.ListRootsResult]
    document = {"method": question.method, "params": question.params}
    match question.method:
        case "elicitation/create":
            request, kind = types.ElicitRequest.model_validate(document), types.ElicitResult
        case "sampling/createMessage":
            request = types.CreateMessageRequest.model_validate(document)
            kind = types.CreateMessageResult
        case _:
            request, kind = types.ListRootsRequest.model_validate(document), types.ListRootsResult
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    answer = await ctx.session.send_request(request, kind, metadata=metadata)
    return answer.model_dump(by_alias=True, mode="json", exclude_none=True)
