"""``astra-mcp connect``: which entry a client gets, and writing it into its files without harm.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``client_files``; the
clients' formats are in :mod:`astra_mcp.serving.clients`.
"""

__all__: list[str] = []
