"""``astra-mcp synth``: make environments, by families that need no model, and with a model; and tasks.

Only :mod:`astra_mcp.cli.main` may import it. To read in this order: ``command``, ``run_options``,
``options``, ``reading``, ``families``, ``report_parts``, ``report``, ``with_model``; ``task_options``,
``task_report``, ``tasks``; ``demo_play``, ``task_demo``.
"""
