"""From a row to the bundle that it stands for, and from any bundle to its row.

A row says nothing of a decomposition, of gold calls or of where it came from: its bundle is ``unverified``.
A bundle's row keeps what an agent is shown and scored on; what a row has no place for is left out.
"""

import json
from collections.abc import Mapping
from hashlib import sha256

from astra_mcp.environments.bundle import SCHEMA_VERSION, Bundle
from astra_mcp.environments.rows.row import Row
from astra_mcp.environments.rows.sources import join_sources, split_sources
from astra_mcp.environments.server_document import SERVER_SCHEMA
from astra_mcp.types import JsonObject, JsonValue, canonical_json

__all__ = ["UNKNOWN_LICENSE", "name_of_row", "row_of_bundle", "texts_of_row"]

UNKNOWN_LICENSE = "unknown"
_VERSION = "1.0.0"
_TEXT = "A row of RL data as an environment. Nobody has verified it."
_SOURCE = "rows of the form of ASTRA-RL-1k"
_MAX_TITLE = 100
_HAN = ("\u3400", "\u9fff")
_HAN_SHARE = 0.3
"""Of a question's letters; above it the question is Chinese, although names and codes stand in it."""


def name_of_row(row: Row) -> str:
    """Name the environment of a row after its content: equal rows, equal names."""
    return f"row-{sha256(canonical_json(row.content)).hexdigest()[:16]}"


def texts_of_row(row: Row, *, license: str = UNKNOWN_LICENSE) -> Mapping[str, str]:
    """Write the files of a row's bundle, by name; whether it loads is for the loader.

    Args:
        row: Any.
        license: Of the data set that it stands in.

    Raises:
        BundleError: The code of its tools makes no one module.
    """
    names = [str(function["name"]) for function in row.functions]
    told = _background(row.background)
    document: JsonObject = {
        "schema_version": SCHEMA_VERSION,
        "name": name_of_row(row),
        "title": _title(row.question),
        "description": _TEXT,
        "version": _VERSION,
        "status": "unverified",
        "language": _language(row.question),
        "question": row.question,
        **({} if told is None else {"background": told}),
        "sub_tasks": _sub_tasks(row, names),
        "tools": [_tool(function) for function in row.functions],
        "provenance": {"source": _SOURCE, "authors": [], "license": license},
    }
    server: JsonObject = {
        "$schema": SERVER_SCHEMA,
        "name": f"dev.astra-mcp/{name_of_row(row)}",
        "description": _TEXT,
        "version": _VERSION,
    }
    return {
        "environment.json": _json(document),
        "tools.py": join_sources(row.sources, names),
        "server.json": _json(server),
    }


def row_of_bundle(bundle: Bundle) -> Row:
    """Give the row that stands for a bundle."""
    document = bundle.document
    answers: dict[str, list[str]] = {}
    for item in bundle.job:
        for tool in item.tools:
            answers.setdefault(tool, []).append(item.answer)
    return Row(
        question=document.question,
        background=document.told_background,
        functions=tuple(
            {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            for tool in document.tools
        ),
        sources=split_sources(bundle.code, [tool.name for tool in document.tools]),
        answers={tool: tuple(texts) for tool, texts in answers.items()},
    )


def _sub_tasks(row: Row, tools: list[str]) -> list[JsonValue]:
    """One for each answer, in the order of the tools, so that equal rows give equal bundles."""
    order = [name for name in tools if name in row.answers]
    order += sorted(row.answers.keys() - set(tools))
    pairs = [(tool, answer) for tool in order for answer in row.answers[tool]]
    return [
        {"id": number, "answer": answer, "tool": tool}
        for number, (tool, answer) in enumerate(pairs, start=1)
    ]


def _tool(function: JsonObject) -> JsonObject:
    renamed = {"parameters": "input_schema"}
    return {renamed.get(key, key): value for key, value in function.items()}


def _background(told: JsonObject | None) -> str | None:
    """Write a background as a document holds it: a plain text, or the text of a JSON object.

    The text of ``{"background": ...}`` stands alone where it cannot be taken for an object itself.
    """
    if told is None:
        return None
    text = told.get("background")
    is_plain = told.keys() == {"background"} and isinstance(text, str) and bool(text.strip())
    if is_plain and not str(text).lstrip().startswith("{"):
        return str(text)
    return json.dumps(told, ensure_ascii=False, sort_keys=True)


def _title(question: str) -> str:
    words = " ".join(question.split())
    return words if len(words) <= _MAX_TITLE else words[: _MAX_TITLE - 1] + "…"


def _language(question: str) -> str:
    letters = [c for c in question if c.isalpha()]
    num_han = sum(_HAN[0] <= c <= _HAN[1] for c in letters)
    return "zh" if num_han > _HAN_SHARE * len(letters) else "en"


def _json(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
