"""The control plane: the HTTP API of orchestrators, the list for MCP clients, and the other workers.

Knows episodes and no agent plane; only :mod:`gateway.app` and the composition may import it. To read in
this order: :mod:`~gateway.control.plane`, :mod:`~gateway.control.lists`,
:mod:`~gateway.control.records` with :mod:`~gateway.control.record_printer`, :mod:`~gateway.control.errors`,
:mod:`~gateway.control.login_links`, :mod:`~gateway.control.subregistry`,
:mod:`~gateway.control.other_workers`.
"""
