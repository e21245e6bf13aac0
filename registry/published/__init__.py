"""What others see of the registry: servers to serve, the list for MCP clients, frozen exports.

Knows the store; only the composition may import it. To read in this order:
:mod:`~registry.published.publication`, :mod:`~registry.published.export`, then the rest.
"""
