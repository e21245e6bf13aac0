"""Reads conversations of any file that a rollout or an export wrote."""

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import Message, StopReason
from astra_mcp.types import JsonObject
from training.export.row_files import LINES, PARQUET, read_rows
from training.sft.conversations import read_row

__all__ = ["read_conversations"]

_INSPECT = ".eval"
_SAMPLES = "samples/"
_OURS = "schema_version"
"""By which the metadata of a sample is known as ours."""


def read_conversations(file: Path) -> Iterator[tuple[tuple[Message, ...], StopReason | None]]:
    """Give the messages of each trajectory, and why it stopped, where the file says so.

    Args:
        file: Lines of JSON or Parquet, as a rollout or ``export sft`` writes them, or its log of Inspect.

    Raises:
        ConfigError: It cannot be read, is of another kind, or holds no trajectory; names the row.
    """
    if file.suffix not in (*LINES, PARQUET, _INSPECT):
        endings = ", ".join((*LINES, PARQUET))
        raise ConfigError(
            f"{file} is no file of trajectories: those end in {endings} or {_INSPECT}"
        )
    rows = _samples(file) if file.suffix == _INSPECT else _rows(file)
    is_empty = True
    for place, row in rows:
        is_empty = False
        if "reward_model" in row:
            raise ConfigError(
                f"{place} is of environments that are to be played (export rl), and no trajectory"
            )
        conversation, trajectory = read_row(row, place)
        yield conversation.messages, trajectory.stop if trajectory else None
    if is_empty:
        raise ConfigError(f"{file} is empty: it holds no trajectory")


def _rows(file: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, row in read_rows(file):
        place = f"{file}: row {number}"
        if isinstance(row, str):
            raise ConfigError(f"{place} {row}")
        yield place, row


def _samples(file: Path) -> Iterator[tuple[str, JsonObject]]:
    """Give the samples of a log as rows of ``export sft``."""
    try:
        with zipfile.ZipFile(file) as log:
            for name in log.namelist():
                if name.startswith(_SAMPLES):
                    place = f"{file}: {name}"
                    yield place, _row_of_sample(json.loads(log.read(name)), place)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError) as error:
        raise ConfigError(f"{file} is no log of Inspect: {error}") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}") from None


def _row_of_sample(sample: Any, place: str) -> JsonObject:
    try:
        metadata = sample["metadata"]
        if _OURS not in metadata:
            raise ConfigError(f"{place} is of another program: `export sft` writes the metadata")
        return {
            "messages": [_message(message) for message in sample["messages"]],
            "metadata": json.dumps(metadata),
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{place} is no sample that `export sft` wrote: {error!r}") from None


def _message(message: Any) -> JsonObject:
    """Give one of Inspect's messages in our form."""
    content, role = message["content"], message["role"]
    row: JsonObject = {"role": role, "content": content}
    if isinstance(content, list):
        parts = cast("list[dict[str, Any]]", content)
        row["content"] = "".join(part["text"] for part in parts if part["type"] == "text")
        row["reasoning_content"] = "".join(
            part["reasoning"] for part in parts if part["type"] == "reasoning"
        )
    if role == "tool":
        row["tool_call_id"] = message["tool_call_id"]
    if role == "assistant":
        row["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["function"],
                    "arguments": json.dumps(call["arguments"], ensure_ascii=False),
                },
            }
            for call in message.get("tool_calls") or ()
        ]
    return row
