"""Runs: which rollouts, syntheses and trainings there were in a home, and what each came to, as a report.

A command notes its run in the home and tells how it goes; pages and ``astra-mcp runs`` read that. Nothing is
found by looking around: what is not noted is not there. Knows no page and no command. To read in this order:
``notes``, then what reports are made of: ``rollouts``, ``curves``, ``training``.
"""

__all__: list[str] = []
