"""The card beside exported environments: what Hugging Face reads, and what people should know of the rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from astra_mcp import __version__
from astra_mcp.environments.bundle import Bundle
from training.export.columns import VERL_COLUMNS, Columns, card_features
from training.export.readme import count_table, several, size_category, table_row, write_page

__all__ = ["Exported", "write_card"]

_ROWS_FIELDS = """\
| field | what it is |
|---|---|
| `prompt` | one message: the question, after what is told of the user where there is something |
| `tool_schema` | JSON text: the tools as OpenAI functions |
| `tool_dict` | JSON text: the Python source of each tool; tools of one source share their state |
| `sub_qa_dict` | JSON text: for each tool that is scored, the answers that its results should contain |
"""
_VERL_FIELDS = """\
| field | what it is |
|---|---|
| `data_source`, `ability`, `agent_name` | the same in every row; the last names the agent loop |
| `prompt` | the messages that an episode begins with: the question, after what is told of the user |
| `reward_model` | `style` is `rule`; `ground_truth` is JSON text: answers by tool, to check rewards |
| `extra_info.index`, `.split` | number of the row, and what it is for |
| `extra_info.environment`, `.version` | name of the environment, and the hash of its content |
| `extra_info.question_id` | which of its questions; null where it has one |
| `extra_info.seed` | seed of the episode |
| `extra_info.family` | generator of the environment; null where it was written by hand or imported |
| `extra_info.status` | `verified` or `unverified` |
| `extra_info.domain`, `.language`, `.scenario_type` | labels; null where nobody has given them |
| `extra_info.episode` | JSON text: body of `POST /v1/episodes` of a gateway, which has the tools |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What a file holds."""

    file: Path
    columns: Columns
    bundles: Sequence[Bundle]
    num_rows: int
    split: str


def write_card(exported: Exported) -> Path | None:
    """Write the card beside the file; gives None where a README is there that no export wrote."""
    sections = (
        ("What it is", _what(exported)),
        ("Fields", _VERL_FIELDS if exported.columns is VERL_COLUMNS else _ROWS_FIELDS),
        ("How it was made", _how_made(exported)),
        ("Counts", _counts(exported.bundles)),
        ("How it was verified", _how_verified(exported.bundles)),
        ("Limits", _limits(exported)),
    )
    title = "Tool environments for reinforcement learning"
    return write_page(exported.file.parent, "rl", title, _front_matter(exported), sections)


def _front_matter(exported: Exported) -> dict[str, object]:
    documents = [bundle.document for bundle in exported.bundles]
    licenses = sorted({document.provenance.license.lower() for document in documents})
    data_files = [{"split": exported.split, "path": exported.file.name}]
    return {
        "license": licenses[0] if len(licenses) == 1 else licenses,
        "language": sorted({document.language for document in documents}),
        "size_categories": [size_category(exported.num_rows)],
        "task_categories": ["reinforcement-learning", "text-generation"],
        "tags": ["agent", "tool-use", "mcp"],
        "configs": [{"config_name": "default", "data_files": data_files}],
        "dataset_info": {"features": card_features(exported.columns)},
    }


def _what(exported: Exported) -> str:
    form = (
        "as verl reads them" if exported.columns is VERL_COLUMNS else "in the form of ASTRA-RL-1k"
    )
    num_rows = several(exported.num_rows, "row")
    num_environments = several(len(exported.bundles), "tool environment")
    return (
        f"`{exported.file.name}` holds {num_rows} of {num_environments}, {form}. An agent is given a "
        "question and tools; it is scored by what the results of its calls contain, not by its words.\n"
    )


def _how_made(exported: Exported) -> str:
    sources = Counter(b.document.provenance.source for b in exported.bundles)
    rows = "".join(table_row(source, num) for source, num in sorted(sources.items()))
    command = "verl" if exported.columns is VERL_COLUMNS else "rows"
    return (
        f"By `astra-mcp export rl --format {command}`, version {__version__}. "
        f"The environments come from:\n\n| source | environments |\n|---|---|\n{rows}"
    )


def _counts(bundles: Sequence[Bundle]) -> str:
    documents = [bundle.document for bundle in bundles]
    tables = (
        ("domain", (d.domain for d in documents)),
        ("language", (d.language for d in documents)),
        ("scenario type", (d.scenario_type for d in documents)),
    )
    return "\n".join(count_table(title, "environments", values) for title, values in tables)


def _how_verified(bundles: Sequence[Bundle]) -> str:
    num = sum(bundle.document.status == "verified" for bundle in bundles)
    return (
        f"{num} of {len(bundles)} environments say that they are verified: that the acceptance "
        "(`astra-mcp environments verify`) passes, which plays their gold calls, changes each argument "
        "and looks for answers that are given away. The export itself runs no check. The others have "
        "no gold calls; that their answers can be reached at all, nobody has shown.\n"
    )


def _limits(exported: Exported) -> str:
    code = (
        "* `tool_dict` is code. Run it in a sandbox.\n"
        "* Decomposition, gold calls, output schemas and hints of tools have no place in this form.\n"
    )
    served = "* The rows hold no tools: a gateway must serve environments of the same names and versions.\n"
    return (
        "* Scenarios and data are made up; no fact in them should be believed.\n"
        "* Answers stand in the file: keep it away from the agent that is trained.\n"
    ) + (served if exported.columns is VERL_COLUMNS else code)
