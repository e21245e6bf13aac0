"""Rows of RL data in the form that ASTRA published (ASTRA-RL-1k), and the bundles that they stand for.

Values in, values out: knows rows, sources and bundles; knows neither files nor the sandbox. The command
line and ``training.export`` import it. To read in this order: ``row``,
``renaming``, ``sources``, ``bundles``.
"""
