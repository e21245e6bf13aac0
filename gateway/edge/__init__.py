"""The edge of a gateway process: who may speak to it, what it measures, where it stands among others.

Knows neither episodes nor tools. Everything of the gateway may import it, and the composition. To read
in this order: :mod:`~gateway.edge.security`, :mod:`~gateway.edge.keys`, :mod:`~gateway.edge.workers`,
:mod:`~gateway.edge.metrics`, then the rest.
"""
