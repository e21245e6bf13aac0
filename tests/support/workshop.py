"""Bundles to break: the starting bundle of ``environments new``, changed in one place."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

from astra_mcp.environments.acceptance import Check, Verdict, verdict_of_faults, verify_bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError
from astra_mcp.sandbox import Sandbox

AUTHOR = "tools.0.input_schema.properties.author"
NUMBER = "tools.1.input_schema.properties.number"
FIND = "def find_book(author: str, format: str = 'hardcover') -> object:\n"
DUE = "def get_due_date(number: str, renewed: bool = False) -> object:\n"
HONEST_DUE = """
    book = BOOKS.get(number)
    if book is None:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
"""
DATED = """
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
"""
SOUGHT = """
    for book in BOOKS.values():
        if (book["author"], book["format"]) == (author, format):
            return {"number": book["number"]}
    raise ValueError(f"The library has no author named {author!r}.")
"""

Document = dict[str, Any]
Change = Callable[[Document], object]


def further_question(id: str, author: str, form: str, number: str, due: str) -> Document:
    """A question over the tools of the starting bundle, for another of its books."""
    of_book: dict[str, tuple[str, list[str]]] = {
        "author": (author, ["Ida Moreau"]),
        "format": (form, []),
    }
    asked: list[tuple[str, str, str, dict[str, tuple[str, list[str]]]]] = [
        ("find_book", number, f"Which number has the {form} edition by {author}?", of_book),
        ("get_due_date", due, "When is it due back?", {"number": (number, ["BK-2205", "BK-6184"])}),
    ]
    return {
        "id": id,
        "question": f"Which is the {form} edition by {author}, and when is it due back?",
        "answer": f"{number}, due back on {due}.",
        "scenario_type": "Multi-Hop",
        "sub_tasks": [
            {
                "id": i,
                "question": question,
                "answer": answer,
                "hop_level": i,
                "is_parallel": False,
                "dependencies": [1][: i - 1],
                "tool": tool,
            }
            for i, (tool, answer, question, _) in enumerate(asked, 1)
        ],
        "gold": [
            {
                "tool": tool,
                "arguments": {
                    name: {"value": value, "role": "identifying", "neighbours": others}
                    for name, (value, others) in arguments.items()
                },
                "solves": [i],
            }
            for i, (tool, _, _, arguments) in enumerate(asked, 1)
        ],
    }


BRANDT = further_question("brandt-audio", "Tomas Brandt", "audio", "BK-3957", "2026-02-11")
SENDA = further_question("senda-audio", "Aiko Senda", "audio", "BK-5820", "2026-02-20")


def carrying(*questions: Document) -> Change:
    """Give the bundle further questions."""
    return lambda document: document.update(questions=deepcopy(questions))


def due(result: str, *, before: str = "", after: str = "", head: str = DUE) -> str:
    """An honest search for the due date, and what is done and returned then."""
    return f"{head}{HONEST_DUE}{before}    return {result}\n{after}"


def put(path: str, value: Any) -> Change:
    """Set the field at the end of a path, such as ``tools.0.name``."""

    def change(document: Document) -> None:
        holder, name = _found(document, path)
        holder[name] = value

    return change


def remove(path: str) -> Change:
    """Delete the field at the end of a path."""

    def change(document: Document) -> None:
        holder, name = _found(document, path)
        del holder[name]

    return change


def calling(path: str, method: str, value: Callable[[Document], Any] | None = None) -> Change:
    """Call a method of the list at the end of a path, with a value made of the document."""

    def change(document: Document) -> None:
        holder, name = _found(document, path)
        arguments = () if value is None else (value(document),)
        getattr(holder[name], method)(*arguments)

    return change


def _found(document: Document, path: str) -> tuple[Any, str | int]:
    """What holds the field at the end of a path, and the field's name there."""
    *keys, last = (int(key) if key.isdigit() else key for key in path.split("."))
    holder: Any = document
    for key in keys:
        holder = holder[key]
    return holder, last


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

    def replace_function(self, source: str) -> None:
        """Replace the function of ``tools.py`` that has the name of this one."""
        file = self.path / "tools.py"
        code = file.read_text(encoding="utf-8")
        head, mark, rest = code.partition(source[: source.index("(") + 1])
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
