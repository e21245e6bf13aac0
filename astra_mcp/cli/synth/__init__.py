"""``astra-mcp synth``: make environments, by families that need no model, and with a model.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``options``, ``reading``,
``families``, ``report_parts``, ``report``, ``with_model``.
"""
