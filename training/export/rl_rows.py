"""The rows of an environment: one in the published form, and one for each seed as verl reads it.

A row for verl says which episode to open; its tools come from the gateway, over MCP, and so does its reward.
"""

import json
from collections.abc import Iterable, Iterator

from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.rows.bundles import row_of_bundle
from astra_mcp.types import JsonObject

__all__ = ["AGENT_NAME", "DATA_SOURCE", "published_rows", "verl_rows"]

DATA_SOURCE = "astra-mcp"
AGENT_NAME = "astra_mcp"
"""The agent loop that plays the rows."""
_ABILITY = "tool_use"


def published_rows(bundles: Iterable[Bundle]) -> Iterator[JsonObject]:
    """Give the row of each question in the four columns of ASTRA-RL-1k."""
    return (row_of_bundle(asked).columns for bundle in bundles for asked in bundle.asked)


def verl_rows(bundles: Iterable[Bundle], *, num_seeds: int, split: str) -> Iterator[JsonObject]:
    """Give rows for verl, those of an environment together.

    Args:
        bundles: The environments.
        num_seeds: Rows of each question, for the seeds 0, 1, ...
        split: Such as ``train``.
    """
    index = 0
    for asked in (question for bundle in bundles for question in bundle.asked):
        for seed in range(num_seeds):
            yield _verl_row(asked, index=index, seed=seed, split=split)
            index += 1


def _verl_row(bundle: Bundle, *, index: int, seed: int, split: str) -> JsonObject:
    document = bundle.document
    answers = row_of_bundle(bundle).answers
    named = {} if bundle.question_id is None else {"question": bundle.question_id}
    source = {"kind": "environment", "name": bundle.name, **named}
    episode = {"source": source, "seed": seed}
    return {
        "data_source": DATA_SOURCE,
        "agent_name": AGENT_NAME,
        "prompt": [{"role": "user", "content": document.prompt}],
        "ability": _ABILITY,
        "reward_model": {
            "style": "rule",
            "ground_truth": json.dumps(answers, ensure_ascii=False),
        },
        "extra_info": {
            "index": index,
            "split": split,
            "environment": bundle.name,
            "question_id": bundle.question_id,
            "seed": seed,
            "family": document.provenance.family,
            "version": bundle.content_hash,
            "status": document.status,
            "domain": document.domain and document.domain.value,
            "language": document.language,
            "scenario_type": document.scenario_type and document.scenario_type.value,
            "episode": json.dumps(episode),
        },
    }
