"""An HTTP server in this process: connections that are bounded, and a drain that finishes what is under way.

Knows any ASGI application and no gateway. :mod:`astra_mcp.serving` and the commands may import it. To read in
this order: :mod:`~astra_mcp.serving.http.server`, :mod:`~astra_mcp.serving.http.connections`,
:mod:`~astra_mcp.serving.http.drain`, then the rest.
"""
