"""Prompts that ask a model for hints and reflections; each a template beside the code that asks."""
