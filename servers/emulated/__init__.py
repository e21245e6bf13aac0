"""Servers of which there are documents only: every answer is made up, and the same for the same calls.

Knows tool documents, schemas and, for one of its two emulators, the model layer; knows neither the
registry that the documents come from nor the gateway. Only :mod:`astra_mcp.cli` imports it.
"""

__all__: list[str] = []
