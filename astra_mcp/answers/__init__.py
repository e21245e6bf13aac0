"""The one matcher: does a tool's result contain an answer?

The acceptance of bundles, the gateway's reward and the trainers use no other. Text becomes tokens; an
answer is contained where its tokens stand in the text next to one another and in order. Knows texts alone.
Reading order: ``tokens`` (what is equal), ``spelling`` (how a token is written), ``matching`` (the search).
"""

from astra_mcp.answers.matching import (
    Matching,
    contains_answer,
    match_answers,
    match_in_slices,
    prepare_matching,
)
from astra_mcp.answers.tokens import answer_fault, tokenize

__all__ = [
    "Matching",
    "answer_fault",
    "contains_answer",
    "match_answers",
    "match_in_slices",
    "prepare_matching",
    "tokenize",
]
