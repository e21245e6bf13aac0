"""Bundles in folders, many of them: what lists need of each, found without reading what is known already.

Knows folders, bundles and a file of its own; knows neither who serves them nor which folders there are. To
read in this order: :mod:`~registry.bundles.digest`, :mod:`~registry.bundles.folder`,
:mod:`~registry.bundles.index`.
"""
