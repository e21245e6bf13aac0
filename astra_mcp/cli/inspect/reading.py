"""Reads conversations of any file that a rollout or an export wrote."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import Message, StopReason
from training.export.row_files import LINES, PARQUET, read_rows
from training.sft.conversations import read_row

__all__ = ["read_conversations"]


def read_conversations(file: Path) -> Iterator[tuple[tuple[Message, ...], StopReason | None]]:
    """Give the messages of each trajectory, and why it stopped, where the file says so.

    Args:
        file: Lines of JSON or Parquet, as a rollout or ``export sft`` writes them.

    Raises:
        ConfigError: It cannot be read, is of another kind, or holds no trajectory; names the row.
    """
    if file.suffix not in (*LINES, PARQUET):
        endings = ", ".join(LINES)
        raise ConfigError(f"{file} is no file of trajectories: those end in {endings} or {PARQUET}")
    is_empty = True
    for place, row in _rows(file):
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
