"""``astra-mcp inspect``: what trajectories that are stored say of the policy that left them.

In reading order: ``reading`` (any file of trajectories that we write), ``command``.
"""
