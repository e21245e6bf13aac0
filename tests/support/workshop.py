"""Bundles to break: the starting bundle of ``environments new``, changed in one place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from astra_mcp.environments.acceptance import Check, Verdict, verdict_of_faults, verify_bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError
from astra_mcp.sandbox import Sandbox

__all__ = [
    "AUTHOR",
    "DUE",
    "FIND",
    "HONEST_DUE",
    "NUMBER",
    "Change",
    "Document",
    "Workshop",
    "both",
    "calling",
    "evidence",
    "put",
    "remove",
    "verdict_of",
]

AUTHOR = ("tools", 0, "input_schema", "properties", "author")
NUMBER = ("tools", 1, "input_schema", "properties", "number")
FIND = "def find_book(author: str, format: str = 'hardcover') -> object:\n"
DUE = "def get_due_date(number: str, renewed: bool = False) -> object:\n"
HONEST_DUE = """
    book = BOOKS.get(number)
    if book is None:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
"""

Document = dict[str, Any]
Change = Callable[[Document], object]


def put(*keys: str | int, value: Any) -> Change:
    """Set the field at the end of a path of keys."""

    def change(document: Document) -> None:
        target: Any = document
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value

    return change


def remove(*keys: str | int) -> Change:
    """Delete the field at the end of a path of keys."""

    def change(document: Document) -> None:
        target: Any = document
        for key in keys[:-1]:
            target = target[key]
        del target[keys[-1]]

    return change


def calling(
    method: str, *keys: str | int, value: Callable[[Document], Any] | None = None
) -> Change:
    """Call a method of the list at the end of a path of keys, with a value made of the document."""

    def change(document: Document) -> None:
        target: Any = document
        for key in keys:
            target = target[key]
        arguments = () if value is None else (value(document),)
        getattr(target, method)(*arguments)

    return change


def both(*changes: Change) -> Change:
    """Make several changes."""

    def change(document: Document) -> None:
        for each in changes:
            each(document)

    return change


class Workshop:
    """Makes bundles in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.path = create_bundle("small-library", folder)

    def change_document(self, change: Change) -> None:
        """Edit ``environment.json``."""
        self._change_json("environment.json", change)

    def change_server(self, change: Change) -> None:
        """Edit ``server.json``."""
        self._change_json("server.json", change)

    def replace_code(self, old: str, new: str) -> None:
        """Replace a passage of ``tools.py`` that is there."""
        file = self.path / "tools.py"
        code = file.read_text(encoding="utf-8")
        assert old in code
        file.write_text(code.replace(old, new), encoding="utf-8")

    def append_code(self, source: str) -> None:
        """Add to the end of ``tools.py``."""
        file = self.path / "tools.py"
        code = file.read_text(encoding="utf-8")
        file.write_text(f"{code}\n\n{source}", encoding="utf-8")

    def replace_function(self, name: str, source: str) -> None:
        """Replace one function of ``tools.py``."""
        file = self.path / "tools.py"
        code = file.read_text(encoding="utf-8")
        head, mark, rest = code.partition(f"def {name}(")
        assert mark
        _, _, tail = rest.partition("\n\n\n")
        file.write_text(f"{head}{source.strip()}\n\n\n{tail}", encoding="utf-8")

    def _change_json(self, name: str, change: Change) -> None:
        file = self.path / name
        document = json.loads(file.read_text(encoding="utf-8"))
        change(document)
        file.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


async def verdict_of(workshop: Workshop, sandbox: Sandbox) -> Verdict:
    """Load and verify the bundle; a fault of loading refuses it."""
    try:
        bundle = load_bundle(workshop.path)
    except BundleError as error:
        return verdict_of_faults(workshop.path.name, error.faults)
    return await verify_bundle(bundle, sandbox)


def evidence(verdict: Verdict, check: Check) -> str:
    """Details of one failed check; fails the test where the bundle passed it."""
    details = [f.detail for f in verdict.failed_checks if f.check is check]
    assert details, f"not refused by {check}: {verdict.failed_checks}"
    return "\n".join(details)
