"""The README beside an exported file: whose it is, and how front matter, sections and tables are laid out.

Knows nothing of what the file holds; the cards do.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from astra_mcp.errors import ConfigError

__all__ = ["CARD", "count_table", "several", "size_category", "table_row", "write_page"]

CARD = "README.md"
_MARK = (
    "<!-- written by astra-mcp export {command}; another export into this folder writes it anew -->"
)
_ANY_MARK = _MARK.partition("{")[0]
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
_LARGEST = "n>1M"


def write_page(
    folder: Path,
    command: str,
    title: str,
    matter: Mapping[str, object],
    sections: Sequence[tuple[str, str]],
) -> Path | None:
    """Write the card of a folder; gives None where a README is there that no export wrote.

    Args:
        folder: Of the exported file.
        command: The export's own name, such as ``rl``.
        title: Of the page.
        matter: Its front matter.
        sections: Titles and texts.

    Raises:
        ConfigError: It cannot be read or written.
    """
    file = folder / CARD
    head = yaml.safe_dump(dict(matter), sort_keys=False, allow_unicode=True)
    body = "\n".join(f"## {name}\n\n{text}" for name, text in sections)
    mark = _MARK.format(command=command)
    try:
        if file.exists() and _ANY_MARK not in file.read_text(encoding="utf-8", errors="replace"):
            return None
        file.write_text(f"---\n{head}---\n\n{mark}\n\n# {title}\n\n{body}", encoding="utf-8")
    except OSError as error:
        msg = f"{file} cannot be read or written: {error.strerror}"
        raise ConfigError(msg) from error
    return file


def size_category(num_rows: int) -> str:
    """Name the size of a data set as Hugging Face does."""
    return next((name for most, name in _SIZES if num_rows < most), _LARGEST)


def several(num: int, what: str) -> str:
    """Say a number of things."""
    return f"{num} {what}" if num == 1 else f"{num} {what}s"


def count_table(title: str, what: str, values: Iterable[str | None]) -> str:
    """Count values in a table.

    Args:
        title: Of the first column.
        what: Is counted, of the second one.
        values: None is not stated.
    """
    counts = Counter("not stated" if value is None else str(value) for value in values)
    rows = "".join(table_row(name, num) for name, num in sorted(counts.items()))
    return f"| {title} | {what} |\n|---|---|\n{rows}"


def table_row(name: str, num: int) -> str:
    """Write one row; the name may be any text."""
    plain = " ".join(name.split()).replace("|", "\\|")
    return f"| {plain} | {num} |\n"
