"""Texts that others wrote: what language they are in, what JSON they hold, and how they may be shown.

:mod:`~astra_mcp.text.plain` takes from a text what would steer a terminal or a log;
:mod:`~astra_mcp.text.json_bounds` says before anything parses a JSON text whether it holds too much;
:mod:`~astra_mcp.text.strict_json` refuses what Python's parser lets pass in silence;
:mod:`~astra_mcp.text.language` names a natural language. Knows characters alone; everything may import it.
"""
