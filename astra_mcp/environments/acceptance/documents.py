"""Checks that need no execution: completeness, specific answers, leaks, isolation."""

import ast
import warnings
from collections.abc import Iterator

from astra_mcp.answers import answer_fault
from astra_mcp.environments.acceptance.leaks import leak_failures
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle, EnvironmentDocument
from astra_mcp.environments.loading import document_faults

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
    for sub in document.sub_tasks:
        fault = answer_fault(sub.answer) if sub.tool is not None else None
        if fault:
            yield FailedCheck.of(Check.SPECIFIC_ANSWER, f"sub-task {sub.id}: {fault}")
    yield from leak_failures(document)


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
