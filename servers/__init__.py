"""Servers: what stands behind a tool, as real MCP servers.

Each kind satisfies the gateway's ``Upstream`` structurally and also runs alone over stdio and HTTP, from
the same object. Knows bundles, the sandbox, in :mod:`servers.deployed` servers that run elsewhere, and in
:mod:`servers.emulated` those of which there are documents only; never imports ``gateway`` or ``registry``.
Only :mod:`astra_mcp.compose` and what stands above it import it. The bundled environments lie in
``servers/bundled``. To read in this order: :mod:`servers.tools_only`, :mod:`servers.environment`,
:mod:`servers.stored_environment`, :mod:`servers.standalone`, then the two packages.
"""
