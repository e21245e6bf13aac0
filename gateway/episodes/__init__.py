"""Episodes: single-use runs with a tool list, calls in order, limits, a record and a reward.

Knows no wire: neither MCP nor HTTP. The planes (:mod:`gateway.agents`, :mod:`gateway.control`) may import it.
To read in this order: :mod:`~gateway.episodes.live`, :mod:`~gateway.episodes.held`,
:mod:`~gateway.episodes.episode`, :mod:`~gateway.episodes.calls`, :mod:`~gateway.episodes.turns`,
:mod:`~gateway.episodes.record`, then the rest.
"""
