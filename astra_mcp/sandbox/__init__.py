"""Runs untrusted tool code: locked processes, one per episode.

Knows source text, functions and JSON; knows neither bundles nor episodes nor MCP. May be imported by
the acceptance, the servers and the composition root. ``open_sandbox`` is the only way in.
"""

from astra_mcp.sandbox.opening import examine_machine, open_sandbox
from astra_mcp.sandbox.protocol import (
    ModuleId,
    Raised,
    Returned,
    Sandbox,
    SandboxLimits,
    SandboxReport,
    SandboxSession,
)

__all__ = [
    "ModuleId",
    "Raised",
    "Returned",
    "Sandbox",
    "SandboxLimits",
    "SandboxReport",
    "SandboxSession",
    "examine_machine",
    "open_sandbox",
]
