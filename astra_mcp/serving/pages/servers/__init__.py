"""The pages of servers: which there are, and each with its tools, its calls and its tool graph.

Knows the gateway's core, the registry's outcomes of synthesis, and the pieces of the pages beside it; calls
no tool itself, which :mod:`astra_mcp.serving.pages.play` does. ``pages.app``, ``pages.parts`` and
``pages.opening`` alone may import it. To read in this order: ``figures``, ``transitions``, ``views``,
``pages``.
"""

__all__: list[str] = []
