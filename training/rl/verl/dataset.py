"""The rows that verl hands out: numbers, of which the agent loop makes episodes."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUntypedBaseClass=false

from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from training.rl.verl.configuration import AGENT
from training.rl.verl.plan import Plan

__all__ = ["HELD_OUT", "PlannedRows"]

HELD_OUT = "held_out"
_WITHOUT_END = 2**40
"""So many groups no run plays: verl asks for a length."""


class PlannedRows(Dataset[dict[str, Any]]):
    """Row n of training is group n; rows of a validation are its episodes, named by their places."""

    def __init__(self, data_files: str, **_: Any) -> None:
        """Take the plan, or the file that names one for a validation; verl gives further arguments."""
        file = Path(data_files)
        self._split = HELD_OUT if file.stem == HELD_OUT else "train"
        self._length = len(Plan.read(file).validation) if self._split == HELD_OUT else _WITHOUT_END

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> dict[str, Any]:
        if not 0 <= place < self._length:
            raise IndexError(place)
        row: dict[str, Any] = {
            # Text comes from the gateway; verl wants these to be there.
            "raw_prompt": [{"role": "user", "content": ""}],
            "reward_model": {"style": "rule", "ground_truth": ""},
            "data_source": "astra-mcp",
            "agent_name": AGENT,
            "index": place,
            "extra_info": {"split": self._split, "place": place},
        }
        return row
