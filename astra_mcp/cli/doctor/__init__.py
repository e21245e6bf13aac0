"""``astra-mcp doctor``: what works on this machine, and what to do about the rest.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``service_checks``,
``template_view``.
"""
