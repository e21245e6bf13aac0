"""MCP on the wire: the bridge to the SDK, HTTP in both directions, lines, and what passes beside a call.

Knows the protocol and no server: neither tools nor episodes. ``servers`` and ``gateway`` may import it, and
the composition above them. To read in this order: :mod:`~astra_mcp.mcp.request_context`,
:mod:`~astra_mcp.mcp.bridge`, :mod:`~astra_mcp.mcp.http`, :mod:`~astra_mcp.mcp.lines`,
:mod:`~astra_mcp.mcp.listeners`, :mod:`~astra_mcp.mcp.made_up`.
"""
