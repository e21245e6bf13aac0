"""How a conversation with a server begins: the openings of both eras, and what their failure says.

Knows no transport.
"""

from collections.abc import Mapping

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from astra_mcp.errors import RelayedError, UpstreamError
from astra_mcp.mcp.request_context import Era
from astra_mcp.types import JsonObject, JsonValue
from servers.deployed.card import EraFacts
from servers.deployed.errors import StatusError
from servers.deployed.transports.messages import CLIENT_INFO, as_object
from servers.deployed.transports.pending import Peer

__all__ = ["OtherEraError", "begin", "ignore"]


def ignore(method: str, params: JsonObject) -> None:
    """Hear a notification and do nothing."""
    del method, params


class OtherEraError(UpstreamError):
    """The server works, and does not speak this era."""


async def begin(
    peer: Peer, era: Era, capabilities: Mapping[str, JsonValue], *, name: str
) -> EraFacts:
    """Open the conversation; the caller bounds the time.

    Args:
        peer: A fresh connection.
        era: In which to speak.
        capabilities: What the client declares that it can do.
        name: Of the server, for messages.

    Raises:
        OtherEraError: The server does not speak this era.
        UpstreamError: It failed.
    """
    if era is Era.MODERN:
        return await _discover(peer, name)
    return await _initialize(peer, capabilities, name)


async def _discover(peer: Peer, name: str) -> EraFacts:
    peer.agree(LATEST_MODERN_VERSION, expects_messages=False)
    meta: JsonObject = {
        PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
        CLIENT_INFO_META_KEY: CLIENT_INFO,
        CLIENT_CAPABILITIES_META_KEY: {},
    }
    try:
        try:
            result = await peer.request("server/discover", {"_meta": meta})
        except RelayedError as error:
            if not _offers_version(error):
                raise
            result = await peer.request("server/discover", {"_meta": meta})
    except RelayedError as error:
        raise OtherEraError(
            f"upstream {name} does not speak {LATEST_MODERN_VERSION}: {error}"
        ) from None
    except StatusError as error:
        if error.status not in (400, 404, 405, 406, 415):
            raise
        raise OtherEraError(
            f"upstream {name} does not speak {LATEST_MODERN_VERSION}: {error}"
        ) from None
    versions = result.get("supportedVersions")
    offered = versions if isinstance(versions, list) else []
    if not any(v in MODERN_PROTOCOL_VERSIONS for v in offered):
        raise OtherEraError(f"upstream {name} offers {offered}, not {LATEST_MODERN_VERSION}")
    return _facts(result, LATEST_MODERN_VERSION)


def _offers_version(error: RelayedError) -> bool:
    """Tell whether a server that refuses a version asks for one that we speak, as MCP lets it."""
    offered = (as_object(error.data) or {}).get("supported")
    return (
        error.code == UNSUPPORTED_PROTOCOL_VERSION
        and isinstance(offered, list)
        and LATEST_MODERN_VERSION in offered
    )


async def _initialize(peer: Peer, capabilities: Mapping[str, JsonValue], name: str) -> EraFacts:
    peer.agree("", expects_messages=False)
    params: JsonObject = {
        "protocolVersion": LATEST_HANDSHAKE_VERSION,
        "capabilities": dict(capabilities),
        "clientInfo": CLIENT_INFO,
    }
    try:
        result = await peer.request("initialize", params)
    except RelayedError as error:
        raise OtherEraError(f"upstream {name} refuses to initialize: {error}") from None
    version = result.get("protocolVersion")
    if not isinstance(version, str) or version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise OtherEraError(
            f"upstream {name} offers the protocol version {version!r}, which is unknown here"
        )
    facts = _facts(result, version)
    peer.agree(version, expects_messages=bool(capabilities) or _speaks_unasked(facts))
    await peer.notify("notifications/initialized")
    return facts


def _facts(result: JsonObject, version: str) -> EraFacts:
    capabilities, instructions = result.get("capabilities"), result.get("instructions")
    meta = as_object(result.get("_meta")) or {}
    info = result.get("serverInfo", meta.get(SERVER_INFO_META_KEY))  # where it stands, by era
    return EraFacts(
        version=version,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        instructions=instructions if isinstance(instructions, str) else None,
        server_info=info if isinstance(info, dict) else None,
    )


def _speaks_unasked(facts: EraFacts) -> bool:
    """Tell whether the server may send what belongs to no request."""
    members = [as_object(value) or {} for value in facts.capabilities.values()]
    return "logging" in facts.capabilities or any(
        m.get("listChanged") or m.get("subscribe") for m in members
    )
