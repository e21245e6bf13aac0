"""What there is to serve: the catalog of environments and servers.

Knows bundles and how to find them; knows neither how they are executed (``servers``) nor who asks
(``gateway``): both meet it in the composition root. Only :mod:`astra_mcp.cli` imports it.
"""

from registry.catalog import FolderCatalog

__all__ = ["FolderCatalog"]
