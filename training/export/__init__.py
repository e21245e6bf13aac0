"""Environments as data sets: RL rows in the published form or as verl reads them, and the card beside them.

Knows bundles and files; of rows that others publish it reads the files alone. Commands import this package.
To read in this order: ``columns``, ``rl_rows``, ``row_files``, ``card``, ``exporting``.
"""
