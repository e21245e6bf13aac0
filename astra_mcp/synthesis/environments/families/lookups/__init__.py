"""Families in which no call changes anything: what is asked for is found, over one hop or several.

Each family has a module of its name: the world, its tools, and the sub-tasks. What it is about lies in ``themes``, and
where that is long how it asks in ``questions``; ``asides`` gives tools optional parameters. Imported by
``astra_mcp.synthesis.environments.families`` alone.
"""
