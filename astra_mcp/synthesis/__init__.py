"""Synthesis: what makes environments and trajectories out of knowledge and tool documents.

Values in, values out: knows the bundle format and what stands below it, and declares Protocols for what it
needs of others; ``astra_mcp.compose`` wires them. Knows neither registry, servers nor gateway. To read in
this order: ``asking``, ``texts``, ``numerals``, ``likeness``, ``duplicates``, then ``environments`` or
``trajectories``, which know nothing of each other.
"""
