"""Environments that are made: by families, which need no model.

Imported by the composition root and the command line; knows ``astra_mcp.environments`` and what is below it.
"""
