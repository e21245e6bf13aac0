"""What MCP clients are told to reach what is served: how each writes down its servers, and one entry of it.

Knows clients' formats; knows neither what is served nor how a file is written. :mod:`astra_mcp.cli` and
:mod:`astra_mcp.serving.pages` may import it. To read in this order: ``client_configs``, ``config_texts``.
"""

__all__: list[str] = []
