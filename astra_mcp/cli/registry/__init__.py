"""``astra-mcp registry``: its commands, how documents come in, and how the registry looks.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``commands``, ``importing``, ``views``.
"""
