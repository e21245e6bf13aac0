"""Pages of runs: a list of rollouts, syntheses and trainings, and each with its report, live as it goes on.

Knows the notes and reports of :mod:`astra_mcp.compose.runs` and nothing of what runs: no file is read but
those that a note of the home leads to. ``app`` alone imports it. To read in this order: ``shelf`` (what was
read of growing files), ``run_pages``. ``templates`` holds the pages, ``assets`` their style and script.
"""

__all__: list[str] = []
