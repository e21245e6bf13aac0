"""Search over stored tools: by their words, by their vectors, and by both.

Knows the store and no document. To read in this order: :mod:`~registry.search.query`,
:mod:`~registry.search.word_ranking`, :mod:`~registry.search.full_text`, :mod:`~registry.search.server_words`,
:mod:`~registry.search.vectors`, then the rest.
"""
