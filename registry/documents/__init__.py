"""Documents of servers and tools: what they are before and after they are judged, labelled and normalised.

Values in, values out. To read in this order: :mod:`~registry.documents.sources`,
:mod:`~registry.documents.normalisation`, :mod:`~registry.documents.preparation`,
:mod:`~registry.documents.filters`, then the rest.
"""
