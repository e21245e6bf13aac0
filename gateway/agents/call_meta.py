"""What the gateway's own ``_meta`` of a request says, and what of a ``_meta`` goes on to a server.

Knows names and limits; knows neither transports nor episodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from astra_mcp.errors import CallFaultError
from astra_mcp.types import JsonObject, json_fault
from gateway.api.wire import CALL_ID_KEY, FAULT_KEY, SEQ_KEY

MAX_CALL_ID_LENGTH = 128
MAX_SEQ = 2**53
MAX_FAULT_LENGTH = 2000
_KEYS = frozenset((CALL_ID_KEY, SEQ_KEY, FAULT_KEY))
_OURS = ("io.modelcontextprotocol/", "dev.astra-mcp/")


def meta_for_server(meta: Mapping[str, Any]) -> JsonObject:
    """Take what is the client's own: not the protocol's envelope, and nothing meant for the gateway."""
    return {key: value for key, value in meta.items() if not key.startswith(_OURS)}


@dataclass(frozen=True, slots=True)
class CallMeta:
    """What a client told the gateway about a tool call."""

    call_id: str | None = None
    seq: int | None = None
    fault: str | None = None

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> "CallMeta":
        """Read ``_meta``.

        Raises:
            CallFaultError: An entry is not as it must be; the message names it.
        """
        if _KEYS.isdisjoint(meta):
            return _NOTHING_TOLD
        return cls(_call_id(meta), _seq(meta), _fault(meta))


_NOTHING_TOLD = CallMeta()


def _call_id(meta: Mapping[str, Any]) -> str | None:
    call_id = meta.get(CALL_ID_KEY)
    if call_id is None:
        return None
    if not isinstance(call_id, str) or not 0 < len(call_id) <= MAX_CALL_ID_LENGTH:
        msg = f"_meta {CALL_ID_KEY}: send a string of 1 to {MAX_CALL_ID_LENGTH} characters"
        raise CallFaultError(msg)
    if json_fault(call_id) is not None:
        raise CallFaultError(f"_meta {CALL_ID_KEY}: send whole characters")
    return call_id


def _seq(meta: Mapping[str, Any]) -> int | None:
    seq = meta.get(SEQ_KEY)
    if seq is None:
        return None
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq <= MAX_SEQ:
        raise CallFaultError(f"_meta {SEQ_KEY}: send an integer from 0")
    return seq


def _fault(meta: Mapping[str, Any]) -> str | None:
    fault = meta.get(FAULT_KEY)
    if fault is None:
        return None
    if not isinstance(fault, str) or not fault or json_fault(fault) is not None:
        msg = f"_meta {FAULT_KEY}: send a text that says what is wrong with the arguments"
        raise CallFaultError(msg)
    return fault[:MAX_FAULT_LENGTH]
