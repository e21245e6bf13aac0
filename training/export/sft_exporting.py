"""Exports trajectories for supervised fine-tuning and for viewers: the file, and the card beside it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import Trajectory
from astra_mcp.types import JsonObject
from training.export.columns import CHAT_COLUMNS, SCORED_CHAT_COLUMNS
from training.export.inspect_log import write_inspect_log
from training.export.row_files import LINES, PARQUET, new_file, write_rows
from training.export.selection import ScoreFloors, Selected, Selection
from training.export.sft_card import Tally, write_sft_card
from training.export.sft_rows import chat_row, openai_row, score_columns
from training.rewards.score import digest_of

__all__ = ["SftExport", "SftForm", "export_sft"]


class SftForm(StrEnum):
    """What becomes of trajectories."""

    MESSAGES = "messages"
    """Chats for training libraries, in Parquet or lines of JSON."""
    OPENAI = "openai"
    """Lines of JSON for OpenAI's fine-tuning."""
    INSPECT = "inspect"
    """A log that Inspect shows."""


_ENDINGS = {
    SftForm.MESSAGES: (PARQUET, *LINES),
    SftForm.OPENAI: LINES,
    SftForm.INSPECT: (".eval",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SftExport:
    """What was written."""

    selected: Selected
    card: Path | None
    """None where none belongs beside the file, or a README was there that no export had written."""
    reasonings_left_out: int
    """Messages whose reasoning had no place in the form."""


def export_sft(
    files: Sequence[Path],
    file: Path,
    form: SftForm,
    selection: Selection,
    *,
    split: str | None = None,
) -> SftExport:
    """Write what is selected of trajectory files, in their order, and a card beside rows.

    Args:
        files: Of trajectories, none twice.
        file: Is not there yet; its ending must suit the form.
        form: What to write.
        selection: Which trajectories.
        split: What rows are for, ``train`` unless it is said; a log has none.

    Raises:
        ConfigError: Options do not go together, a file cannot be read or written, a line is no trajectory,
            nothing is selected, or an extra is missing.
    """
    _check(files, file, form)
    selected = Selected(files, selection, needs_chat=form is not SftForm.INSPECT)
    tally = Tally()
    if form is SftForm.INSPECT:
        if split is not None:
            raise ConfigError("--split labels rows: a log of Inspect has none")
        with new_file(file) as made:
            write_inspect_log(selected, made)
        return SftExport(selected=selected, card=None, reasonings_left_out=0)
    is_chat = form is SftForm.MESSAGES
    columns, row_of = CHAT_COLUMNS, chat_row if is_chat else openai_row
    if is_chat and selection.scored is not None:
        columns, row_of = SCORED_CHAT_COLUMNS, partial(_scored_row, selection.scored)
    write_rows(file, columns, _rows(selected, row_of, tally))
    card = write_sft_card(
        file, form, selected=selected, tally=tally, split=split or "train", is_chat=is_chat
    )
    left_out = 0 if is_chat else tally.reasonings
    return SftExport(selected=selected, card=card, reasonings_left_out=left_out)


def _check(files: Sequence[Path], file: Path, form: SftForm) -> None:
    endings = _ENDINGS[form]
    if file.suffix not in endings:
        raise ConfigError(f"{file} must end in {' or '.join(endings)} for --format {form}")
    resolved = [each.resolve() for each in files]
    if twice := [each for each in files if resolved.count(each.resolve()) > 1]:
        raise ConfigError(f"{twice[0]} is named twice; name each file once")


def _scored_row(scored: ScoreFloors, trajectory: Trajectory) -> JsonObject:
    return {**chat_row(trajectory), **score_columns(scored.scores[digest_of(trajectory)])}


def _rows(
    selected: Selected, row_of: Callable[[Trajectory], JsonObject], tally: Tally
) -> Iterator[JsonObject]:
    for trajectory in selected:
        tally.add(trajectory)
        yield row_of(trajectory)
