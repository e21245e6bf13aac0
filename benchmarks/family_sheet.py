"""A sheet of drawn questions with their tools and answers, for a person who judges them.

    python -P benchmarks/family_sheet.py [--count N] [--seed S] [--families NAMES] FILE

Writes Markdown: each question as an agent would be told it, the tools as a client lists them, and the answer
with the calls that lead to it. The order of entries is that of drawing; nothing is picked by hand.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]

from astra_mcp.environments.bundle import Bundle, EnvironmentDocument  # noqa: E402
from astra_mcp.synthesis.environments.families.catalog import find_families  # noqa: E402
from astra_mcp.synthesis.environments.families.generation import (  # noqa: E402
    Order,
    make_planned,
    plan,
)


def _parameter(name: str, schema: dict[str, Any], *, is_required: bool) -> str:
    kind = "|".join(map(str, schema["enum"])) if "enum" in schema else schema.get("type", "any")
    if "pattern" in schema:
        kind += f" {schema['pattern']}"
    about = f": {schema['description']}" if "description" in schema else ""
    return f"`{name}{'' if is_required else '?'}` {kind}{about}"


def _tools(document: EnvironmentDocument) -> list[str]:
    lines: list[str] = []
    for tool in document.tools:
        schema: Any = tool.input_schema
        required = schema.get("required", ())
        rows = [
            _parameter(name, s, is_required=name in required)
            for name, s in schema["properties"].items()
        ]
        lines.append(f"- **{tool.name}** {tool.description} ({'; '.join(rows)})")
    return lines


def _solution(document: EnvironmentDocument) -> list[str]:
    calls = {solved: call for call in document.gold for solved in call.solves}
    lines: list[str] = []
    for sub in document.sub_tasks:
        call = calls.get(sub.id)
        told = ", ".join(f"{n}={v!r}" for n, v in call.values.items()) if call is not None else ""
        done = f"`{call.tool}({told})`" if call is not None else "*worked out*"
        lines.append(f"{sub.id}. {sub.question} {done} → {sub.answer}")
    return lines


def _entry(number: int, bundle: Bundle) -> str:
    document = bundle.document
    head = f"## {number}. {document.provenance.family} · {document.language} · {document.scenario_type}"
    asked = [f"**Question.** {document.question}", "", f"**Answer.** {document.answer}"]
    today = f"Today is {document.clock:%A, %Y-%m-%d}; {document.title}."
    return "\n".join([
        head, "", today, "", *asked, "", "Tools:", "", *_tools(document), "",
        "Solution:", "", *_solution(document), "",
    ])  # fmt: skip


def main() -> None:
    """Draw, and write the sheet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", default="all")
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    order = Order(find_families(asked.families.split(",")), asked.count, asked.seed)
    entries = [_entry(n, make_planned(p)) for n, p in enumerate(plan(order), 1)]
    asked.file.write_text("\n".join(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
