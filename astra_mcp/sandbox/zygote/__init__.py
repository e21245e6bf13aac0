"""What runs on the far side of the boundary: the fork server and the loop of a tool's process.

Standard library only, and started by path (see :mod:`astra_mcp.sandbox.zygote.launch`) without
importing the packages above it, so that a locked process holds no more code than it needs. The host
imports :mod:`~astra_mcp.sandbox.zygote.frames`, :mod:`~astra_mcp.sandbox.zygote.settings` and the flags of a
fork from here, because both sides must agree on them, and nothing else.
"""
