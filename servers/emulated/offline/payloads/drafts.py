"""Texts with a form that can be written from what is asked: letters, plans, readmes, diagrams, schemas, queries."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of
from servers.emulated.offline.payloads.asking import Asked, titled
from servers.emulated.offline.payloads.tables import columns_of, type_of
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["drafted"]

_WRITING: Final = frozenset(
    ("generate", "create", "write", "draft", "compose", "make", "build", "design", "scaffold", "render", "plan", "suggest",
     "outline", "format", "convert", "to", "generator", "produce", "prepare", "develop", "expand")
)  # fmt: skip
_TOPICS: Final = (
    "topic", "subject", "title", "prompt", "name", "description", "goal", "query", "requirements", "product_name", "keyword",
    "project_name", "brief", "idea", "theme", "task", "text", "content", "objective", "user_request", "instructions",
)  # fmt: skip
_POINTS: Final = (
    "key_points",
    "points",
    "features",
    "items",
    "steps",
    "sections",
    "tasks",
    "requirements",
    "details",
    "goals",
)
_NODES: Final = (
    "nodes",
    "elements",
    "entities",
    "components",
    "steps",
    "participants",
    "items",
    "states",
    "shapes",
)
_EDGES: Final = (
    "edges",
    "relationships",
    "connections",
    "links",
    "flows",
    "transitions",
    "relations",
)


def drafted(asked: Asked) -> Answer | None:
    """What a call is told that has a text written."""
    reading = asked.call.reading
    is_changing = reading.verb in (Verb.UPDATE, Verb.DELETE, Verb.LIST, Verb.SEARCH)
    if (is_changing and reading.word != "write") or not asked.has(_WRITING):
        return None
    if asked.text("path", "file_path", "filename", "output_path", "parent_id", "folder_id"):
        return None  # what is written to a place is told by where it is
    kind = next((kind for words, kind in _KINDS if asked.has(words)), None)
    if kind is None or asked.is_given_out:
        return None
    name, text = kind(asked)
    return None if not text else Answer({name: text}, text=text)


def _topic(asked: Asked) -> str:
    """What it is to be about: an argument that says it, else the longest text that is given."""
    topic = asked.text(*_TOPICS)
    if topic is None:
        texts = [value for value in asked.given.values() if isinstance(value, str) and " " in value]
        topic = max(texts, key=len, default="")
    return topic.strip().rstrip(".!?")


def _points(asked: Asked) -> list[str]:
    return asked.texts(*_POINTS)


def _letter(asked: Asked) -> tuple[str, str]:
    topic = asked.text(
        "subject", "topic", "purpose", "context", "prompt", "message", "description", "body"
    ) or _topic(asked)
    if not topic:
        return "email", ""
    whom = (
        asked.text(
            "recipient_name", "recipient", "to", "name", "first_name", "contact_name", "to_name"
        )
        or "there"
    )
    sender = asked.text("sender_name", "sender", "from_name", "from", "author") or "Best regards"
    whom = whom.split("@")[0].replace(".", " ").title() if "@" in whom else whom
    is_casual = (asked.text("tone", "style") or "").casefold() in ("casual", "friendly", "informal")
    hello = f"Hi {whom}," if is_casual or whom == "there" else f"Dear {whom},"
    lower = topic[:1].lower() + topic[1:] if not topic[:2].isupper() else topic
    listed = "".join(f"\n- {point}" for point in asked.texts("key_points", "points", "details"))
    body = [f"Subject: {topic[:1].upper()}{topic[1:]}", hello,
            f"I am writing to you about {lower}." + (f" The main points are:\n{listed}" if listed else ""),
            "Please let me know what you think, and whether there is anything you need from me. I am happy to find a time to talk.",
            "Best regards" + (f",\n{sender}" if sender != "Best regards" else ",")]  # fmt: skip
    return "email", "\n\n".join(body)


def _post(asked: Asked) -> tuple[str, str]:
    topic = _topic(asked)
    if not topic:
        return "content", ""
    tags = " ".join(f"#{word.title()}" for word in re.findall(r"[^\W\d_]{4,}", topic)[:3])
    return (
        "content",
        f"{topic[:1].upper()}{topic[1:]} - here is what we have learned, and what comes next. What is your experience? {tags}",
    )


def _readme(asked: Asked) -> tuple[str, str]:
    name = asked.text("project_name", "name", "title", "repo_name", "repo") or _topic(asked)
    if not name:
        return "readme", ""
    about = asked.text("description", "summary", "about") or f"{titled(name)} in one place."
    points = asked.texts("features") or ["Simple to install", "Documented", "Tested"]
    lines = [f"# {name}", about, "## Features", "\n".join(f"- {point}" for point in points), "## Installation",
             f"```bash\n{asked.text('installation', 'install_command') or 'pip install ' + re.sub(r'[^a-z0-9]+', '-', name.casefold())}\n```",
             "## Usage", asked.text("usage") or "See `docs/` for examples.", "## License", asked.text("license") or "MIT"]  # fmt: skip
    return "readme", "\n\n".join(lines)


def _plan(asked: Asked) -> tuple[str, str]:
    topic = _topic(asked)
    if not topic:
        return "plan", ""
    points = _points(asked) or ["Agree on the aim, and on how to tell that it is reached", "List what is needed, and who provides it",
                                "Do the smallest part that shows a result", "Review with those concerned and adjust",
                                "Finish, document and hand over"]  # fmt: skip
    weeks = asked.number("weeks", "duration_weeks", "days", "duration") or len(points)
    unit = "Day" if "days" in asked.given else "Week"
    steps = [
        f"{at + 1}. **{unit} {1 + at * weeks // len(points)}**: {point}"
        for at, point in enumerate(points)
    ]
    return "plan", "\n".join([f"# Plan: {topic[:1].upper()}{topic[1:]}", "", "## Steps", "", *steps, "", "## Done when", "",
                              "- The result has been checked against the aim", "- Open points are written down"])  # fmt: skip


def _outline(asked: Asked) -> tuple[str, str]:
    topic = _topic(asked)
    if not topic:
        return "outline", ""
    parts = _points(asked) or [
        "Introduction",
        "Background",
        f"How {topic} works",
        "Examples",
        "Limits and open questions",
        "Conclusion",
    ]
    parts = parts[: asked.number("num_sections", "sections", "num_slides", "slides", "count")]
    return "outline", "\n".join(
        [
            f"# {topic[:1].upper()}{topic[1:]}",
            "",
            *(f"{at}. {part}" for at, part in enumerate(parts, 1)),
        ]
    )


def _diagram(asked: Asked) -> tuple[str, str]:
    """Mermaid, from the nodes and edges that are given, or from the arrows in a text."""
    for key in ("code", "mermaid", "diagram", "definition", "mermaid_code", "source"):
        if isinstance(asked.given.get(key), str):
            return "diagram", ""
    kind = (asked.text("diagram_type", "type", "chart_type") or "flowchart").casefold()
    names = asked.texts(*_NODES)
    pairs = [_pair(each) for key in _EDGES for each in _members(asked.given.get(key))]
    pairs = [pair for pair in pairs if pair is not None]
    if not names and not pairs:
        topic = _topic(asked)
        steps = [step.strip() for step in re.split(r"->|→|=>", topic)] if topic else []
        names = steps if len(steps) > 1 else ["Start", topic[:60], "Done"] if topic else []
    if not pairs:
        pairs = [(a, b, "") for a, b in pairwise(names)]
    if not names and not pairs:
        return "diagram", ""
    if "sequence" in kind:
        return "diagram", "\n".join(
            ["sequenceDiagram", *(f"    {a}->>{b}: {said or 'calls'}" for a, b, said in pairs)]
        )
    ids = {
        name: f"n{at}"
        for at, name in enumerate(
            dict.fromkeys([*names, *(n for a, b, _ in pairs for n in (a, b))]), 1
        )
    }
    nodes = [f'    {ids[name]}["{name}"]' for name in ids]
    edges = [f"    {ids[a]} -->{f'|{said}|' if said else ''} {ids[b]}" for a, b, said in pairs]
    return "diagram", "\n".join([f"flowchart {asked.text('direction') or 'TD'}", *nodes, *edges])


def _members(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _pair(value: JsonValue) -> tuple[str, str, str] | None:
    if isinstance(value, list) and len(value) >= 2:
        return str(value[0]), str(value[1]), ""
    if isinstance(value, dict):
        keyed = {key_of(name): each for name, each in value.items()}
        ends = [next((str(keyed[k]) for k in keys if k in keyed), None) for keys in
                (("from", "source", "start", "from_node", "source_id", "from_id"), ("to", "target", "end", "to_node", "target_id", "to_id"))]  # fmt: skip
        if ends[0] and ends[1]:
            return ends[0], ends[1], str(keyed.get("label") or keyed.get("message") or "")
    if isinstance(value, str) and "->" in value:
        first, _, second = value.partition("->")
        return first.strip("- "), second.strip("> "), ""
    return None


def _chart(asked: Asked) -> tuple[str, str]:
    """The address of a picture of the data that are given, as QuickChart draws it."""
    data = asked.given.get("data") or asked.given.get("datasets") or asked.given.get("values")
    if not isinstance(data, list | dict) or not asked.has(("chart", "graph", "plot")):
        return "url", ""
    kind = asked.text("type", "chart_type") or next(
        (n for n in asked.names if n in ("bar", "line", "pie", "radar", "scatter", "doughnut")),
        "bar",
    )
    drawn: JsonObject = {
        "type": kind,
        "data": data
        if isinstance(data, dict)
        else {"labels": _labels(asked, data), "datasets": [{"data": _numbers(data)}]},
    }
    config = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"))
    return "url", f"https://quickchart.io/chart?c={quote(config)}"


def _labels(asked: Asked, data: list[JsonValue]) -> list[JsonValue]:
    given = asked.texts("labels", "categories", "x")
    rows = [row for row in data if isinstance(row, dict)]
    named = [
        next((v for v in row.values() if isinstance(v, str)), str(at))
        for at, row in enumerate(rows, 1)
    ]
    return [*(given or named or [str(at) for at in range(1, len(data) + 1)])]


def _numbers(data: list[JsonValue]) -> list[JsonValue]:
    rows = [
        next((v for v in row.values() if isinstance(v, int | float)), 0)
        if isinstance(row, dict)
        else row
        for row in data
    ]
    return [*rows]


def _query(asked: Asked) -> tuple[str, str]:
    """SQL by the table and the columns that are given, or that the question names."""
    table = asked.text("table", "table_name")
    question = (
        asked.text(
            "question",
            "prompt",
            "query",
            "description",
            "natural_language",
            "natural_language_query",
            "text",
        )
        or ""
    )
    if re.match(r"\s*(select|insert|update|delete|with|create)\b", question, re.IGNORECASE):
        return "sql", ""
    if table is None:
        named = re.search(
            r"\b(?:from|in|of|all|the|many|show|list)\s+(?:all\s+|the\s+)?([a-z_]{3,}s)\b",
            question.casefold(),
        )
        table = named.group(1) if named else None
    if table is None:
        return "sql", ""
    columns = asked.texts("columns", "fields", "select")
    wanted = (
        "COUNT(*) AS total"
        if re.search(r"\bhow many|\bcount|\bnumber of", question.casefold())
        else ", ".join(columns or columns_of(table))
    )
    where = asked.text("where", "condition", "filter", "filters")
    most = asked.number("limit")
    year = re.search(r"\b(?:19|20)\d\d\b", question)
    where = where or (f"EXTRACT(YEAR FROM created_at) = {year.group()}" if year else None)
    return "sql", f"SELECT {wanted}\nFROM {table}" + (f"\nWHERE {where}" if where else "") + (
        f"\nLIMIT {most}" if most else ""
    ) + ";"


def _schema(asked: Asked) -> tuple[str, str]:
    sample = (
        asked.given.get("json")
        or asked.given.get("data")
        or asked.given.get("sample")
        or asked.given.get("example")
        or asked.given.get("input")
    )
    if isinstance(sample, dict | list):
        return "schema", json.dumps(
            {"$schema": "http://json-schema.org/draft-07/schema#", **_schema_of(sample)}, indent=2
        )
    fields = asked.texts("fields", "columns", "properties")
    name = asked.text("name", "title", "entity", "table", "table_name", "model_name")
    if not name:
        return "schema", ""
    members = {field: {"type": _json_type(field)} for field in fields or columns_of(name)}
    return "schema", json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": name,
            "type": "object",
            "properties": members,
        },
        indent=2,
    )


_JSON_TYPES: Final = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))


def _schema_of(value: JsonValue) -> JsonObject:
    """The schema of a value, as far as one example says it."""
    if isinstance(value, dict):
        members: JsonObject = {name: _schema_of(each) for name, each in value.items()}
        return {"type": "object", "properties": members, "required": [*value]}
    if isinstance(value, list):
        return {"type": "array", "items": _schema_of(value[0]) if value else {}}
    kind = next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")
    return {"type": kind}


def _json_type(column: str) -> str:
    kind = type_of(key_of(column), "sqlite")
    return {"INTEGER": "integer", "REAL": "number"}.get(kind, "string")


def _component(asked: Asked) -> tuple[str, str]:
    name = re.sub(r"\W", "", titled(asked.text("component_name", "name", "component") or ""))
    if not name:
        return "code", ""
    return "code", (f'import React from "react";\n\nexport interface {name}Props {{\n  title?: string;\n  onSelect?: (id: string) => void;\n}}\n\n'
                    f'export function {name}({{ title = "{name}", onSelect }}: {name}Props) {{\n  return (\n    <section className="{name.lower()}">\n'
                    f"      <h2>{{title}}</h2>\n      <button onClick={{() => onSelect?.(title)}}>Select</button>\n    </section>\n  );\n}}\n")  # fmt: skip


def _commit(asked: Asked) -> tuple[str, str]:
    diff = asked.text("diff", "changes", "staged_diff") or ""
    paths = re.findall(r"\+\+\+ b/(\S+)", diff)
    topic = paths[0].rpartition("/")[2] if paths else _topic(asked) or diff[:60]
    return "message", f"Update {topic}" if topic else ""


def _script(asked: Asked) -> tuple[str, str]:
    """A script around the logic that is given."""
    about = asked.text("description", "purpose", "name", "title", "prompt", "task")
    if about is None:
        return "script", ""
    logic = [
        (name, str(asked.given[name]))
        for name in asked.given
        if name.endswith(("logic", "command", "commands", "code", "body"))
    ]
    words = asked.words | asked.server
    if not words.isdisjoint(("powershell", "intune", "bigfix", "windows")):
        steps = (
            "\n".join(f"    # {titled(name)}\n    {text}" for name, text in logic)
            or "    # Add the steps here"
        )
        return "script", (f"<#\n.SYNOPSIS\n    {about}\n#>\n[CmdletBinding()]\nparam()\n\n$ErrorActionPreference = 'Stop'\n\n"
                          f"try {{\n{steps}\n    exit 0\n}}\ncatch {{\n    Write-Error $_.Exception.Message\n    exit 1\n}}\n")  # fmt: skip
    steps = "\n".join(text for _, text in logic) or 'echo "Add the steps here"'
    return "script", f"#!/usr/bin/env bash\n# {about}\nset -euo pipefail\n\n{steps}\n"


_KINDS: Final[tuple[tuple[tuple[str, ...], Callable[[Asked], tuple[str, str]]], ...]] = (
    (("email", "letter", "mail"), _letter),
    (("tweet", "caption", "hashtags"), _post),
    (("readme",), _readme),
    (("plan", "roadmap", "itinerary", "curriculum", "schedule", "strategy"), _plan),
    (("outline", "agenda", "toc", "structure"), _outline),
    (("diagram", "flowchart", "mermaid", "mindmap", "uml"), _diagram),
    (("chart", "plot"), _chart),
    (("script",), _script),
    (("sql",), _query),
    (("schema",), _schema),
    (("component",), _component),
    (("commit",), _commit),
)
"""Who writes what, by a word of the tool's name."""
