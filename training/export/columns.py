"""The columns of a data set, written down once: as PyArrow types, and as a data set card says them.

A column is a type by its name, a mapping (a struct of columns) or a list of one mapping. Any value may be
null. Whatever else JSON can hold stands as JSON text in a column of text, so that no row changes a type.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from astra_mcp.types import JsonObject
from training.rewards.score import Dimension

__all__ = [
    "CHAT_COLUMNS",
    "ROW_COLUMNS",
    "SCORED_CHAT_COLUMNS",
    "VERL_COLUMNS",
    "Columns",
    "arrow_schema",
    "card_features",
]

Columns = Mapping[str, Any]
"""Each column with its type."""

TEXT: Final = "string"
INTEGER: Final = "int64"
NUMBER: Final = "float64"

ROW_COLUMNS: Final[Columns] = MappingProxyType(
    {
        "prompt": [{"content": TEXT, "role": TEXT}],
        "tool_schema": TEXT,
        "tool_dict": TEXT,
        "sub_qa_dict": TEXT,
    }
)
"""As ASTRA-RL-1k is published."""

VERL_COLUMNS: Final[Columns] = MappingProxyType(
    {
        "data_source": TEXT,
        "agent_name": TEXT,
        "prompt": [{"role": TEXT, "content": TEXT}],
        "ability": TEXT,
        "reward_model": {"style": TEXT, "ground_truth": TEXT},
        "extra_info": {
            "index": INTEGER,
            "split": TEXT,
            "environment": TEXT,
            "question_id": TEXT,
            "seed": INTEGER,
            "family": TEXT,
            "version": TEXT,
            "status": TEXT,
            "domain": TEXT,
            "language": TEXT,
            "scenario_type": TEXT,
            "episode": TEXT,
        },
    }
)
"""As verl 0.9.1 reads it; its agent loops get every column."""

CHAT_COLUMNS: Final[Columns] = MappingProxyType(
    {
        "messages": [
            {
                "role": TEXT,
                "content": TEXT,
                "reasoning_content": TEXT,
                "tool_calls": [
                    {"id": TEXT, "type": TEXT, "function": {"name": TEXT, "arguments": TEXT}}
                ],
                "tool_call_id": TEXT,
                "name": TEXT,
            }
        ],
        "tools": TEXT,
        "metadata": TEXT,
    }
)
"""Chats of trajectories: OpenAI messages, of which each has every member."""

SCORED_CHAT_COLUMNS: Final[Columns] = MappingProxyType(
    {
        **CHAT_COLUMNS,
        "scores": {"total": NUMBER, **{dimension.value: NUMBER for dimension in Dimension}},
    }
)
"""The same with what a judge and the record say of each; a dimension that is not defined is null."""


def arrow_schema(arrow: Any, columns: Columns) -> Any:
    """Give the schema of a Parquet file.

    Args:
        arrow: The module ``pyarrow``, which is an extra.
        columns: Of the file.
    """
    return arrow.schema([(name, _arrow_type(arrow, kind)) for name, kind in columns.items()])


def _arrow_type(arrow: Any, kind: Any) -> Any:
    match kind:
        case str():
            return getattr(arrow, kind)()
        case [members]:
            return arrow.list_(_arrow_type(arrow, members))
        case _:
            return arrow.struct([(name, _arrow_type(arrow, each)) for name, each in kind.items()])


def card_features(columns: Columns) -> list[JsonObject]:
    """Say the columns as the front matter of a Hugging Face card does."""
    return [{"name": name, **_feature(kind)} for name, kind in columns.items()]


def _feature(kind: Any) -> JsonObject:
    match kind:
        case str():
            return {"dtype": kind}
        case [members]:
            return {"list": [*card_features(members)]}
        case _:
            return {"struct": [*card_features(kind)]}
