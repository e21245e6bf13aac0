"""Runs a list of stages over items, with resume, budget and a table of what became of everything.

Knows items by their ids and values as JSON; knows neither what the stages do nor where outcomes are kept
(:class:`ItemStore`, which ``registry`` satisfies). The synthesis packages and the composition root may
import it.
"""

from astra_mcp.pipeline.attempt import BUDGET, Made, Rejected, Stage, StageLimits
from astra_mcp.pipeline.item import (
    Begun,
    Given,
    Interrupted,
    Item,
    ItemStatus,
    ItemStore,
    NotBegun,
    Outcome,
    Progress,
    Settled,
    StoredItem,
)
from astra_mcp.pipeline.losses import Example, Loss
from astra_mcp.pipeline.runner import run_pipeline
from astra_mcp.pipeline.yield_table import Tally, YieldTable

__all__ = [
    "BUDGET",
    "Begun",
    "Example",
    "Given",
    "Interrupted",
    "Item",
    "ItemStatus",
    "ItemStore",
    "Loss",
    "Made",
    "NotBegun",
    "Outcome",
    "Progress",
    "Rejected",
    "Settled",
    "Stage",
    "StageLimits",
    "StoredItem",
    "Tally",
    "YieldTable",
    "run_pipeline",
]
