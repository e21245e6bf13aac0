"""``astra-mcp rollout``: its options, what is played, how hard it is, and what it earned.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``options``,
``episode_sources``, ``difficulty``, ``agents``, ``report``.
"""
