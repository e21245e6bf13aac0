"""Talking to models by their roles: the only home of the ``openai`` client.

Knows messages, forms of answers and endpoints; knows neither episodes nor environments, nor where answers
are kept (:class:`~astra_mcp.llm.cache.CompletionCache`, which ``registry`` satisfies). All packages above
it may import it; ``model`` and ``embedder`` take a second to import, the other modules do not.
"""
