"""Processes that serve: sockets, signals, workers, and the log of all of them.

Knows how an application is run and not what it answers; only :mod:`astra_mcp.cli` may import it.
"""
