"""Dialects: how a model's turn spells its words and tool calls, written and read.

Knows text and JSON, and neither templates nor tokens. Only :mod:`training.render` imports it. To read in this
order: ``turns``, ``calls``, ``hermes``, ``llama``, ``mistral``, ``known``.
"""
