"""Exports environments as rows for reinforcement learning: the file, and the card beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import ConfigError
from training.export.card import Exported, write_card
from training.export.columns import ROW_COLUMNS, VERL_COLUMNS
from training.export.rl_rows import published_rows, verl_rows
from training.export.row_files import PARQUET, write_rows

__all__ = ["Form", "RlExport", "export_rl"]


class Form(StrEnum):
    """What rows look like."""

    VERL = "verl"
    """As verl 0.9.1 reads them, in Parquet."""
    ROWS = "rows"
    """The four columns of ASTRA-RL-1k, in Parquet or lines of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RlExport:
    """What was written."""

    num_rows: int
    card: Path | None
    """None where a README was there that no export had written; it stays as it is."""


def export_rl(
    bundles: Sequence[Bundle], file: Path, form: Form, *, num_seeds: int = 1, split: str = "train"
) -> RlExport:
    """Write rows and their card.

    Args:
        bundles: The environments, in order.
        file: Is not there yet; its ending says how it is written.
        form: Of the rows.
        num_seeds: For verl, rows of each environment.
        split: What the rows are for.

    Raises:
        ConfigError: The options do not go together, or the files cannot be written.
    """
    if form is Form.VERL:
        if file.suffix != PARQUET:
            raise ConfigError(f"verl reads Parquet: name a file that ends in {PARQUET}")
        columns = VERL_COLUMNS
        rows = verl_rows(bundles, num_seeds=num_seeds, split=split)
    else:
        if num_seeds != 1:
            raise ConfigError("--seeds is for --format verl: the form of ASTRA-RL-1k has no seed")
        columns = ROW_COLUMNS
        rows = published_rows(bundles)
    num_rows = write_rows(file, columns, rows)
    exported = Exported(file=file, columns=columns, bundles=bundles, num_rows=num_rows, split=split)
    return RlExport(num_rows=num_rows, card=write_card(exported))
