"""Families in which a call may change what later calls return.

Imported by ``astra_mcp.synthesis.environments.families`` alone. Read ``house`` first, from which the worlds of all
derive. Each of these is in two modules, the world with its tools before what is asked of it: ``venues`` and
``bookings``, ``stock`` and ``inventories``, ``desks`` and ``tickets``, ``shops`` and ``baskets``, ``banks`` and
``accounts``.
"""
