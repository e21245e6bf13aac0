"""Environments that are made: by families, which need no model, and with a model.

In reading order: ``making`` (of ``families``); ``asking``, ``questions``, ``building`` and ``pipeline`` (with
a model, by ``prompts``); ``gate_comparison`` and ``run_statistics`` (what a run tells beside its yield).
Imported by the composition root and the command line; knows ``astra_mcp.environments`` and what is below it.
"""
