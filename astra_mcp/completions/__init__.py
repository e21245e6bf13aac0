"""A model endpoint of this machine, for tests, demos and measurements: speaks OpenAI's HTTP API.

Plays recorded completions or a policy written in Python, fails on demand by a seeded plan, and accounts
for every request. Knows HTTP and the API's documents; knows neither the model layer, which meets it over
a socket like any other endpoint, nor what the answers are for. Tests, benchmarks and the composition root
may import it; ``python -m astra_mcp.completions`` starts it as a process.
"""

from astra_mcp.completions.planned_faults import FaultKind, FaultPlan
from astra_mcp.completions.policy import (
    Answer,
    AnswerCall,
    CompletionRequest,
    Policy,
    Refusal,
    Reply,
    Verbatim,
    content_id,
)
from astra_mcp.completions.recordings import Recordings, load_recordings
from astra_mcp.completions.server import CompletionsServer, open_completions

__all__ = [
    "Answer",
    "AnswerCall",
    "CompletionRequest",
    "CompletionsServer",
    "FaultKind",
    "FaultPlan",
    "Policy",
    "Recordings",
    "Refusal",
    "Reply",
    "Verbatim",
    "content_id",
    "load_recordings",
    "open_completions",
]
