"""``astra-mcp score``: the seven-dimension reward of trajectories, and how far its judge is to be trusted.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``options``, ``command``,
``calibrating``, ``tables`` (the terminal), ``page`` and ``readings`` (the HTML report, loaded when one is
written).
"""
