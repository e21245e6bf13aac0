"""Families: parametrised generators of environments that need no model.

Values in, values out: a brief becomes a bundle, and the same brief the same bytes. Knows the bundle format and
its own words; never the acceptance, files or settings. Imported by ``astra_mcp.synthesis.environments``; the command line
names families and plans orders by ``catalog`` and ``generation``.

Read in this order: ``draw``, ``entities`` (names and codes, by split), ``brief`` (what an environment should be),
``dates``, ``times``, ``phrases``, ``issued``, ``graphs``, ``draft`` (writing a bundle), ``conclusions``, ``family``; then
the families themselves, those in ``stateful`` (a call may change what later calls return) and those in ``lookups``;
those in ``micro`` are for small models. ``catalog`` lists all, ``generation`` plans an order of many.
"""
