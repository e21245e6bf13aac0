"""The prompts of the registry, one template file for each call of a model; nothing else.

Loaded by the module that makes the call, through :mod:`astra_mcp.llm.prompt`.
"""
