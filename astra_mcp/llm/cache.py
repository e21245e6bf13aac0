"""Answers of models, kept by everything that they depend on."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

from astra_mcp.types import JsonObject, canonical_json

__all__ = ["CompletionCache", "completion_key"]


class CompletionCache(Protocol):
    """Keeps completions by their keys; satisfied by ``registry``. Only answers of use are put into it."""

    async def get(self, key: str) -> JsonObject | None:
        """Find what was put last, or None."""
        ...

    async def put(self, key: str, value: JsonObject) -> None:
        """Keep a value; replaces an earlier one."""
        ...


def completion_key(content: Mapping[str, object]) -> str:
    """Hash what an answer depends on into 64 hex digits.

    The address of the endpoint is left out by the caller, so that a server that moves keeps its answers.
    """
    return sha256(canonical_json(content)).hexdigest()
