"""The card beside an exported file: what Hugging Face reads, and what people should know of the rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from astra_mcp import __version__
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import ConfigError
from training.export.columns import VERL_COLUMNS, Columns, card_features

__all__ = ["CARD", "Exported", "card_text", "is_own_card", "write_card"]

CARD = "README.md"
_MARK = "<!-- written by astra-mcp export rl; another export into this folder writes it anew -->"
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_LARGEST = "n>1M"
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


def is_own_card(file: Path) -> bool:
    """True where a card may be written: there is none, or one that an export wrote.

    Raises:
        ConfigError: What is there cannot be read.
    """
    try:
        return not file.exists() or _MARK in file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error


def write_card(exported: Exported) -> Path | None:
    """Write the card beside the file; gives None where a README is there that no export wrote."""
    file = exported.file.parent / CARD
    if not is_own_card(file):
        return None
    try:
        file.write_text(card_text(exported), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error
    return file


def card_text(exported: Exported) -> str:
    """Write the card: front matter, and sections for people."""
    matter = yaml.safe_dump(_front_matter(exported), sort_keys=False, allow_unicode=True)
    sections = (
        ("What it is", _what(exported)),
        ("Fields", _VERL_FIELDS if exported.columns is VERL_COLUMNS else _ROWS_FIELDS),
        ("How it was made", _how_made(exported)),
        ("Counts", _counts(exported.bundles)),
        ("How it was verified", _how_verified(exported.bundles)),
        ("Limits", _limits(exported)),
    )
    body = "\n".join(f"## {title}\n\n{text}" for title, text in sections)
    return (
        f"---\n{matter}---\n\n{_MARK}\n\n# Tool environments for reinforcement learning\n\n{body}"
    )


def _front_matter(exported: Exported) -> dict[str, object]:
    documents = [bundle.document for bundle in exported.bundles]
    licenses = sorted({document.provenance.license.lower() for document in documents})
    size = next((name for most, name in _SIZES if exported.num_rows < most), _LARGEST)
    data_files = [{"split": exported.split, "path": exported.file.name}]
    return {
        "license": licenses[0] if len(licenses) == 1 else licenses,
        "language": sorted({document.language for document in documents}),
        "size_categories": [size],
        "task_categories": ["reinforcement-learning", "text-generation"],
        "tags": ["agent", "tool-use", "mcp"],
        "configs": [{"config_name": "default", "data_files": data_files}],
        "dataset_info": {"features": card_features(exported.columns)},
    }


def _what(exported: Exported) -> str:
    form = (
        "as verl reads them" if exported.columns is VERL_COLUMNS else "in the form of ASTRA-RL-1k"
    )
    num_rows = _several(exported.num_rows, "row")
    num_environments = _several(len(exported.bundles), "tool environment")
    return (
        f"`{exported.file.name}` holds {num_rows} of {num_environments}, {form}. An agent is given a "
        "question and tools; it is scored by what the results of its calls contain, not by its words.\n"
    )


def _several(num: int, what: str) -> str:
    return f"{num} {what}" if num == 1 else f"{num} {what}s"


def _how_made(exported: Exported) -> str:
    sources = Counter(b.document.provenance.source for b in exported.bundles)
    rows = "".join(_table_row(source, num) for source, num in sorted(sources.items()))
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
    return "\n".join(_count_table(title, values) for title, values in tables)


def _count_table(title: str, values: Iterable[str | None]) -> str:
    counts = Counter("not stated" if value is None else str(value) for value in values)
    rows = "".join(_table_row(name, num) for name, num in sorted(counts.items()))
    return f"| {title} | environments |\n|---|---|\n{rows}"


def _table_row(name: str, num: int) -> str:
    plain = " ".join(name.split()).replace("|", "\\|")
    return f"| {plain} | {num} |\n"


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
