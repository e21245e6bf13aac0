"""``astra-mcp rollout``: its options, what is played, how hard it is, who plays, and what it earned.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``options``,
``episode_sources``, ``difficulty``, ``bounds``, ``agents``, ``own_agents``, ``report``.
"""
