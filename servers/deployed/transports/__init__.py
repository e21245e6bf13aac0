"""How bytes reach a deployed server: processes, HTTP connections, streams in memory, and JSON-RPC over them.

Knows messages and no tools, sessions or files of servers; only :mod:`servers.deployed` may import it. To read
in this order: :mod:`~servers.deployed.transports.messages`, :mod:`~servers.deployed.transports.duplex`,
:mod:`~servers.deployed.transports.streamable`, then the rest.
"""

__all__: list[str] = []
