"""Talking to models: the only home of the ``openai`` client.

Knows messages, tools and endpoints; knows neither episodes nor environments. ``training`` and the
composition root may import it.
"""

__all__: list[str] = []
