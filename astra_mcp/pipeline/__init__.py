"""Runs a list of stages over items, with resume, budget and a table of what became of everything.

Knows items by their ids and values as JSON; knows neither what the stages do nor where outcomes are kept
(:class:`ItemStore`, which ``registry`` satisfies). The synthesis packages and the composition root may
import it.
"""

from astra_mcp.pipeline.item import Item, ItemStatus, ItemStore, Outcome

__all__ = ["Item", "ItemStatus", "ItemStore", "Outcome"]
