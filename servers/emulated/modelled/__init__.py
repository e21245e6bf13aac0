"""The emulator that asks a model: every answer is made up by it, and held against what was said before.

Knows the model layer, tool documents and one session's past; knows neither MCP nor who calls. What a
session has given out stands in a ledger, so that no model can contradict itself unnoticed. Only
:mod:`astra_mcp.compose` imports it, where a model is configured. To read in this order: ``emulator``,
``asking``, ``history``, ``excerpts``; ``document_entities`` and ``mentions`` (what calls and answers are
about), ``told_values``, ``given_words``, ``effects``, ``ledger`` (what was said); ``rules``, ``consistency``,
``value_rules``, ``list_rules`` (what an answer breaks).
"""
