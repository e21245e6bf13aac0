"""Both pipelines of synthesis, put together with their models, the registry and what they are for.

To read in this order: ``runs`` (what both share), ``environments``, ``trajectories``. The command line
imports it.
"""
