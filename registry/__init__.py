"""What there is to serve and to make tasks of: environments in folders, documents of servers in a database.

Knows bundles, documents and how to find them; knows neither how they are executed (``servers``) nor who asks
(``gateway``): both meet it in the composition root. Only :mod:`astra_mcp.compose` and :mod:`astra_mcp.cli`
import it, each folder by itself: this one loads none of them. To read in this order:
:mod:`registry.documents`, :mod:`registry.store`, :mod:`registry.intake`, :mod:`registry.published`, the rest.
"""
