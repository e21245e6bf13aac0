"""Processes that serve: sockets, signals, workers, and the log of all of them.

:mod:`~astra_mcp.serving.process` and :mod:`~astra_mcp.serving.http` know how an application is run and not
what it answers; :mod:`~astra_mcp.serving.pages` is what people see of it, and what their programs are told is
in :mod:`~astra_mcp.serving.clients`. Only :mod:`astra_mcp.cli` may import it.
"""
