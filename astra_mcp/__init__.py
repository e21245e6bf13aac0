"""astra-mcp: verified tool environments, published as MCP servers behind one gateway.

This package holds what every other one stands on: the error tree, the value types, the matcher,
the reward, the sandbox and the synthesis and acceptance of environments. It knows neither a server
nor the gateway nor a trainer; only :mod:`astra_mcp.cli` wires them together.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
