"""Checks that need no execution: completeness, specific answers, leaks, isolation."""

import ast
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, cast

from astra_mcp.answers import answer_fault, contains_answer
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle, EnvironmentDocument, SubTask
from astra_mcp.environments.loading import document_faults
from astra_mcp.types import ToolSpec

__all__ = ["document_failures", "fault_check", "isolation_failures"]

MIN_ENUM = 8
"""An enumeration with fewer members gives away an answer that is among them."""
_BUILTINS = frozenset(
    {"__import__", "breakpoint", "compile", "eval", "exec", "id", "input", "open"}
)


def document_failures(bundle: Bundle) -> Iterator[FailedCheck]:
    """Check the document: faults, completeness, specific answers, leaks."""
    document = bundle.document
    for fault in document_faults(document, bundle.code):
        yield FailedCheck.of(fault_check(fault), fault)
    yield from _incomplete(document)
    tools = {t.name: t for t in document.tools}
    for sub in document.sub_tasks:
        if sub.tool is None or sub.tool not in tools:
            continue
        fault = answer_fault(sub.answer)
        if fault:
            yield FailedCheck.of(Check.SPECIFIC_ANSWER, f"sub-task {sub.id}: {fault}")
        yield from _leaks(document, sub, tools[sub.tool])


def fault_check(fault: str) -> Check:
    """Name the check that a fault of loading belongs to."""
    return Check.SIGNATURE if fault.startswith("tools.py: ") else Check.DOCUMENT


def _incomplete(document: EnvironmentDocument) -> Iterator[FailedCheck]:
    missing = [n for n in ("answer", "scenario_type", "gold") if not getattr(document, n)]
    missing += [
        f"sub_tasks[{i}].{n}"
        for i, sub in enumerate(document.sub_tasks)
        for n in ("question", "hop_level", "is_parallel")
        if getattr(sub, n) in (None, "")
    ]
    if missing:
        detail = f"environment.json lacks {', '.join(missing)}; it stays unverified without them"
        yield FailedCheck.of(Check.COMPLETE, detail)


def _leaks(document: EnvironmentDocument, sub: SubTask, tool: ToolSpec) -> Iterator[FailedCheck]:
    for place, text in (
        ("the main question", document.question),
        (f"question {sub.id}", sub.question or ""),
        *_shown_texts(tool),
    ):
        if contains_answer(text, sub.answer):
            detail = f"answer {sub.id}, {sub.answer!r}, stands in {place}: {text[:160]!r}"
            yield FailedCheck.of(Check.LEAKED_ANSWER, detail)


def _shown_texts(tool: ToolSpec) -> Iterator[tuple[str, str]]:
    """Name and give every text of a tool from which an answer could be read off."""
    yield f"the name of {tool.name}", tool.name
    yield f"the description of {tool.name}", tool.description
    for schema in (tool.input_schema, tool.output_schema or {}):
        yield from _schema_texts(f"the schema of {tool.name}", schema)


def _schema_texts(place: str, node: object) -> Iterator[tuple[str, str]]:
    if isinstance(node, list):
        for item in cast("list[Any]", node):
            yield from _schema_texts(place, item)
        return
    if not isinstance(node, Mapping):
        return
    for key, value in cast("Mapping[str, Any]", node).items():
        if key == "enum" and isinstance(value, list):
            members = cast("list[Any]", value)
            if len(members) < MIN_ENUM:
                yield from ((f"{place}, enum", str(m)) for m in members)
        elif key == "examples" and isinstance(value, list):
            yield from ((f"{place}, examples", str(v)) for v in cast("list[Any]", value))
        elif isinstance(value, Mapping | list):
            yield from _schema_texts(f"{place}, {key}", cast("object", value))
        elif key in ("description", "title", "default", "const", "pattern", "$comment"):
            yield f"{place}, {key}", str(value)


def isolation_failures(code: str) -> Iterator[FailedCheck]:
    """Find calls by which tool code would reach out of its arguments, data and state.

    The sandbox forbids them at run time on every machine that has one; here they are named by line.
    """
    with warnings.catch_warnings(action="ignore"):
        module = ast.parse(code)
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in _BUILTINS:
            detail = (
                f"tools.py line {node.lineno}: {ast.unparse(node)[:120]}: {_reason(node.func.id)}"
            )
            check = Check.DETERMINISM if node.func.id == "id" else Check.ISOLATION
            yield FailedCheck.of(check, detail)


def _reason(name: str) -> str:
    if name == "id":
        return "an address differs from run to run; name records by a key of their own"
    return f"tool code must not call {name}; keep its data in the module"
