"""What stands in a file that nobody wrote to, by the ending of its path."""

import json
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from astra_mcp.types import JsonObject
from servers.emulated.offline.payloads.asking import Asked, titled
from servers.emulated.offline.payloads.passages import sections_on
from servers.emulated.offline.payloads.sources import code_in
from servers.emulated.offline.payloads.tables import columns_of, value_of
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["file_told"]

_FILES: Final = frozenset(
    (
        "file",
        "files",
        "content",
        "contents",
        "text",
        "csv",
        "json",
        "yaml",
        "excel",
        "sheet",
        "document",
        "pdf",
    )
)
_READING: Final = frozenset(
    ("read", "get", "load", "open", "view", "show", "cat", "fetch", "retrieve", "extract", "parse")
)
_OTHERS: Final = frozenset(
    ("info", "list", "search", "size", "metadata", "exists", "tree", "structure", "outline", "history", "stats", "statistics",
     "comments", "permissions", "diff", "hash", "url", "links", "link", "images", "lines", "versions", "properties", "count")
)  # fmt: skip
_PATHS: Final = (
    "path",
    "file_path",
    "filepath",
    "filename",
    "file",
    "file_name",
    "uri",
    "full_path",
    "relative_path",
    "pdf_path",
    "csv_path",
    "document_path",
)
_LANGUAGES: Final = {
    ".py": "python",
    ".tsx": "tsx",
    ".jsx": "tsx",
    ".rs": "rust",
    ".go": "go",
    ".java": "java",
    ".sol": "solidity",
    ".c": "c",
    ".zig": "zig",
}
_ROWS: Final = 8


def file_told(asked: Asked) -> Answer | None:
    """What a call is told that reads a file."""
    if (
        asked.call.reading.verb not in (Verb.GET, Verb.OTHER)
        or not asked.has(_FILES)
        or not asked.has(_READING)
    ):
        return None
    path = asked.text(*_PATHS)
    if path is None or asked.has(_OTHERS) or asked.is_given_out:
        return None
    ending = PurePosixPath(path.replace("\\", "/")).suffix.casefold()
    text = _text_of(asked, path, ending)
    if text is None:
        return None
    lines = text.split("\n")
    start, end = (
        asked.number("start_line", "offset", "line_start") or 1,
        asked.number("end_line", "line_end"),
    )
    most = asked.number("limit", "max_lines", "lines", "head", "num_lines", "n_rows")
    if start > 1 or end or most:
        text = "\n".join(lines[start - 1 : end or (start - 1 + most if most else None)])
    if asked.promise.members:
        told: JsonObject = {
            "path": path,
            "content": text,
            "size": len(text.encode()),
            "lines": text.count("\n") + 1,
        }
        return Answer(told)
    return Answer({"content": text}, text=text)


def _text_of(asked: Asked, path: str, ending: str) -> str | None:
    stem = re.sub(r"\W+", "_", PurePosixPath(path.replace("\\", "/")).stem).strip("_") or "file"
    if ending in _LANGUAGES:
        return code_in(_LANGUAGES[ending], stem, asked)
    writer = _WRITERS.get(ending)
    return None if writer is None else writer(asked, stem)


def _csv(asked: Asked, stem: str) -> str:
    columns = columns_of(stem)
    rows = [
        [str(value_of(asked, stem, column, at)) for column in columns] for at in range(1, _ROWS + 1)
    ]
    return "\n".join(",".join(row) for row in [columns, *rows])


def _json(asked: Asked, stem: str) -> str:
    told: JsonObject = {
        "name": stem.replace("_", "-"),
        "version": "1.4.0",
        "settings": {"timeout": 30, "retries": 2, "verbose": False},
    }
    if stem == "package":
        told = {"name": "app", "version": "1.4.0", "private": True, "scripts": {"dev": "vite", "build": "vite build", "test": "vitest run"},
                "dependencies": {"react": "^18.3.1", "react-dom": "^18.3.1"}, "devDependencies": {"typescript": "^5.6.3", "vite": "^5.4.10"}}  # fmt: skip
    return json.dumps(told, indent=2)


def _yaml(_: Asked, stem: str) -> str:
    return f"name: {stem.replace('_', '-')}\nversion: 1.4.0\nsettings:\n  timeout: 30\n  retries: 2\n  verbose: false\n"


def _toml(_: Asked, stem: str) -> str:
    if stem == "pyproject":
        return '[project]\nname = "app"\nversion = "1.4.0"\nrequires-python = ">=3.11"\ndependencies = ["requests>=2.32"]\n'
    return f"[{stem}]\ntimeout = 30\nretries = 2\nverbose = false\n"


def _script(_: Asked, stem: str) -> str:
    return f'#!/usr/bin/env bash\nset -euo pipefail\n\necho "Running {stem}"\nmake test\n'


def _web(_: Asked, stem: str) -> str:
    return (
        f"export function {stem}(items) {{\n  return items.filter((item) => item !== null);\n}}\n"
    )


def _prose(asked: Asked, stem: str) -> str:
    title = titled(stem)
    kind = "readme" if stem.casefold() == "readme" else "report"
    name = "App" if kind == "readme" else title
    parts = sections_on(
        name,
        kind,
        asked.wording,
        asked.rng.at("file", stem),
        asked.now,
        url="https://example.com/app",
    )
    return "\n\n".join(
        [f"# {name}", *(f"## {p.heading}\n\n{p.text}" if p.heading else p.text for p in parts)]
    )


def _plain(asked: Asked, stem: str) -> str:
    return re.sub(r"(?m)^#+ ", "", _prose(asked, stem))


_WRITERS: Final[dict[str, Callable[[Asked, str], str]]] = {
    ".csv": _csv, ".json": _json, ".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".ini": _toml, ".cfg": _toml,
    ".sh": _script, ".js": _web, ".ts": _web, ".mjs": _web, ".md": _prose, ".txt": _plain, ".pdf": _plain,
    ".docx": _plain, ".rtf": _plain, ".doc": _plain,
}  # fmt: skip
