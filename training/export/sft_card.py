"""The card beside exported trajectories: what Hugging Face reads, and what people should know of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from astra_mcp import __version__
from astra_mcp.trajectory import Trajectory
from training.export.columns import CHAT_COLUMNS, SCORED_CHAT_COLUMNS, card_features
from training.export.readme import count_table, several, size_category, table_row, write_page
from training.export.row_files import PARQUET
from training.export.selection import ScoreFloors, Selected, source_names

__all__ = ["Tally", "write_sft_card"]

_CHAT_FIELDS = """\
| field | what it is |
|---|---|
| `messages` | the chat: `role`, `content`, `reasoning_content`, `tool_calls`, `tool_call_id`, `name` |
| `tools` | JSON text: the OpenAI functions that the agent was shown |
| `metadata` | JSON text: all that the trajectory says beside: episode, source, agent, seeds, status, reward |
"""
_SCORED_FIELDS = """\
| `scores` | `total` and the seven dimensions of the reward, each from 0 to 1; null where one is not defined |
"""
_OPENAI_FIELDS = """\
| field | what it is |
|---|---|
| `messages` | the chat, without reasoning |
| `tools` | the functions that the agent was shown; missing where there were none |
| `parallel_tool_calls` | true where a message of the chat makes several calls |
"""
_LIMITS = """\
* Whoever publishes the rows has to say under which licence: trajectories do not know it.
* Calls stand as the agent wrote them, also those whose arguments are no JSON.
* A reward says what the results of calls contained; it judges no words of the agent.
"""


@dataclass(slots=True)
class Tally:
    """What the card counts, taken while the rows are written."""

    values: dict[str, list[str | None]] = field(default_factory=dict[str, list[str | None]])
    rewards: list[float] = field(default_factory=list[float])
    reasonings: int = 0
    """Messages with a reasoning."""

    def add(self, trajectory: Trajectory) -> None:
        """Count one."""
        counted = {
            "source": "a task" if trajectory.task else ", ".join(source_names(trajectory)) or None,
            "agent": trajectory.agent.model or trajectory.agent.name,
            "status": trajectory.status,
            "stop": trajectory.stop,
        }
        for title, value in counted.items():
            self.values.setdefault(title, []).append(value)
        if trajectory.reward is not None:
            self.rewards.append(trajectory.reward.reward)
        reasonings = (getattr(m, "reasoning_content", None) for m in trajectory.messages)
        self.reasonings += sum(map(bool, reasonings))


def write_sft_card(
    file: Path, form: str, *, selected: Selected, tally: Tally, split: str, is_chat: bool
) -> Path | None:
    """Write the card beside the file; gives None where a README is there that no export wrote.

    Args:
        file: The rows.
        form: The name of their form.
        selected: What they were chosen from.
        tally: Their counts.
        split: What they are for.
        is_chat: They have the columns of a chat, not those of OpenAI.
    """
    scored = selected.selection.scored
    sections = (
        ("What it is", _what(file, selected, is_chat=is_chat)),
        ("Fields", _fields(is_chat=is_chat, is_scored=scored is not None)),
        ("How it was made", _how_made(form, selected.left_out, selected.num_read)),
        *([("Floors", _floors(scored))] if scored is not None else []),
        ("Counts", _counts(tally)),
        ("Limits", _LIMITS),
    )
    matter: dict[str, object] = {
        "size_categories": [size_category(selected.num_taken)],
        "task_categories": ["text-generation"],
        "tags": ["agent", "tool-use", "mcp", "sft"],
        "configs": [
            {"config_name": "default", "data_files": [{"split": split, "path": file.name}]}
        ],
    }
    if is_chat and file.suffix == PARQUET:
        columns = CHAT_COLUMNS if scored is None else SCORED_CHAT_COLUMNS
        matter["dataset_info"] = {"features": card_features(columns)}
    title = "Agent trajectories for supervised fine-tuning"
    return write_page(file.parent, "sft", title, matter, sections)


def _fields(*, is_chat: bool, is_scored: bool) -> str:
    if not is_chat:
        return _OPENAI_FIELDS
    return _CHAT_FIELDS + _SCORED_FIELDS if is_scored else _CHAT_FIELDS


def _floors(scored: ScoreFloors) -> str:
    judges = sorted({score.method.judge for score in scored.scores.values()})
    rows = "".join(f"| {name} | {least:g} |\n" for name, least in scored.floors.told.items())
    named = ", ".join(f"`{judge}`" for judge in judges) or "nobody"
    return (
        f"Each trajectory was scored in seven dimensions (ASTRA, arXiv:2601.21558, sec. 2.1.5); the judge"
        f" was {named}. What scored less than a floor was left out, and what has no score or"
        f" no final answer.\n\n"
        f"| floor | least |\n|---|---|\n{rows}"
    )


def _what(file: Path, selected: Selected, *, is_chat: bool) -> str:
    form = "as training libraries read them" if is_chat else "in the form of OpenAI's fine-tuning"
    num = several(selected.num_taken, "chat")
    return f"`{file.name}` holds {num} of agents that called tools over MCP, {form}.\n"


def _how_made(form: str, left_out: Mapping[str, int], num_read: int) -> str:
    made = f"By `astra-mcp export sft --format {form}`, version {__version__}"
    if not any(left_out.values()):
        return f"{made}, of all trajectories ({num_read}) that were read.\n"
    rows = "".join(table_row(name, num) for name, num in left_out.items() if num)
    return (
        f"{made}. {num_read} were read; left out were:\n\n| by | trajectories |\n|---|---|\n{rows}"
    )


def _counts(tally: Tally) -> str:
    tables = "\n".join(count_table(name, "chats", each) for name, each in tally.values.items())
    if not tally.rewards:
        return f"{tables}\nNone has a reward.\n"
    mean = sum(tally.rewards) / len(tally.rewards)
    return f"{tables}\n{several(len(tally.rewards), 'chat')} with a reward; their mean is {mean:.3f}.\n"
