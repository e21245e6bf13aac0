"""What there is to serve and to make tasks of: environments in folders, documents of servers in a database.

Knows bundles, documents and how to find them; knows neither how they are executed (``servers``) nor who asks
(``gateway``): both meet it in the composition root. Only :mod:`astra_mcp.cli` imports it.
"""

from registry.published.catalog import FolderCatalog

__all__ = ["FolderCatalog"]
