"""``astra-mcp connect``: the clients' formats, and writing into their files without harm.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``client_configs``,
``client_files``, ``config_texts``.
"""

__all__: list[str] = []
