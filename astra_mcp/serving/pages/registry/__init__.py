"""The pages of the registry: its documents by facets and by search, and each before and after its intake.

Knows the registry and the pieces of the pages beside it; changes nothing there. ``pages.app``,
``pages.parts`` and ``pages.opening`` alone may import it. To read in this order: ``searching``, ``views``,
``pages``.
"""

__all__: list[str] = []
